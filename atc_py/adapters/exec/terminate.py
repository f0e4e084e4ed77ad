"""The end of a program and of the processes that it started."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

_GRACE = 3.0
"""Seconds between the request to end and the end."""

_STEP = 0.02


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
