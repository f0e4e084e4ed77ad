"""Derived pages of docs/ and derived tables of modules are current."""

import pytest

from atc_py.system.register import INDEX
from tests.derived_docs import DOCS, PAGES, render
from tests.derived_modules import module_index


@pytest.mark.parametrize("name", sorted(PAGES))
def test_derived_page_is_current(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == render(name), "run `make docs`"


def test_index_of_modules_is_current() -> None:
    assert INDEX.read_text(encoding="utf-8") == module_index(), "run `make docs`"
