"""docs/security.md says the figures that the code has."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from atc_py.diag import find_code

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (.+) \| (.+) \| `(\w+)` in `(atc_py/[\w/]+)\.py` \|$", re.MULTILINE)
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def figure(text: str) -> int:
    """Return `1 MiB`, `65,536 bytes` and `100, ATC3003` as numbers."""
    number, _, unit = re.sub(r", ATC\d{4}$", "", text).partition(" ")
    return int(number.replace(",", "")) * UNITS.get(unit, 1)


@pytest.mark.parametrize("row", ROW.findall(PAGE), ids=lambda row: row[0])
def test_figures_are_those_of_the_code(row: tuple[str, str, str, str]) -> None:
    _, text, name, path = row
    assert figure(text) == getattr(import_module(path.replace("/", ".")), name)


def test_every_bound_names_its_constant() -> None:
    sections = re.findall(r"^##+ Bounds\n(.*?)^##", PAGE, re.MULTILINE | re.DOTALL)
    assert len(sections) == 2
    for section in sections:
        rows = [line for line in section.splitlines() if line.startswith("| ")]
        assert len(ROW.findall(section)) == len(rows) - 2


def test_codes_and_tests_that_the_page_names_are_there() -> None:
    for code in set(re.findall(r"ATC\d{4}", PAGE)):
        assert find_code(code) is not None, code
    for path in re.findall(r"`(tests/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists(), path


def test_readme_names_the_page() -> None:
    assert "(docs/security.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
