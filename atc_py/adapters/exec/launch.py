"""The launcher: the program as a child process, with its streams, signals and exit status."""

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atc_py.adapters.exec.settings import NOTICES
from atc_py.adapters.exec.signals import SignalSource, end_processes, held_signals
from atc_py.adapters.exec.startup._atc_py_environment import hooked
from atc_py.diag import PROGRAM_NOT_STARTED
from atc_py.text import Text, error_text, os_reason
from atc_py.text.packed import unpacked

_PYTHON_IGNORES = ("PIPE", "XFSZ")
"""Signals that Python ignores, and that a program finds as the system has them."""

_PAUSE = 0.5
"""Seconds after which the launcher looks at the program without a signal."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A message of a process, to be said at once."""

    finding: dict[str, Any]  # a finding as JSON values
    # the exit status with which the program is to end for it; None where it goes on
    status: int | None
    more: list[dict[str, Any]]  # findings that are the reason


def launch(command: Sequence[str], run: Path, on_notice: Callable[[Notice], None]) -> int:
    """Run a program with the hook; return the status that a shell would give it.

    It has the launcher's streams, and is in its process group: what the terminal sends goes to both.

    `run` is the folder of the run, with its settings; `on_notice` gets what processes want said.

    Raises:
        AtcError: PROGRAM_NOT_STARTED where the system does not start it.
    """
    seen: set[str] = set()
    if not hasattr(os, "posix_spawnp"):
        raise PROGRAM_NOT_STARTED.error(Text("`exec` starts programs on POSIX systems alone"))
    with held_signals() as source:
        child = _start(command, run, source.mask)
        while True:
            _pass_on(source, child)
            status = _ended(child)
            ending = _say_notices(run, seen, on_notice)
            if ending is not None:
                if status is None:
                    end_processes(child)
                return ending
            if status is not None:
                return status


def _start(command: Sequence[str], run: Path, mask: set[signal.Signals]) -> int:
    environment = {**os.environ, **hooked(str(run), os.environ.get("PYTHONPATH"))}
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    try:
        return os.posix_spawnp(
            command[0],
            list(command),
            environment,
            setsigmask=mask,
            setsigdef=[getattr(signal, f"SIG{name}") for name in _PYTHON_IGNORES],
        )
    except (OSError, ValueError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else error_text(error)
        raise PROGRAM_NOT_STARTED.error(
            Text("cannot start {command}: {reason}", command=repr(command[0]), reason=reason)
        ) from error


def _pass_on(source: SignalSource, child: int) -> None:
    """Wait for a signal, for a moment at most, and pass it on if the program does not have it."""
    found = source.wait(_PAUSE)
    # The terminal sends to the whole group, and so may the program.
    if found is not None and found.sender not in {0, child}:
        with suppress(ProcessLookupError):
            os.kill(child, found.number)


def _ended(child: int) -> int | None:
    """The status of the program; None while it runs. The launcher stops where it stops."""
    found, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
    if found == 0:
        return None
    if os.WIFSTOPPED(status):
        os.kill(os.getpid(), signal.SIGSTOP)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGCONT)
        return None
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _say_notices(run: Path, seen: set[str], on_notice: Callable[[Notice], None]) -> int | None:
    """Say what is new; return the status with which the program is to end, if it is."""
    ending = None
    for file in sorted(run.glob(f"{NOTICES}*.json")):
        if file.name in seen:
            continue
        seen.add(file.name)
        # Any process of the program may have put something else there.
        with suppress(OSError, ValueError, TypeError, KeyError):
            notice = Notice(**json.loads(file.read_text(encoding="utf-8"), object_hook=unpacked))
            message = str(notice.finding["message"])
            if message not in seen:  # several processes may say it
                seen.add(message)
                on_notice(notice)
            ending = notice.status if ending is None else ending
    return ending
