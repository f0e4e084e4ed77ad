"""A user's templates rendered in a process of their own, whose time and memory are bounded."""

from __future__ import annotations

import atexit
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock, Timer
from typing import IO, Any, cast

from atc_py.diag import AtcError, Place
from atc_py.diag.codes import BAD_TEMPLATE
from atc_py.kernels.framing import read_block, write_block
from atc_py.kernels.sandbox import MOST_TEXT
from atc_py.text import Text
from atc_py.text.packed import unpacked

SECONDS = 10
"""Time of the processor that one template may take; atc-py's own take some milliseconds."""

MEBIBYTES = 512
"""Memory that rendering may take beside what the process has at its start."""

_WALL = 6
"""Times SECONDS that a process may take on a busy machine before it is ended."""

_MOST_ANSWER = 6 * MOST_TEXT + 65536
"""Limit on the bytes of an answer: JSON has up to six for a character."""

_START = "import sys; sys.path[:] = sys.argv[1:]; from atc_py.kernels.template_worker import main; main()"
"""Code that the process runs. `python -m` would import modules from the current folder, and that
may be one with hostile files."""


def render_apart(folders: tuple[Path, ...], name: str, context: Mapping[str, Any]) -> str:
    """Render template `name` with `context` in a process apart; the first folder with it counts.

    Raises:
        AtcError: BAD_TEMPLATE where a template is missing or fails, or takes more than its bounds.
    """
    return _process().render(folders, name, context)


@lru_cache(maxsize=1)
def _process() -> _Process:
    process = _Process()
    atexit.register(process.close)
    return process


class _Process:
    """Started at the first request and again after it was ended; it ends with this program."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def render(self, folders: tuple[Path, ...], name: str, context: Mapping[str, Any]) -> str:
        paths = [str(folder.absolute()) for folder in folders]
        request = pickle.dumps((paths, name, dict(context), SECONDS, MEBIBYTES))
        with self._lock:
            answer = self._answer(request)
            status = self.close() if answer is None else 0
        if answer is None:
            raise _worker_ended(folders[0] / name, name, status)
        if "text" in answer:
            return str(answer["text"])
        place = Place(file=answer["file"], line=answer["line"])
        raise BAD_TEMPLATE.error(answer["message"], place=place, help=answer["help"])

    def _answer(self, request: bytes) -> dict[str, Any] | None:
        """The process's answer; None where it ends without one."""
        running = self._start_worker()
        requests, answers = cast("IO[bytes]", running.stdin), cast("IO[bytes]", running.stdout)
        timer = Timer(_WALL * SECONDS, running.kill)
        timer.daemon = True
        timer.start()
        try:
            with suppress(OSError):  # a process that has ended takes no requests
                write_block(requests, request)
            data = read_block(answers, _MOST_ANSWER)
        finally:
            timer.cancel()
        answer: dict[str, Any] | None = (
            None if data is None else json.loads(data, object_hook=unpacked)
        )
        return answer

    def _start_worker(self) -> subprocess.Popen[bytes]:
        """Start the process; it imports from where this one does, not from the current folder."""
        if self._running is None or self._running.poll() is not None:
            self._running = subprocess.Popen(  # noqa: S603  (this Python, this package)
                [sys.executable, "-I", "-c", _START, *filter(None, sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )
        return self._running

    def close(self) -> int:
        """End the process, if there is one; return its status, negative for a signal."""
        running, self._running = self._running, None
        if running is None:
            return 0
        running.kill()
        for pipe in (running.stdin, running.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was still to be written
                    pipe.close()
        return running.wait()


def _worker_ended(path: Path, name: str, status: int) -> AtcError:
    slow = {-getattr(signal, each, 0) for each in ("SIGXCPU", "SIGKILL")} | {1}
    why = (
        Text("it takes more than {seconds} s", seconds=SECONDS)
        if status in slow
        else Text("it ends with status {status}", status=status)
    )
    return BAD_TEMPLATE.error(
        Text(
            "template {name} does not render: its process was stopped, {why}",
            name=repr(name),
            why=why,
        ),
        place=Place(file=str(path)),
        help=Text(
            "look for loops without an end and for numbers and texts that grow without bound"
        ),
    )
