"""Exit status after bugs, missing memory and full disks: 255, as after every failure of atc."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from atc_py.diag.codes import MEMORY_LIMIT
from atc_py.text import Text
from tests.adapters.atc.conftest import Ran
from tests.adapters.atc.test_command_lines import FAILURE


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (KeyError("state that nobody expected"), "ATC9001"),
        (MemoryError(), "ATC2040"),
        (MEMORY_LIMIT.error(Text("too little")), "ATC2040"),
    ],
)
def test_failure_of_surroundings_has_the_exit_status_and_verdict_of_atc(
    atc: Callable[[str], Ran], monkeypatch: pytest.MonkeyPatch, raised: Exception, code: str
) -> None:
    def failing(*_args: object, **_options: object) -> None:
        raise raised

    monkeypatch.setattr("atc_py.pipeline.lowering.lower_model", failing)
    ran = atc("{B}")
    assert (ran.status, ran.verdict, ran.code) == (255, FAILURE, "E19999")
    assert f"error[{code} " in ran.err
    log = re.search(r"\S+\.log", ran.err)
    if log is not None:
        Path(log.group()).unlink()


def test_too_little_memory_for_libraries_is_a_failure(
    atc: Callable[[str], Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> None:
        raise MEMORY_LIMIT.error(Text("too little"))

    monkeypatch.setattr("atc_py.cli.atc.require_own_memory", refused)
    ran = atc("{B}")
    assert (ran.status, ran.verdict, ran.code) == (255, FAILURE, "E19999")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_output_that_cannot_be_written_is_a_failure() -> None:
    line = [sys.executable, "-m", "atc_py", "atc", "--help"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 255
    assert "cannot write standard output" in done.stderr
    assert "Traceback" not in done.stderr
