"""Sessions in other processes: forked, spawned with a pickled session, ended in the middle."""

import multiprocessing
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from atc_py import InferenceSession
from atc_py.adapters.session import compiled
from tests.adapters.session.models import expected, layer, rows

OPEN = layer().SerializeToString()

SECONDS = 60
"""What a process may take before it counts as one that hangs."""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


def answer_of_child(work: Any) -> bytes:
    """Return what `work` writes into a pipe in a forked process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writer, work())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        if not select.select([pipe], [], [], SECONDS)[0]:
            os.kill(child, signal.SIGKILL)
        found = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return found


def run(session: Any, count: int) -> bytes:
    """Run a batch of that size; return the bytes of the result."""
    data: bytes = session.run(None, {"x": rows(count)})[0].tobytes()
    return data


@needs_fork
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_forked_process_runs_and_compiles() -> None:
    session = InferenceSession(OPEN)
    run(session, 1)
    assert answer_of_child(lambda: run(session, 1)) == expected(rows(1)).tobytes()
    assert answer_of_child(lambda: run(session, 2)) == expected(rows(2)).tobytes()
    assert answer_of_child(lambda: str(session.runs).encode()) == b"1"
    assert run(session, 1) == expected(rows(1)).tobytes()


@needs_fork
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_fork_while_another_thread_holds_the_session() -> None:
    session = InferenceSession(OPEN)
    run(session, 1)
    held, free = threading.Event(), threading.Event()

    def hold() -> None:
        models = session._models
        with models._lock, models._building:
            held.set()
            free.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert answer_of_child(lambda: run(session, 1)) == expected(rows(1)).tobytes()
    finally:
        free.set()
        thread.join()
    assert run(session, 1) == expected(rows(1)).tobytes()


@needs_fork
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_fork_in_the_middle_of_a_run() -> None:
    session = InferenceSession(OPEN)
    run(session, 1)
    key = ((1, 3),)
    with session._models.prepare(key)._handle._lock:  # type: ignore[attr-defined]
        assert answer_of_child(lambda: run(session, 1)) == expected(rows(1)).tobytes()


@needs_fork
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_forked_process_does_not_release_the_device_of_the_other() -> None:
    session = InferenceSession(OPEN, keep=1)
    run(session, 1)

    def work() -> bytes:
        run(session, 2)
        return str(len(compiled._INHERITED)).encode()

    assert answer_of_child(work) == b"1"
    assert run(session, 1) == expected(rows(1)).tobytes()


def test_session_can_be_pickled(tmp_path: Path) -> None:
    onnx.save(layer(), tmp_path / "model.onnx")
    for model in (tmp_path / "model.onnx", OPEN):
        session = InferenceSession(model, keep=1, input_shape={"x": (2, 3)})
        again = pickle.loads(pickle.dumps(session))  # noqa: S301  (it is this test's own)
        assert [str(each) for each in again.get_inputs()] == [
            "NodeArg(name='x', type='tensor(float)', shape=[2, 3])"
        ]
        assert run(again, 2) == expected(rows(2)).tobytes()


class Picklable(InferenceSession):
    """A session that programs derive to pickle it by its path."""

    def __init__(self, model_path: str, **options: Any) -> None:
        super().__init__(model_path, **options)
        self.model_path = model_path

    def __getstate__(self) -> Any:
        return {"model_path": self.model_path}

    def __setstate__(self, state: Any) -> None:
        self.__init__(state["model_path"])  # type: ignore[misc]


def test_derived_session_is_pickled_its_own_way(tmp_path: Path) -> None:
    onnx.save(layer(), tmp_path / "model.onnx")
    session = Picklable(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    again = pickle.loads(pickle.dumps(session))  # noqa: S301
    assert again.model_path == session.model_path == session._model_path
    assert run(again, 2) == expected(rows(2)).tobytes()


def test_spawned_process_gets_the_session() -> None:
    session = InferenceSession(OPEN)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(run, (session, 2)) == expected(rows(2)).tobytes()


ENDS = {
    "exit": "",
    "exception": "raise SystemExit(3)",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "fork": "import os; child = os.fork(); child and os.waitpid(child, 0); session.run(None, feed)",
}


@pytest.mark.parametrize("end", ENDS)
def test_nothing_stays_on_disk_when_the_process_ends(end: str, tmp_path: Path) -> None:
    onnx.save(layer(), tmp_path / "model.onnx")
    (tmp_path / "files").mkdir()
    code = (
        "import sys, numpy, atc_py\n"
        "session = atc_py.InferenceSession(sys.argv[1])\n"
        "feed = {'x': numpy.ones((2, 3), numpy.float32)}\n"
        f"session.run(None, feed)\n{ENDS[end]}\n"
    )
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "model.onnx")],
        env={**os.environ, "TMPDIR": str(tmp_path / "files")},
        check=False,
        timeout=120,
    )
    assert list((tmp_path / "files").iterdir()) == []


def test_session_of_bytes_needs_no_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = InferenceSession(OPEN)
    np.testing.assert_array_equal(session.run(None, {"x": rows(1)})[0], expected(rows(1)))
    assert list(tmp_path.iterdir()) == []
    assert session._model_path is None
    assert session._model_bytes == OPEN
