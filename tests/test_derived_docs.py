"""Derived pages of docs/ and derived tables of modules are current."""

from pathlib import Path

import pytest

from tests.derived_docs import DOCS, PAGES, render
from tests.derived_keywords import KEYWORDS, keywords_module
from tests.derived_modules import TABLES, module_table


@pytest.mark.parametrize("name", sorted(PAGES))
def test_derived_page_is_current(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == render(name), "run `make docs`"


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name)
def test_derived_table_is_current(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == module_table(path), "run `make docs`"


def test_derived_keywords_are_current() -> None:
    assert KEYWORDS.read_text(encoding="utf-8") == keywords_module(), "run `make docs`"
