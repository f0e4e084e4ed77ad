"""A file appears whole or not at all, and what was there before stays."""

import errno
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import CANNOT_WRITE
from atc_py.system.atomic_files import atomic_write

ROOT = Path(__file__).resolve().parents[2]


def refusal(path: Path, data: bytes = b"new") -> str:
    """Return the message with which writing is refused."""
    with pytest.raises(AtcError) as caught, atomic_write(path) as file:
        file.write(data)
    (finding,) = caught.value.diagnostics
    assert finding.code is CANNOT_WRITE
    assert finding.help
    assert finding.place is not None
    assert finding.place.file == str(path)
    assert str(path) in finding.message
    return finding.message


@pytest.mark.parametrize("durable", [True, False])
def test_file_appears_when_the_block_ends(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "out"
    with atomic_write(path, durable=durable) as file:
        file.write(b"first")
        file.seek(0)
        file.write(b"F")
        file.flush()
        assert not path.exists()
        assert [entry.name.startswith(".out.") for entry in tmp_path.iterdir()] == [True]
    assert path.read_bytes() == b"First"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError, SystemExit])
def test_exception_in_the_block_keeps_the_old_file(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def write_and_fail() -> None:
        with atomic_write(path) as file:
            file.write(bytes(1 << 20))
            raise error

    with pytest.raises(error):
        write_and_fail()
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_permissions_are_kept_or_usual(tmp_path: Path) -> None:
    old, new, usual = tmp_path / "old", tmp_path / "new", tmp_path / "usual"
    old.touch()
    old.chmod(0o640)
    usual.touch()
    for path in (old, new):
        with atomic_write(path) as file:
            file.write(b"x")
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert new.stat().st_mode == usual.stat().st_mode


def test_link_is_followed(tmp_path: Path) -> None:
    link, path = tmp_path / "link", tmp_path / "folder" / "out"
    path.parent.mkdir()
    path.write_bytes(b"old")
    link.symlink_to(path)
    with atomic_write(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"


def test_long_name_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("ü" * 127)
    with atomic_write(path) as file:
        file.write(b"x")
    assert path.read_bytes() == b"x"


def test_folder_is_refused(tmp_path: Path) -> None:
    assert "directory" in refusal(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "none" / "out")


def test_file_as_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "Not a directory" in refusal(tmp_path / "file" / "out")


def test_too_long_name_is_refused(tmp_path: Path) -> None:
    assert "too long" in refusal(tmp_path / ("x" * 300))


def test_pipe_is_refused_and_stays(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "pipe" in refusal(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_read_only_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    path.chmod(0o444)
    if os.access(path, os.W_OK):  # root may write anything
        monkeypatch.setattr(os, "access", lambda *_: False)
    assert "Permission denied" in refusal(path)
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system that refuses")
def test_folder_that_takes_no_files_is_refused() -> None:
    refusal(Path("/proc/self/out"))


def fail_with(number: int) -> Callable[..., NoReturn]:
    """Return a function that fails as the system does."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
@pytest.mark.parametrize("size", [10, 1 << 20])
def test_full_disk_is_refused_and_keeps_the_old_file(tmp_path: Path, size: int) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def write_to_full_disk() -> None:
        with atomic_write(path) as file:
            file.write(bytes(size))
            full = os.open("/dev/full", os.O_WRONLY)
            os.dup2(full, file.fileno())
            os.close(full)
            file.write(bytes(size))

    with pytest.raises(AtcError, match="No space left") as caught:
        write_to_full_disk()
    assert caught.value.diagnostics[0].code is CANNOT_WRITE
    assert "free space" in (caught.value.diagnostics[0].help or "")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the system takes no such advice")
@pytest.mark.parametrize("durable", [True, False])
def test_disk_begins_early_with_a_large_durable_file(
    durable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda _file, *parts: begun.append(parts[:2]))
    path, part = tmp_path / "large", bytes(3 << 20)
    with atomic_write(path, durable=durable) as file:
        for _ in range(7):
            file.write(part)
            file.seek(-len(part), os.SEEK_END)
            file.write(b"head")  # as what is known only after its data
            file.seek(0, os.SEEK_END)
    assert begun == ([(0, 9 << 20), (9 << 20, 9 << 20)] if durable else [])
    assert path.read_bytes() == (b"head" + part[4:]) * 7


@pytest.mark.parametrize(("module", "name"), [(os, "fsync"), (Path, "replace")])
def test_failing_end_is_refused_and_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: object, name: str
) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    monkeypatch.setattr(module, name, fail_with(errno.EIO))
    assert "Input/output error" in refusal(path)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def script(body: str, path: Path) -> subprocess.Popen[str]:
    """Return another process that writes to `path`."""
    head = "import resource, sys\nfrom pathlib import Path\nfrom atc_py.system.atomic_files import atomic_write\n"
    return subprocess.Popen(
        [sys.executable, "-c", f"{head}path = Path(sys.argv[1])\n{body}", str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_limit_on_file_size_is_refused_and_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    body = """
from atc_py.diag import AtcError
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
try:
    with atomic_write(path) as file:
        file.write(bytes(1 << 20))
except AtcError as error:
    print(error.diagnostics[0].code.name, error.diagnostics[0].help)
"""
    out, err = script(body, path).communicate(timeout=60)
    assert "cannot-write-output raise the limit" in out, err
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_killed_process_leaves_the_old_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    body = """
import time
with atomic_write(path) as file:
    file.write(bytes(1 << 20))
    print("half", flush=True)
    time.sleep(60)
"""
    process = script(body, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "half\n"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert path.read_bytes() == b"old"
    left = [entry.name for entry in tmp_path.iterdir() if entry.name != "out"]
    assert all(name.startswith(".out.") and name.endswith(".tmp") for name in left)
    with atomic_write(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
