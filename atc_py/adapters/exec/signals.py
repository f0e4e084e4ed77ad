"""Signals that reach the launcher while its program runs."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

_WATCHED = ("INT", "QUIT", "TERM", "HUP", "USR1", "USR2", "WINCH", "CONT", "TSTP", "CHLD")
"""Signals that the launcher waits for; each but the last goes on to the program."""

_OF_TERMINALS = ("INT", "QUIT", "WINCH", "TSTP")
"""Those that a terminal sends to a whole group of processes."""

_STEP = 0.02
"""Seconds between two looks, on systems that cannot wait for a signal."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A signal that came."""

    number: int
    sender: int  # process that sent it; 0 for the terminal or the system


@contextmanager
def held_signals() -> Iterator["SignalSource"]:
    """Keep the signals of the block from their usual effect; give what waits for them.

    A signal that is ignored stays ignored: the program inherits that, and handles it or not.
    """
    numbers = {getattr(signal, f"SIG{name}") for name in _WATCHED}
    # A parent that ignores the ends of its children passes that on; then there is no status.
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = {signal.Signals(each) for each in signal.pthread_sigmask(signal.SIG_BLOCK, ())}
    if hasattr(signal, "sigtimedwait"):
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        try:
            yield WaitedSignals(before, numbers)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    source = HandledSignals(before)
    kept = {each: signal.getsignal(each) for each in numbers}
    for each, handler in kept.items():
        if handler is not signal.SIG_IGN:
            signal.signal(each, source.handle)
    try:
        yield source
    finally:
        for each, handler in kept.items():
            signal.signal(each, handler)


class WaitedSignals:
    """Blocked signals, which are waited for; the system says who sent them."""

    def __init__(self, mask: set[signal.Signals], numbers: set[int]) -> None:
        self.mask = mask
        self._numbers = numbers

    def wait(self, seconds: float) -> Arrival | None:
        """The next signal; None where none comes within that time, or a child changed."""
        found = signal.sigtimedwait(self._numbers, seconds)
        if found is None or found.si_signo == signal.SIGCHLD:
            return None
        return Arrival(found.si_signo, found.si_pid)


class HandledSignals:
    """Handled signals, on systems that cannot wait for them (macOS).

    Who sent one is not known there: what a terminal sends is taken for the terminal's.
    """

    def __init__(self, mask: set[signal.Signals]) -> None:
        self.mask = mask
        self._arrived: list[int] = []
        self._terminal = sys.__stdin__ is not None and sys.__stdin__.isatty()

    def handle(self, number: int, _frame: Any) -> None:
        self._arrived.append(number)

    def wait(self, seconds: float) -> Arrival | None:
        """The next signal; None where none comes soon."""
        if not self._arrived:
            time.sleep(min(seconds, _STEP))
        if not self._arrived:
            return None
        number = self._arrived.pop(0)
        if number == signal.SIGCHLD:
            return None
        sent = {getattr(signal, f"SIG{name}") for name in _OF_TERMINALS}
        return Arrival(number, 0 if self._terminal and number in sent else -1)


SignalSource: TypeAlias = WaitedSignals | HandledSignals
"""A source of signals, to be waited for; `mask` are those that were blocked before."""


_GRACE = 3.0
"""Seconds between the request to end and the end."""


def end_processes(child: int) -> None:
    """End a child process, and what it started as far as the system says; first it is asked to."""
    found = _stopped_family(child)
    _send(found, signal.SIGTERM)
    _send(found, signal.SIGCONT)
    until, others, ended = time.monotonic() + _GRACE, found[1:], 0
    while time.monotonic() < until and not (ended and not any(map(_lives, others))):
        time.sleep(_STEP)
        ended = ended or os.waitpid(child, os.WNOHANG)[0]
    _send([each for each in others if _lives(each)], signal.SIGKILL)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _send(processes: list[int], number: int) -> None:
    for each in processes:
        with suppress(OSError):
            os.kill(each, number)


def _stopped_family(child: int) -> list[int]:
    """A process and what it started, stopped, so that none starts another meanwhile."""
    found, new = [], [child]
    while new:
        _send(new, signal.SIGSTOP)
        found += new
        new = [each for each in _descendants(child) if each not in found]
    return found


def _descendants(process: int) -> list[int]:
    """The processes that one started, theirs too; none where the system has no /proc."""
    children: dict[int, list[int]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            children.setdefault(int(_fields(file)[1]), []).append(int(file.parent.name))
    found, left = [], [process]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return found


def _lives(process: int) -> bool:
    try:
        return _fields(Path(f"/proc/{process}/stat"))[0] not in {"Z", "X"}
    except OSError:
        return False


def _fields(file: Path) -> list[str]:
    """The state, the parent and the rest of a process, after its name."""
    return file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
