"""Self-contained HTML pages: the rendering of a report's template, and the limits on what it loads."""

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jinja2 import (
    Environment,
    FileSystemLoader,
    StrictUndefined,
    TemplateError,
    TemplateNotFound,
    pass_context,
)
from markupsafe import Markup

from atc_py.diag import BAD_TEMPLATE, Place
from atc_py.report.tables import visible
from atc_py.system.cache_folders import templates_dir
from atc_py.text import LANGUAGES, Text
from atc_py.text.language import language, speaking, spoken


@pass_context  # without it, templates keep constants in the language of their first rendering
def _said(_context: object, text: object, **values: object) -> str:
    words = text if isinstance(text, str) else str(text)
    return spoken(Text(words).with_values(**values) if values else words)


def render_page(name: str, scripts: Sequence[str], *, base: str = "", **context: Any) -> str:
    """Render `templates/report/<name>.html.j2` with `<name>.css`, after that of `base`, as `style`.

    The template has `scripts`, and as `policy` what a browser may load.
    """
    with _refused_templates(name):
        styles = [
            _source(templates_dir() / "report" / f"{each}.css") for each in (base, name) if each
        ]
        style = Markup("").join(styles)
        texts = [Markup(each) for each in scripts]  # noqa: S704  (the project's own files)
        return (
            _environment()
            .get_template(f"{name}.html.j2")
            .render(style=style, scripts=texts, policy=_policy(style, *scripts), **context)
        )


_DARK, _LIGHT = Text("Dark"), Text("Light")
_TAGS = {"en": "en", "zh": "zh-CN"}
"""Languages as HTML names them."""


def plain_page(name: str, context: Callable[[], Mapping[str, Any]]) -> str:
    """A page in both languages, which its script switches: that of the commands is shown first.

    `templates/report/<name>.html.j2` makes the title and the body, `<name>.css` comes after the
    style that plain pages share.

    `context` makes what the template shows, in the language of the commands.
    """
    folder = templates_dir() / "report"
    other = next(each for each in LANGUAGES if each != language())
    with _refused_templates(name):
        environment = _environment()
        shown = _part(environment, name, context)
        with speaking(other):
            hidden = _part(environment, name, context)
        own = folder / f"{name}.css"
        style = _source(folder / "plain.css") + (_source(own) if own.exists() else "")
        script = _source(folder / "plain.js")
        policy = _policy(style, script)
        template = environment.get_template("plain.html.j2")
        return template.render(shown=shown, other=hidden, style=style, script=script, policy=policy)


def _part(
    environment: Environment, name: str, context: Callable[[], Mapping[str, Any]]
) -> dict[str, str]:
    module = environment.get_template(f"{name}.html.j2").make_module(dict(context()))
    return {
        "lang": _TAGS[language()],
        "title": module.__dict__["title"],
        "body": Markup(module),  # noqa: S704  (escaped where it was rendered)
        "themes": f"{spoken(_DARK)} {spoken(_LIGHT)}",
    }


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(templates_dir() / "report"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown_names,
    )
    environment.filters["said"] = _said
    return environment


@contextmanager
def _refused_templates(name: str) -> Iterator[None]:
    folder, template = templates_dir() / "report", f"{name}.html.j2"
    try:
        yield
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
    return f'(() => {{\n"use strict";\n{"".join(map(script_part, paths))}}})();\n'


def script_part(path: Path) -> str:
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
