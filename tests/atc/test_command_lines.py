"""atc's command line: a table of lines, each with its code, exit status, output and effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.atc.command_lines import LINES, Line

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.atc.conftest import Ran

START = "ATC start working now, please wait for a moment."
SUCCESS = "ATC run success, welcome to the next use."
FAILURE = "ATC run failed, Please check the detail log, Try 'atc --help' for more information"

WAITING = {
    "ranges": True,
}
"""Parts of the package that lines depend on, and whether they are still missing."""


def rows() -> list[object]:
    """Return the lines, those apart that depend on what is missing."""
    return [
        pytest.param(
            line,
            id=f"{number}:{line.words[:70]}",
            marks=[pytest.mark.xfail(reason=f"waits for {line.needs}", strict=True)]
            if WAITING.get(line.needs)
            else [],
        )
        for number, line in enumerate(LINES)
    ]


@pytest.mark.parametrize("line", rows())
def test_line(line: Line, atc: Callable[[str], Ran]) -> None:
    ran = atc(line.words)
    assert ran.lines[0] == START
    assert ran.status == (255 if line.code else 0), ran.err
    assert ran.code == line.code
    if ran.verdict:
        assert ran.verdict == (FAILURE if line.code else SUCCESS)
    written = {path.name for path in ran.folder.rglob("*.om")}
    assert not (line.code and written)
    if line.output:
        assert (ran.folder / line.output).is_file(), written
    if line.code:
        assert "error[ATC" in ran.err
    assert line.effect is None or line.effect(ran), ran.out + ran.err


def test_table_is_large() -> None:
    assert len({line.words for line in LINES}) == len(LINES) >= 120
