"""`make site`: the pages of this folder as MkDocs takes them, in the folder that is named.

Each page begins with what one can do with it, as index.md says. MkDocs refuses links that lead out
of its folder, as those to sources and tests do: of these the text alone stays.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
_TASK = re.compile(r"^\| (?P<task>.+?) \| (?P<links>\[.+\]\(.+\).*) \|$", re.MULTILINE)
_LINK = re.compile(r"\]\(([\w-]+\.md)\)")
_TITLE = re.compile(r"^# .*\n", re.MULTILINE)
_OUTSIDE = re.compile(r"(?<!!)\[((?:`[^`]*`|[^\]`])*)\]\(\.\./[^)]*\)")


def inside(text: str) -> str:
    """Return a page whose links stay in the folder."""
    return _OUTSIDE.sub(r"\1", text)


def tasks() -> dict[str, str]:
    """Return what one can do with each page that index.md links."""
    index = (HERE / "index.md").read_text(encoding="utf-8")
    return {
        page: found["task"]
        for found in _TASK.finditer(index)
        for page in _LINK.findall(found["links"])
    }


def page_text(page: Path, task: str | None) -> str:
    """Return a page as the site has it."""
    text = inside(page.read_text(encoding="utf-8"))
    if task is None:
        return text
    return _TITLE.sub(lambda title: f"{title[0]}\nUse this page to {task}.\n", text, count=1)


def main() -> None:
    """Write the pages."""
    known = tasks()
    out = Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    (out / "pictures").mkdir(parents=True)
    for page in HERE.glob("*.md"):
        text = page_text(page, known.get(page.name))
        (out / page.name).write_text(text, encoding="utf-8")
    for pattern in ("*.json", "*.png", "pictures/*.svg"):
        for file in HERE.glob(pattern):
            shutil.copy(file, out / file.relative_to(HERE))


if __name__ == "__main__":
    main()
