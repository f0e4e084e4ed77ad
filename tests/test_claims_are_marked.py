"""Pages about CANN say of claims whether they are proven or inferred, and what unmarked ones are."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = ("deviations.md", "from-atc.md", "target.md", "aipp.md", "int8.md")
SOURCES = re.compile(r"(where it is )?known (from|by)", re.IGNORECASE)
CERTAIN = re.compile(r"\b(proven|inferred)\b|\[[ID]\]")
GUESSES = re.compile(r"\b(probably|likely|presumably|is assumed|are assumed)\b")
REST = re.compile(r"[Uu]nmarked")
ROW = re.compile(
    r"^- \*\*(?P<name>[\w-]+)\*\* \((?P<said>[^)]+)\), (?P<releases>.+?): ", re.MULTILINE
)


def rows_with_sources(page: str) -> Iterator[str]:
    """Yield the rows of tables that have a column for where facts are known from."""
    header, column = "", -1
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|"):
            header, column = "", -1
        elif not header:
            header = line
            found = [at for at, cell in enumerate(cells) if SOURCES.fullmatch(cell)]
            column = found[-1] if found else -1
        elif column >= 0 and not line.startswith("| ---") and column < len(cells):
            yield line


@pytest.mark.parametrize("page", PAGES)
def test_every_row_with_a_source_is_proven_or_inferred(page: str) -> None:
    assert [row for row in rows_with_sources(page) if not CERTAIN.search(row)] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_page_says_what_unmarked_claims_are(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    stated = [line for line in text.splitlines() if REST.search(line)]
    assert stated
    assert re.search(r"\b(8\.5|9\.[0-2])\b", text)


@pytest.mark.parametrize("page", PAGES)
def test_guesses_are_marked(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    sentences = re.split(r"(?<=[.;:])\s", text.replace("\n", " "))
    assert [each for each in sentences if GUESSES.search(each) and not CERTAIN.search(each)] == []


def test_every_deviation_says_for_which_releases_it_is_proven() -> None:
    rows = [*ROW.finditer((DOCS / "deviations.md").read_text(encoding="utf-8"))]
    assert len(rows) > 90
    assert [row["name"] for row in rows if not CERTAIN.search(row["releases"])] == []
