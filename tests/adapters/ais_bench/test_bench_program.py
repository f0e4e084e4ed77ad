"""`python -m atc_py.ais_bench` as a process: its streams, signals and bugs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from atc_py.adapters.ais_bench import command
from atc_py.adapters.ais_bench.infer.interface import InferSession
from atc_py.cli.bench_program import main
from tests.adapters.ais_bench.test_infer_session import image

PROGRAM = [sys.executable, "-m", "atc_py.ais_bench"]


def started(*words: str, **how: Any) -> subprocess.Popen[str]:
    """Return the program, begun with words."""
    return subprocess.Popen([*PROGRAM, *words], stderr=subprocess.PIPE, text=True, **how)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_output_that_cannot_be_written_is_a_failure(om: str) -> None:
    with Path("/dev/full").open("w") as full, started("--model", om, stdout=full) as program:
        _, err = program.communicate()
    assert program.returncode == 1
    assert "cannot write standard output" in err
    assert "Traceback" not in err


def test_output_that_nobody_reads_ends_no_run(om: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    line = ("--model", om, "--output", "out", "--output_dirname", "d")
    with started(*line, stdout=writer) as program:
        os.close(writer)
        _, err = program.communicate()
    assert (program.returncode, "Traceback" in err) == (0, False)
    assert Path("out/d/pure_infer_data_0.bin").is_file()


def test_signal_ends_it_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_arguments: object) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
        return 0

    monkeypatch.setattr(command, "main", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 143
    assert capsys.readouterr().err.startswith("terminated")


def test_bug_is_a_finding_of_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_arguments: object) -> int:
        raise KeyError("state that nobody expected")

    monkeypatch.setattr(command, "main", broken)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "ATC9001" in capsys.readouterr().err


def test_more_runs_than_are_counted_are_refused(om: str) -> None:
    session = InferSession(0, om, loop=10**9)
    with pytest.raises(RuntimeError, match="more than 1000000 runs"):
        session.infer([image(1, 3, 8, 8)])
    session.set_loop_count(1)
    assert len(session.infer([image(1, 3, 8, 8)])) == 1
