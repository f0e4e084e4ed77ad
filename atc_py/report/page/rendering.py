"""Self-contained HTML pages: the rendering of a report's template, and the limits on what it loads."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound
from markupsafe import Markup

from atc_py.diag import BAD_TEMPLATE, Place
from atc_py.report.tables import visible
from atc_py.system.cache_folders import templates_dir
from atc_py.text import Text
from atc_py.text.language import language, spoken


def _said(text: object, **values: object) -> str:
    words = text if isinstance(text, str) else str(text)
    return spoken(Text(words).with_values(**values) if values else words)


def render_page(name: str, *, base: str = "", scripts: Sequence[str] = (), **context: Any) -> str:
    """Render `templates/report/<name>.html.j2` with `<name>.css` and `<name>.js` inlined.

    The template has these as `style` and `script`, and as `policy` what a browser may load.

    Args:
        name: of the page.
        base: page whose style comes before that of the page, and whose script is used; "" for none.
        scripts: the page's scripts, which the template has as `scripts`, in place of `<name>.js`.
        **context: what the template shows.

    Raises:
        AtcError: BAD_TEMPLATE where the template is missing or does not render.
    """
    folder, template = templates_dir() / "report", f"{name}.html.j2"
    environment = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown_names,
    )
    environment.filters["said"] = _said
    environment.globals["page_language"] = "zh-CN" if language() == "zh" else "en"
    try:
        style = _source(folder / f"{name}.css")
        style = _source(folder / f"{base}.css") + style if base else style
        page = environment.get_template(template)
        if scripts:
            policy = _policy(style, *scripts)
            texts = [Markup(each) for each in scripts]  # noqa: S704  (the project's own files)
            return page.render(style=style, scripts=texts, policy=policy, **context)
        script = _source(folder / f"{base or name}.js")
        return page.render(style=style, script=script, policy=_policy(style, script), **context)
    except (TemplateError, OSError) as error:
        missing = isinstance(error, TemplateNotFound)
        what = Text("is missing") if missing else Text("does not render: {error}", error=error)
        raise BAD_TEMPLATE.error(
            Text("template {value} {what}", value=repr(template), what=what),
            place=Place(str(folder / template), line=getattr(error, "lineno", None)),
            help=Text("reinstall atc-py to restore its templates"),
        ) from error


def embedded_json(text: str) -> Markup:
    """JSON that no text in it can end the element around it, or begin another."""
    for sign in "<\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704  (no `<` is left)


def page_script(paths: Iterable[Path]) -> str:
    """Files of a page's script as one script with names of its own."""
    return f'(() => {{\n"use strict";\n{"".join(map(script_part, paths))}}})();\n'


def script_part(path: Path) -> str:
    """The text of a part of a page's script."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BAD_TEMPLATE.error(
            Text("a part of the page's script is missing: {error}", error=error),
            help=Text("reinstall atc-py to restore its templates"),
        ) from error


def _shown_names(value: object) -> object:
    """Names from files, unable to turn the reading direction or to hide what they are."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _source(path: Path) -> Markup:
    """Style or script unchanged; both are the project's own files."""
    return Markup(path.read_text(encoding="utf-8"))  # noqa: S704  (no text of a model is in it)


def _policy(style: str, *scripts: str) -> str:
    """The content security policy: nothing is loaded, inline style and script are allowed."""
    parts = (
        "default-src 'none'",
        f"style-src '{_digest(style)}'",
        "script-src " + " ".join(f"'{_digest(script)}'" for script in scripts),
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(parts)


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
