"""The site of docs/: an index that links every page, no broken link, and a strict build."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.failures import in_one_item

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"(?<!\\)\]\((?!https?:)([^)#\s]+)[^)]*\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def site() -> Any:
    """Return docs/site.py, under a name that is not the standard library's."""
    spec = importlib.util.spec_from_file_location("docs_site", DOCS / "site.py")
    assert spec
    assert spec.loader
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def broken_links(page: Path) -> list[str]:
    """Return the links of a page that lead to no file."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    return [link for link in LINK.findall(text) if not (page.parent / link).exists()]


def test_no_link_is_broken() -> None:
    pages = [ROOT / "README.md", *DOCS.glob("*.md")]
    found = {page.name: broken_links(page) for page in pages}
    assert {name: links for name, links in found.items() if links} == {}


def test_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[a](gone.md) [b](page.md#x) `[c](code.md)` [d](https://x)\n", encoding="utf-8")
    assert broken_links(page) == ["gone.md"]


def test_index_names_a_task_for_every_page() -> None:
    pages = {page.name for page in DOCS.glob("*.md")} - {"index.md", "limits.md"}
    assert set(site().tasks()) == pages


@in_one_item(
    ("text", "expected"),
    [
        ("[a](../b.py) [c](d.md)", "a [c](d.md)"),
        ("[`x[0]`](../b.py)", "`x[0]`"),
        ("![p](pictures/a.svg)", "![p](pictures/a.svg)"),
    ],
)
def test_link_out_of_the_folder_keeps_its_text(text: str, expected: str) -> None:
    assert site().inside(text) == expected


def test_page_begins_with_what_one_can_do_with_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- derived -->\n# Title\n\nText.\n", encoding="utf-8")
    text = site().page_text(page, "find an option")
    assert text == "<!-- derived -->\n# Title\n\nUse this page to find an option.\n\nText.\n"


def test_options_are_marked_outside_of_blocks() -> None:
    text = "`--soc` and `-i NAME`\n```sh\nrun `--soc`\n```\n"
    marked = text.replace("`--soc` and", '<code class="option">--soc</code> and')
    assert site().with_whole_options(text) == marked


def test_site_lists_every_page_by_task() -> None:
    listed = [page for pages in site().sections().values() for page in pages]
    assert len(listed) == len(set(listed))
    assert {*listed, "index.md", "limits.md"} == {page.name for page in DOCS.glob("*.md")}
    assert site().title_of("cli.md") == "Command line"
    assert [*site().config()["nav"][1]] == ["Begin"]


def test_make_site_counts_warnings() -> None:
    """Quiet builds count no warnings, so that strict ones pass with broken links."""
    (line,) = (
        each
        for each in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
        if "mkdocs build" in each
    )
    assert "--strict" in line
    assert "--quiet" not in line


def test_site_builds_strictly(tmp_path: Path) -> None:
    program = shutil.which("mkdocs", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("mkdocs is not installed; `make site` installs it")
    pages = tmp_path / "out" / "site-pages"
    subprocess.run([sys.executable, str(DOCS / "site.py"), str(pages)], check=True)
    command = [program, "build", "--strict", "--config-file", str(tmp_path / "out" / "mkdocs.yml")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "site" / "search" / "search_index.json").is_file()
