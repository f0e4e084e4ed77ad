"""The pictures of terminals show what the commands print."""

import html
import re

import pytest
from rich.cells import cell_len

from tests.pictures import FOLDER, PICTURES, is_current


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_picture_is_current(name: str) -> None:
    assert is_current(name), "run `make docs`"


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_letters_do_not_overlap(name: str) -> None:
    svg = (FOLDER / name).read_text(encoding="utf-8")
    found = re.findall(r'<text [^>]*textLength="([\d.]+)"[^>]*>([^<]*)</text>', svg)
    assert len(found) > 10
    lengths = [(float(length), 12.2 * cell_len(html.unescape(text))) for length, text in found]
    assert [pair for pair in lengths if abs(pair[0] - pair[1]) > 0.1] == []
