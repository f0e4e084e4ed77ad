"""The commands of docs/sweeping.md run as the page has them, and it names every column and file."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from atc_py.report.sweep.rows import COLUMNS
from atc_py.results.sweep import SweepVerdict
from tests.cli.conftest import Result
from tests.sampling import sampled

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "sweeping.md").read_text(encoding="utf-8")
(BLOCK,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
LINES = BLOCK.splitlines()


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("line", sampled(LINES[2:], LINES[:2]))
def test_commands_of_the_page_run(
    atc: Callable[..., Result], zoo: Path, tmp_path: Path, line: str
) -> None:
    """The folder has two sound models, one that the list refuses, and one that cannot be read."""
    zoo.rename(tmp_path / "models")
    (tmp_path / "samples").mkdir()
    np.save(tmp_path / "samples" / "x.npy", np.ones((1, 3, 8, 8), np.float32))
    program, *args = shlex.split(line, comments=True)
    assert program == "atc-py"
    done = atc(*args)
    assert done.status == 1, done.err
    written = {path.name for path in (tmp_path / "results").iterdir()}
    named = set(re.findall(r"^\| `([\w.]+)/?` \|", PAGE, re.MULTILINE))
    assert written <= named
    assert named - written <= {"table.parquet"} | {*COLUMNS}


def test_page_names_columns_and_verdicts() -> None:
    text = re.sub(r"^```.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`([^`]+)`", text))
    assert {*COLUMNS} - {"list"} <= named
    assert {verdict.value for verdict in SweepVerdict} <= named
