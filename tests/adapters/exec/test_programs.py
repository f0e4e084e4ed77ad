"""Programs of every kind run as without `exec`, and every session of theirs is the simulated NPU."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adapters.exec.conftest import PROGRAMS, Ran, environment

Run = Callable[..., Ran]

SHAPE = "(1, 4, 8, 8)"


@pytest.mark.parametrize(("way", "runs"), [("before", 3), ("after", 2)])
def test_fork_has_the_session_in_both_processes(ran: Run, small: Path, way: str, runs: int) -> None:
    done = ran("fork.py", small, way)
    assert (done.status, done.out.split("\n")) == (5, [SHAPE] * runs + [""]), done.err
    assert done.model["where"] == "npu"
    assert done.model["npu"]["runs"] == runs
    assert [each["runs"] for each in done.report["processes"]] in ([2, 1], [1, 1])


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
@pytest.mark.parametrize("way", ["pool", "process"])
def test_multiprocessing_has_sessions_in_each_process(
    ran: Run, small: Path, method: str, way: str
) -> None:
    done = ran("processes.py", small, method, way)
    assert (done.status, done.out) == (0, f"[{SHAPE}, {SHAPE}]\n"), done.err
    assert (done.model["npu"]["runs"], done.model["onnxruntime"]["runs"]) == (2, 0)
    assert sum(each["sessions"] for each in done.report["processes"]) == 2


@pytest.mark.parametrize(
    ("way", "sessions"), [("shared", 1), ("own", 8), ("processes", 8), ("threads", 8)]
)
def test_threads_and_futures_get_the_same_result(
    ran: Run, small: Path, way: str, sessions: int
) -> None:
    done = ran("threads.py", small, way)
    assert (done.status, done.out) == (0, "8 1\n"), done.err
    assert (done.model["npu"]["runs"], done.model["sessions"]) == (8, sessions)


@pytest.mark.parametrize("way", ["inherited", "own", "changed", "shell", "spawned", "replaced"])
def test_children_have_the_hook(ran: Run, small: Path, way: str) -> None:
    done = ran("children.py", small, way)
    assert (done.status, done.out) == (0, f"{SHAPE}\n"), done.err
    assert done.model["npu"]["runs"] == 1


@pytest.mark.parametrize("way", ["alias", "name", "module", "importlib", "star", "reloaded"])
def test_import_in_any_form_yields_the_simulated_session(ran: Run, small: Path, way: str) -> None:
    done = ran("imports.py", small, way)
    assert (done.status, done.out) == (0, f"{SHAPE}\n"), done.err
    assert done.model["npu"]["runs"] == 1


def test_derived_classes_pickling_and_errors_are_as_without(ran: Run, small: Path) -> None:
    line = [sys.executable, str(PROGRAMS / "subclass.py"), str(small)]
    plain = subprocess.run(
        line, capture_output=True, text=True, check=True, env=environment(), timeout=240
    )
    done = ran("subclass.py", small)
    assert (done.status, done.out) == (0, plain.stdout), done.err
    assert "InvalidArgument" in plain.stdout
    file, given = done.report["models"]
    assert (file["file"], given["file"], file["digest"]) == (str(small), "", given["digest"])
    assert (file["npu"]["runs"], given["npu"]["runs"]) == (5, 1)
    assert [each["fallbacks"] for each in (file, given)] == [[], []]
