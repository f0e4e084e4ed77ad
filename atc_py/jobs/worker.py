"""A process that does tasks, one at a time.

It reads tasks from its standard input and writes answers to its standard output, see `frames`; what
tasks print goes to standard error. It ends when its input does, also in the middle of a task: one
whose parent was killed is of no use to anybody.
"""

import gc
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, BinaryIO, NamedTuple

from atc_py.jobs.frames import receive_frame, send_frame
from atc_py.jobs.outcomes import TaskFailure, TaskFailureKind, failure_of
from atc_py.system.memory_limit import limited_memory
from atc_py.system.one_thread import limited_threads
from atc_py.text import Text

BEGUN = b""
"""The answer that says that a task begins now: its function and its argument are loaded."""


class TaskAnswer(NamedTuple):
    """Answer of a process to a task: a value or a failure."""

    value: Any = None
    failure: TaskFailure | None = None


def called(function: Callable[[Any], Any], task: object, memory: int) -> TaskAnswer:
    """Call a function with a task, in one thread and with so many bytes for data.

    It computes in one thread wherever it runs: other processes have the other cores, and sums in
    another order would have other last bits.
    """
    try:
        with limited_memory(memory), limited_threads(1):
            return TaskAnswer(function(task))
    except Exception as error:  # noqa: BLE001  (the failure of a task is an answer)
        return TaskAnswer(failure=failure_of(error))


def _serve(tasks: BinaryIO, answers: BinaryIO) -> None:
    """Do tasks until there are no more."""
    waiting: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(tasks, waiting), daemon=True).start()
    while True:
        send_frame(answers, _answer(waiting.get(), answers))


def _read(tasks: BinaryIO, waiting: SimpleQueue[bytes]) -> None:
    """Put what comes into the queue; end the process when nothing more can come."""
    try:
        while True:
            waiting.put(receive_frame(tasks))
    except (EOFError, OSError):
        os._exit(0)


def _answer(frame: bytes, answers: BinaryIO) -> bytes:
    """Do a task and return its answer as bytes."""
    try:
        call, memory = pickle.loads(frame)  # noqa: S301  (from the parent process)
        function, task = pickle.loads(call)  # noqa: S301
    except Exception as error:  # noqa: BLE001  (what it needs cannot be imported here)
        return pickle.dumps(TaskAnswer(failure=failure_of(error)))
    send_frame(answers, BEGUN)
    answer = called(function, task, memory)
    try:
        return pickle.dumps(answer)
    except Exception as error:  # noqa: BLE001  (any class may refuse)
        text = Text(
            "the result cannot be sent: {name}: {error}", name=type(error).__name__, error=error
        )
        return pickle.dumps(TaskAnswer(failure=TaskFailure(TaskFailureKind.RAISED, text)))


def serve_parent() -> None:
    """Serve on the standard streams."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends this one, too
    gc.set_threshold(200_000)  # as the command line: modules and graphs are no garbage
    _leave_no_core()
    tasks = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123  (a device)
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    _serve(tasks, answers)


def _leave_no_core() -> None:
    """Write no image of the memory when a task crashes; many rows would fill the disk."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
