"""`make site`: the pages of this folder as MkDocs takes them, in the folder that is named.

Beside that folder it writes mkdocs.yml, which takes the one here and lists the pages by task.

Each page begins with what one can do with it, as index.md says. MkDocs refuses links that lead out
of its folder, as those to sources and tests do: of these the text alone stays.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
_TASK = re.compile(r"^\| (?P<task>.+?) \| (?P<links>\[.+\]\(.+\).*) \|$", re.MULTILINE)
_SECTION = re.compile(r"^## ", re.MULTILINE)
_LINK = re.compile(r"\]\(([\w-]+\.md)\)")
_TITLE = re.compile(r"^# .*\n", re.MULTILINE)
_OUTSIDE = re.compile(r"(?<!!)\[((?:`[^`]*`|[^\]`])*)\]\(\.\./[^)]*\)")

_OPTION = re.compile(r"^```.*?^```$|`(?P<option>--?[\w=.-]{1,26})`", re.MULTILINE | re.DOTALL)
"""An option within a line, which no line break may cut, or a block, in which none is looked for."""

_ABOVE = re.compile(r"\[([^\]]*)\]\(\.\./\.\./[^)]*\)")
"""A link of a Chinese page that leads out of the folder."""


def inside(text: str) -> str:
    """Return a page whose links stay in the folder."""
    return _OUTSIDE.sub(r"\1", text)


def with_whole_options(text: str) -> str:
    """Mark options such as `--soc`, for the style sheet to keep them in one line."""
    return _OPTION.sub(
        lambda found: (
            f'<code class="option">{found["option"]}</code>' if found["option"] else found[0]
        ),
        text,
    )


def tasks() -> dict[str, str]:
    """Return what one can do with each page that index.md links."""
    index = (HERE / "index.md").read_text(encoding="utf-8")
    return {
        page: found["task"]
        for found in _TASK.finditer(index)
        for page in _LINK.findall(found["links"])
    }


def sections() -> dict[str, list[str]]:
    """Return the pages under each heading of index.md, each page where it is named first."""
    index = (HERE / "index.md").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    named: set[str] = set()
    for part in _SECTION.split(index)[1:]:
        heading, _, body = part.partition("\n")
        pages = [page for page in dict.fromkeys(_LINK.findall(body)) if page not in named]
        named.update(pages)
        found[heading] = pages
    return found


def title_of(page: str) -> str:
    """Return the title of a page without marks."""
    text = (HERE / page).read_text(encoding="utf-8")
    found = _TITLE.search(text)
    return found[0].lstrip("# ").rstrip().replace("`", "") if found else page.removesuffix(".md")


def config() -> dict[str, object]:
    """Return what MkDocs is told beside mkdocs.yml: the folders, and the pages by task."""
    nav: list[object] = [{title_of("index.md"): "index.md"}]
    for heading, pages in sections().items():
        nav.append({heading: [{title_of(page): page} for page in pages]})
    nav.append({title_of("limits.md"): "limits.md"})
    nav.append(
        {
            "Chinese": [
                {title_of(f"zh/{each.name}"): f"zh/{each.name}"}
                for each in sorted((HERE / "zh").glob("*.md"))
            ]
        }
    )
    base = str(HERE / "mkdocs.yml")
    return {"INHERIT": base, "docs_dir": "site-pages", "site_dir": "site", "nav": nav}


def page_text(page: Path, task: str | None) -> str:
    """Return a page as the site has it: after its title what it is for, and its Chinese form."""
    text = inside(page.read_text(encoding="utf-8"))
    if task is None:
        return text
    chinese = f" [中文](zh/{page.name})" if (page.parent / "zh" / page.name).exists() else ""
    head = f"Use this page to {task}.{chinese}"
    return _TITLE.sub(lambda title: f"{title[0]}\n{head}\n", text, count=1)


def chinese_text(page: Path) -> str:
    """Return a Chinese page as the site has it, with a link to its English form."""
    text = _ABOVE.sub(r"\1", page.read_text(encoding="utf-8"))
    if not (HERE / page.name).exists():
        return text
    return _TITLE.sub(lambda title: f"{title[0]}\n[English](../{page.name})\n", text, count=1)


def main() -> None:
    """Write the pages."""
    known = tasks()
    out = Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    (out / "pictures").mkdir(parents=True)
    for page in HERE.glob("*.md"):
        text = with_whole_options(page_text(page, known.get(page.name)))
        (out / page.name).write_text(text, encoding="utf-8")
    for page in (HERE / "zh").glob("*.md"):
        target = out / "zh" / page.name
        target.parent.mkdir(exist_ok=True)
        target.write_text(with_whole_options(chinese_text(page)), encoding="utf-8")
    for pattern in ("*.json", "*.png", "*.css", "pictures/*.svg"):
        for file in HERE.glob(pattern):
            shutil.copy(file, out / file.relative_to(HERE))
    (out.parent / "mkdocs.yml").write_text(json.dumps(config(), indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
