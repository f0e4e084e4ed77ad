"""Signals in the moment in which a file comes up: they are raised when it is known."""

import signal
import threading
from pathlib import Path

import pytest

from atc_py.cli.guards import SignalledError, signals_as_exceptions
from atc_py.system import atomic_files as atomic
from atc_py.system.atomic_files import atomic_write, create_locked
from atc_py.system.signal_guard import put_off, undisturbed


def ended_while_disturbed(made: list[str]) -> None:
    """Send a signal in the middle of an undisturbed block."""
    with signals_as_exceptions(), undisturbed():
        signal.raise_signal(signal.SIGTERM)
        made.append("all of it")


def test_signal_waits_for_the_end_of_the_block() -> None:
    made: list[str] = []
    with pytest.raises(SignalledError):
        ended_while_disturbed(made)
    assert made == ["all of it"]
    assert not put_off(made.clear), "nothing waits any more"


def test_signal_in_the_moment_a_file_is_made_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def signalled(path: Path) -> int | None:
        handle = create_locked(path)
        assert path.exists()
        signal.raise_signal(signal.SIGTERM)
        return handle

    monkeypatch.setattr(atomic, "create_locked", signalled)

    def write() -> None:
        with signals_as_exceptions(), atomic_write(tmp_path / "model.om") as file:
            file.write(b"new")

    with pytest.raises(SignalledError):
        write()
    assert list(tmp_path.iterdir()) == []


def test_other_threads_put_nothing_off() -> None:
    found: list[bool] = []

    def other() -> None:
        with undisturbed():
            found.append(put_off(found.clear))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [False]
