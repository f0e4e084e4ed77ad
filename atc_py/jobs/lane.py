"""A lane: a process of its own that does tasks one after another, and is started again if it ends.

`concurrent.futures.ProcessPoolExecutor` breaks as a whole when one of its processes ends, does not
say which task that process had, and cannot end one that hangs. Here each thread of a pool of
`concurrent.futures` has a process, and knows its task. The process is a fresh Python rather than a
fork: a fork of a process with threads has their locks and none of the threads. It is not
multiprocessing's either, because workers of Dask may not start those.
"""

import os
import pickle
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import BinaryIO, NamedTuple

from atc_py.jobs.frames import receive_frame, send_frame
from atc_py.jobs.outcomes import TaskFailure, TaskFailureKind
from atc_py.jobs.worker import BEGUN, TaskAnswer
from atc_py.system.memory_limit import format_size
from atc_py.system.process_end import end_signal
from atc_py.text import Text, os_reason


def private_bytes(pid: int) -> int:
    """Bytes in memory that are the process's own, without mapped files; 0 if unknown.

    Systems without /proc do not say.
    """
    with suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
        return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
    return 0


ATTEMPTS = 2
"""Times that a task is begun: a process that somebody killed says nothing about its task."""

_START = (
    "import sys; sys.path[:] = sys.argv[1:]; from atc_py.jobs.worker import serve_parent; "
    "serve_parent()"
)
"""Code that the process runs. `python -m` would import modules from the current folder, and that
may be one with hostile files."""

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_LOADING = 120.0
"""Seconds that a process may take to start and to load what a task needs."""

_PERIOD = 0.05
"""Seconds between two looks at the memory and the time of a process at work."""

_OWN = 256 * 1024**2
"""Bytes that Python and its libraries may take beside a task's data."""


class TaskLimits(NamedTuple):
    """Limits of a task at which its process is killed.

    Attributes:
        seconds: of time; None for any.
        memory: bytes, beside those that Python and its libraries take; None for any.
    """

    seconds: float | None = None
    memory: int | None = None


class Lane:
    """A process that does tasks one at a time; it starts with the first one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: SimpleQueue[bytes | None] = SimpleQueue()
        self._closed = threading.Event()

    @property
    def closed(self) -> bool:
        """True if it was stopped."""
        return self._closed.is_set()

    def run(self, call: bytes, memory: int, limits: TaskLimits) -> TaskAnswer:
        """Return what comes of a task.

        Args:
            call: the pickled function and task.
            memory: bytes that its data may take; it is refused more.
            limits: at which the process is killed.
        """
        frame = pickle.dumps((call, memory))
        answer = TaskAnswer()
        for _ in range(ATTEMPTS):
            answer = self._attempt(frame, limits)
            failure = answer.failure
            crashed = failure is not None and failure.kind is TaskFailureKind.CRASHED
            if not crashed or self._closed.is_set():
                break
        return answer

    def stop(self) -> None:
        """Kill the process; its task, if any, fails and is not begun again."""
        self._closed.set()
        self._kill()

    def _attempt(self, call: bytes, limits: TaskLimits) -> TaskAnswer:
        """Do a task once."""
        try:
            process = self._process or self._start()
        except OSError as error:
            return _crashed(Text("its process does not start: {reason}", reason=os_reason(error)))
        stdin = process.stdin
        if stdin is not None:
            with suppress(OSError):  # it has ended, and the reader of answers says so
                send_frame(stdin, call)  # type: ignore[arg-type]  # a buffered stream
        began, limit = time.monotonic(), _LOADING
        begun = False
        while True:
            try:
                frame = self._answers.get(timeout=_PERIOD)
            except Empty:
                found = _excess(process, limits.memory)
                if found is None and time.monotonic() - began > limit:
                    found = (
                        _late(limits.seconds)
                        if begun
                        else _crashed(Text("its process does not answer"))
                    )
                if found is not None:
                    self._kill()
                    return found
                continue
            if frame is None:
                return self._ended(process)
            if frame == BEGUN:
                begun, began, limit = True, time.monotonic(), limits.seconds or float("inf")
                continue
            loaded: TaskAnswer = pickle.loads(frame)  # noqa: S301  (from our own process)
            return loaded

    def _start(self) -> subprocess.Popen[bytes]:
        paths = [path or os.getcwd() for path in sys.path]  # noqa: PTH109
        one = dict.fromkeys(_THREADS, "1")
        process = subprocess.Popen(  # noqa: S603  (this Python, this package)
            [sys.executable, "-I", "-c", _START, *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **one},
        )
        self._answers = SimpleQueue()
        reader = threading.Thread(target=_read, args=(process.stdout, self._answers), daemon=True)
        reader.start()
        self._process = process
        if self._closed.is_set():
            process.kill()
        return process

    def _ended(self, process: subprocess.Popen[bytes]) -> TaskAnswer:
        status = process.wait()
        self._kill()
        return _crashed(Text("its process {end}", end=_end(status)))

    def _kill(self) -> None:
        """End the process at once."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()


def _read(stream: BinaryIO, answers: SimpleQueue[bytes | None]) -> None:
    """Put answers into the queue, and None at their end."""
    with suppress(EOFError, OSError, ValueError), stream:
        while True:
            answers.put(receive_frame(stream))
    answers.put(None)


def _excess(process: subprocess.Popen[bytes], memory: int | None) -> TaskAnswer | None:
    """The failure of a process that takes more memory than it may, or None."""
    if memory is None or private_bytes(process.pid) <= memory + _OWN:
        return None
    text = Text("the task took more memory than {size}, and was ended", size=format_size(memory))
    return TaskAnswer(failure=TaskFailure(TaskFailureKind.OUT_OF_MEMORY, text))


def _late(seconds: float | None) -> TaskAnswer:
    text = Text(
        "the task did not end within {seconds} seconds, and was ended", seconds=f"{seconds:g}"
    )
    return TaskAnswer(failure=TaskFailure(TaskFailureKind.TIMED_OUT, text))


def _crashed(text: Text) -> TaskAnswer:
    """The failure of a task whose process ended, with a clause about it."""
    return TaskAnswer(failure=TaskFailure(TaskFailureKind.CRASHED, text))


def _end(status: int) -> str:
    name = end_signal(status)
    return (
        Text("was ended by {name}", name=name)
        if name
        else Text("ended with status {status}", status=status)
    )
