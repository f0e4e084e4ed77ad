"""The size budget: how lines are counted, and which growth needs a word."""

from pathlib import Path

import pytest

from tests.room_sizes import (
    SLACK,
    figures_text,
    line_kinds,
    measure,
    read_figures,
    table,
    unexplained,
)

_MODULE = '''"""Two
lines."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["f"]


# why
def f(path: "Path") -> str:  # beside code
    """One."""
    text = """not
a docstring"""
    return os.fspath(path) + text
'''


def test_each_line_is_of_one_kind() -> None:
    counts = line_kinds(_MODULE)
    assert counts == {
        "files": 1,
        "lines": 18,
        "docstrings": 3,
        "imports": 5,
        "comments": 1,
        "code": 4,
    }


@pytest.mark.parametrize(
    ("before", "after", "message", "faults"),
    [
        (1000, 1030, "", 0),
        (1000, 1031, "", 1),
        (1000, 1031, "ir: Add a row\n\nsize: ir +31, the row", 0),
        (1000, 1031, "size: irx +31, another room", 1),
        (100, 100 + SLACK, "", 0),
        (100, 101 + SLACK, "", 1),
        (0, SLACK + 1, "", 1),
        (1000, 900, "", 0),
    ],
)
def test_growth_beyond_the_limit_needs_a_line(
    before: int, after: int, message: str, faults: int
) -> None:
    known = {"ir": {"lines": before}} if before else {}
    assert len(unexplained({"ir": {"lines": after}}, known, message)) == faults


def test_figures_are_read_as_written(tmp_path: Path) -> None:
    room = tmp_path / "atc_py" / "ir"
    room.mkdir(parents=True)
    (room / "graph.py").write_text(_MODULE, encoding="utf-8")
    (tmp_path / "atc_py" / "api.py").write_text("x = 1\n", encoding="utf-8")
    sizes = measure(tmp_path)
    assert {name: size["lines"] for name, size in sizes.items()} == {"top": 1, "ir": 18}
    assert read_figures(figures_text(sizes))["ir"]["imports"] == 5
    assert "+0" in table(sizes, read_figures(figures_text(sizes)))
