"""Temporary files and folders: held while their process lives, removed when it is dead."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import CANNOT_WRITE
from atc_py.system import atomic_files as held_files
from atc_py.system import temp_folders
from atc_py.system.atomic_files import atomic_write, create_locked, remove_if_unlocked
from atc_py.system.temp_folders import work_folder

ROOT = Path(__file__).resolve().parents[2]


def killed(body: str, folder: Path) -> None:
    """Run a process with `body` that prints a line, and is killed."""
    code = "import sys, time\nfrom pathlib import Path\nfolder = Path(sys.argv[1])\n" + body
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


def test_held_file_is_not_replaced_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "held"
    handle = create_locked(path)
    assert handle is not None
    assert create_locked(path) is None
    assert not remove_if_unlocked(path)
    os.close(handle)
    assert create_locked(path) is None
    assert remove_if_unlocked(path)
    assert not path.exists()
    assert remove_if_unlocked(path)


def test_file_that_is_gone_before_it_is_held_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "held"
    hold, calls = held_files._try_lock, []

    def meddled(handle: int) -> bool | None:
        calls.append(handle)
        if len(calls) == 1:
            path.unlink()
        return hold(handle)

    monkeypatch.setattr(held_files, "_try_lock", meddled)
    handle = create_locked(path)
    assert handle is not None
    assert len(calls) == 2
    assert path.exists()
    os.close(handle)


def test_file_system_without_locks_keeps_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_files, "_try_lock", lambda _: None)
    path = tmp_path / "held"
    handle = create_locked(path)
    assert handle is not None
    os.close(handle)
    assert not remove_if_unlocked(path)
    assert path.exists()
    target = tmp_path / "out"
    (tmp_path / ".out.0.tmp").touch()
    with atomic_write(target) as file:
        file.write(b"new")
    assert target.read_bytes() == b"new"
    assert (tmp_path / ".out.0.tmp").exists()


def test_link_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"precious")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    assert not remove_if_unlocked(tmp_path / "link")
    assert (tmp_path / "other").read_bytes() == b"precious"


def test_file_that_a_killed_process_left_is_removed_by_the_next_writer(tmp_path: Path) -> None:
    killed(
        "from atc_py.system.atomic_files import atomic_write\n"
        "with atomic_write(folder / 'out') as file:\n"
        "    file.write(bytes(1 << 20))\n    print('half', flush=True)\n    time.sleep(60)\n",
        tmp_path,
    )
    assert [path.name for path in tmp_path.iterdir()] == [".out.0.tmp"]
    with atomic_write(tmp_path / "out") as file:
        file.write(b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_writers_at_one_time_have_a_file_each(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with atomic_write(path) as first:
        first.write(b"first")
        with atomic_write(path) as second:
            second.write(b"second")
            names = sorted(each.name for each in tmp_path.iterdir())
            assert names == [".out.0.tmp", ".out.1.tmp"]
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_too_many_writers_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atc_py.system.atomic_files._WRITERS", 1)
    path = tmp_path / "out"

    def write_twice() -> None:
        with atomic_write(path), atomic_write(path):
            pass

    with pytest.raises(AtcError, match="too many temporary files"):
        write_twice()
    assert list(tmp_path.iterdir()) == []


def test_folder_that_a_killed_process_left_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed(
        "from atc_py.system.temp_folders import work_folder\n"
        "with work_folder() as made:\n"
        "    (made / 'big').write_bytes(bytes(1 << 20))\n"
        "    print('half', flush=True)\n    time.sleep(60)\n",
        tmp_path,
    )
    (left,) = tmp_path.iterdir()
    with work_folder() as alive:
        assert not left.exists()
        with work_folder() as other:
            assert {alive, other} == set(tmp_path.iterdir())
        assert list(tmp_path.iterdir()) == [alive]
    assert list(tmp_path.iterdir()) == []


def test_folder_that_another_process_takes_for_stale_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lock, seen = held_files._try_lock, list[int]()

    def try_lock(handle: int) -> bool | None:
        """Lock a file; before the first one is locked, another process cleans up."""
        if not seen:
            seen.append(handle)
            temp_folders._remove_stale(tmp_path)
        return lock(handle)

    monkeypatch.setattr(held_files, "_try_lock", try_lock)
    with work_folder() as made:
        assert [path.name for path in made.iterdir()] == [".held"]
        temp_folders._remove_stale(tmp_path)
        assert made.exists()
    assert list(tmp_path.iterdir()) == []


def test_folders_of_others_and_young_ones_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    young, old = tmp_path / "atc-py-work-young", tmp_path / "atc-py-work-old"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "atc-py-work-link").symlink_to(tmp_path / "elsewhere")
    for folder in (young, old):
        folder.mkdir()
    os.utime(old, (0, 0))
    with work_folder():
        assert young.exists()
        assert not old.exists()
        assert (tmp_path / "elsewhere").exists()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    os.utime(young, (0, 0))
    with work_folder():
        assert young.exists()


def test_system_without_room_for_temporary_files_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(AtcError) as caught, work_folder():
        pass
    assert caught.value.diagnostics[0].code is CANNOT_WRITE
    assert "TMPDIR" in (caught.value.diagnostics[0].help or "")


def test_full_temporary_folder_is_reported_whoever_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def fill() -> None:
        with work_folder():
            raise OSError(28, os.strerror(28))

    with pytest.raises(AtcError) as caught:
        fill()
    assert caught.value.diagnostics[0].code is CANNOT_WRITE
    assert list(tmp_path.iterdir()) == []
