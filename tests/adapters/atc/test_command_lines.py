"""atc's command line: a table of lines, each with its code, exit status, output and effect."""

from collections.abc import Callable

import pytest

from tests.adapters.atc.command_lines import LINES, Line
from tests.adapters.atc.conftest import Ran

START = "ATC start working now, please wait for a moment."
SUCCESS = "ATC run success, welcome to the next use."
FAILURE = "ATC run failed, Please check the detail log, Try 'atc --help' for more information"


@pytest.mark.parametrize(
    "line", LINES, ids=[f"{i}:{each.words[:70]}" for i, each in enumerate(LINES)]
)
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
