"""Every command that writes, where writing fails: the old files stay, nothing else is left."""

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper

from atc_py.system import atomic_files as atomic
from tests.cli.conftest import Result
from tests.faults.models import model_of, small_model

Atc = Callable[..., Result]

CALIBRATION = "op,shape,dtype,time_us\n" + "".join(
    f'Add,"{n},1024;{n},1024",float16,{n / 100}\n' for n in (256, 512, 1024, 2048, 4096, 8192)
)

WRITERS: dict[str, tuple[str, ...]] = {
    "model.om": ("convert", "small.onnx", "-o", "model.om"),
    "kernels/index": ("convert", "small.onnx", "-o", "model", "--kernels", "kernels"),
    "stages/00_lowered.ir": ("convert", "small.onnx", "-o", "model", "--dump-ir", "stages"),
    "report.html": ("check", "small.onnx", "--format", "html", "-o", "report.html"),
    "atc.json": ("check", "small.onnx", "--check-report", "atc.json"),
    "layers.html": ("compare", "small.onnx", "--format", "html", "-o", "layers.html"),
    "profile.html": ("profile", "small.onnx", "--format", "html", "-o", "profile.html"),
    "trace.json": ("profile", "small.onnx", "--trace", "trace.json"),
    "factors.json": ("profile", "--calibrate", "cal.csv", "--save-factors", "factors.json"),
    "out/y.npy": ("run", "old.om", "--random", "1", "-o", "out"),
    "stubs/index": ("kernels", "old.om", "-o", "stubs"),
    "q.onnx": ("quantize", "int8.onnx", "-o", "q.onnx"),
    "q.onnx.data": ("quantize", "int8.onnx", "-o", "q.onnx", "--external-data"),
}
"""A command line for each kind of output, by one of its outputs."""

NAMES = tuple(WRITERS)


def quantized(path: Path) -> None:
    """Write a model that `quantize` can rewrite."""
    weights: dict[str, npt.NDArray[Any]] = {
        "s": np.array(0.05, np.float32),
        "z": np.array(0, np.int8),
        "w": np.arange(-64, 64, dtype=np.int8).reshape(16, 8),
        "t": np.array(0.01, np.float32),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "t", "z"], ["v"]),
        helper.make_node("MatMul", ["d", "v"], ["y"]),
    ]
    onnx.save(model_of(nodes, weights, [4, 16]), path)


@pytest.fixture
def workshop(atc: Atc, tmp_path: Path) -> Callable[..., Result]:
    """Return the command in a folder with all inputs, and with an older file for each output."""
    small_model(tmp_path)
    quantized(tmp_path / "int8.onnx")
    (tmp_path / "cal.csv").write_text(CALIBRATION)
    assert atc("convert", "small.onnx", "-o", "old.om").status == 0
    for name in NAMES:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("older")
    return atc


def files() -> dict[str, bytes]:
    """Return the files in the current folder."""
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def writes_fail(monkeypatch: pytest.MonkeyPatch, after: int, how: Callable[[], None]) -> None:
    """Let the first `after` bytes be written; then `how` happens, once."""
    left = [after]
    happened: list[bool] = []
    write = atomic._Output.write

    def failing(self: atomic._Output, data: bytes) -> int:
        if left[0] < len(data) and not happened:
            happened.append(True)
            with atomic._refusals(self._path):
                how()
        left[0] -= len(data)
        return write(self, data)

    monkeypatch.setattr(atomic._Output, "write", failing)


def no_space() -> None:
    """Raise the error of a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def terminate() -> None:
    """Raise the signal by which the system ends the process."""
    signal.raise_signal(signal.SIGTERM)


def test_every_writing_command_writes(workshop: Atc) -> None:
    for name, command in WRITERS.items():
        done = workshop(*command)
        assert done.status == 0, done.err
        written = Path(name)
        if written.name != "index":
            assert written.read_bytes() != b"older", name
        else:
            assert len(list(written.parent.rglob("*.cpp"))) > 1
    assert not [name for name in files() if ".tmp" in name]


@pytest.mark.parametrize("after", [0, 300])
@pytest.mark.parametrize("name", NAMES)
def test_full_disk_leaves_older_files_and_no_others(
    workshop: Atc, monkeypatch: pytest.MonkeyPatch, name: str, after: int
) -> None:
    before = files()
    writes_fail(monkeypatch, after, no_space)
    done = workshop(*WRITERS[name])
    assert (done.status, done.err[:35]) == (3, "error[ATC2007 cannot-write-output]:")
    assert "No space left on device" in done.err
    assert "help: free space" in done.err or "TMPDIR" in done.err
    left = files()
    assert not [name for name in left if ".tmp" in name]
    assert {each: left[each] for each in before if not each.startswith("kernels")} == {
        each: before[each] for each in before if not each.startswith("kernels")
    }


@pytest.mark.parametrize("name", NAMES)
def test_signal_while_writing_leaves_older_files_and_no_others(
    workshop: Atc, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = files()
    writes_fail(monkeypatch, 0, terminate)
    done = workshop(*WRITERS[name])
    assert done.status == 143
    assert done.err == "terminated; no output file is left partially written\n"
    assert files() == before
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("name", [name for name in NAMES if "/" not in name and "data" not in name])
def test_output_that_is_a_folder_is_refused(workshop: Atc, name: str) -> None:
    Path(name).unlink()
    Path(name).mkdir()
    before = files()
    done = workshop(*WRITERS[name])
    assert (done.status, done.err[:35]) == (3, "error[ATC2007 cannot-write-output]:")
    assert "folder" in done.err
    assert files() == before


@pytest.mark.parametrize("name", [name for name in NAMES if "/" in name])
def test_folder_that_is_a_file_is_refused(workshop: Atc, name: str) -> None:
    folder = Path(name).parent
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("older")
    done = workshop(*WRITERS[name])
    assert done.status in {2, 3}
    assert done.err.startswith("error[ATC")
    assert folder.read_text() == "older"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that takes no files")
@pytest.mark.parametrize("name", [name for name in NAMES if "data" not in name])
def test_folder_that_takes_no_files_is_refused(workshop: Atc, name: str) -> None:
    target = name.partition("/")[0] if "/" in name else name
    command = [f"/proc/self/{part}" if part == target else part for part in WRITERS[name]]
    before = files()
    done = workshop(*command)
    assert (done.status, done.err[:35]) == (3, "error[ATC2007 cannot-write-output]:")
    assert "/proc/self/" in done.err
    assert {**files(), "model.om": b""} == {**before, "model.om": b""}


def test_file_system_that_is_read_only_is_named(
    workshop: Atc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(atomic, "create_locked", refuse)
    done = workshop(*WRITERS["model.om"])
    assert done.status == 3
    assert "Read-only file system" in done.err
    assert "the disk is mounted read-only" in done.err


def test_full_disk_under_temporary_files_names_their_folder(
    workshop: Atc, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes_fail(monkeypatch, 0, no_space)
    done = workshop("kernels", "small.onnx")
    assert done.status == 3
    assert "help: name a folder with more space in the environment variable TMPDIR" in done.err
