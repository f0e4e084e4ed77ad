"""A lane: a process that does tasks one after another, and is started again; outcomes of tasks.

`concurrent.futures.ProcessPoolExecutor` breaks as a whole when one of its processes ends, does not
say which task that process had, and cannot end one that hangs. Here each thread of a pool of
`concurrent.futures` has a process, and knows its task.
"""

import gc
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar, cast

from atc_py.diag import MEMORY_LIMIT, TASK_FAILED, AtcError, Diagnostic
from atc_py.system.memory_limit import format_size, limited_memory
from atc_py.system.process import limited_threads
from atc_py.system.worker import (
    BEGUN,
    ONE_THREAD,
    Bounds,
    NoAnswerError,
    Part,
    Worker,
    describe_end,
    leave_no_core,
    serve,
)
from atc_py.text import Text, error_text, os_reason, verbatim

T = TypeVar("T")
R = TypeVar("R")


class TaskFailureKind(Enum):
    """Ways in which a task can fail."""

    RAISED = "raised"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    OUT_OF_MEMORY = "out-of-memory"


@dataclass(frozen=True)
class TaskFailure:
    """The failure of a task."""

    kind: TaskFailureKind  # how it failed
    text: Text  # one clause about it
    diagnostics: tuple[Diagnostic, ...] = ()  # the findings of an `AtcError` that the task raised


@dataclass(frozen=True)
class TaskOutcome(Generic[T, R]):
    """The outcome of a task."""

    index: int  # position of the task among those given, from 0
    task: T  # what the function was called with
    value: R | None = None  # what it returned; None where it failed
    failure: TaskFailure | None = None  # how it failed; None where it returned

    def result(self) -> R:
        """The value.

        Raises:
            AtcError: the task failed: what it raised itself, or TASK_FAILED.
        """
        if self.failure is None:
            return cast("R", self.value)
        if self.failure.diagnostics:
            raise AtcError(*self.failure.diagnostics)
        raise TASK_FAILED.error(self.failure.text)


def failure_of(error: BaseException) -> TaskFailure:
    if isinstance(error, AtcError):
        first = error.diagnostics[0]
        memory = first.code is MEMORY_LIMIT
        kind = TaskFailureKind.OUT_OF_MEMORY if memory else TaskFailureKind.RAISED
        return TaskFailure(kind, first.message, error.diagnostics)
    if isinstance(error, MemoryError):
        return TaskFailure(TaskFailureKind.OUT_OF_MEMORY, Text("memory ran out"))
    said = verbatim(f"{type(error).__name__}: ") + error_text(error)
    return TaskFailure(TaskFailureKind.RAISED, said)


ATTEMPTS = 2
"""Times that a task is begun: a process that somebody killed says nothing about its task."""

_LOADING = 120.0
"""Seconds that a process may take to start and to load what a task needs."""


class TaskAnswer(NamedTuple):
    """Answer of a process to a task: a value or a failure."""

    value: Any = None
    failure: TaskFailure | None = None


class Lane:
    """A process that does tasks one at a time; it starts with the first one."""

    def __init__(self) -> None:
        self._worker = Worker("atc_py.system.jobs.lane:serve_tasks", ONE_THREAD)

    @property
    def closed(self) -> bool:
        return self._worker.closed

    def run(self, call: bytes, memory: int, limits: Bounds) -> TaskAnswer:
        """The answer to a pickled function and task, whose data may take so many bytes."""
        request = pickle.dumps((call, memory))
        answer = TaskAnswer()
        for _ in range(ATTEMPTS):
            answer = self._attempt(request, limits)
            failure = answer.failure
            crashed = failure is not None and failure.kind is TaskFailureKind.CRASHED
            if not crashed or self.closed:
                break
        return answer

    def stop(self) -> None:
        """Kill the process; its task, if any, fails and is not begun again."""
        self._worker.close()

    def _attempt(self, request: bytes, limits: Bounds) -> TaskAnswer:
        try:
            self._worker.start()
            (data,) = self._worker.ask([request], limits._replace(loading=_LOADING))
        except OSError as error:
            text = Text("its process does not start: {reason}", reason=os_reason(error))
            return _failed(TaskFailureKind.CRASHED, text)
        except NoAnswerError as error:
            return _failed(*_reason(error, limits))
        answer: TaskAnswer = pickle.loads(data)  # noqa: S301  (from our own process)
        return answer


def _reason(end: NoAnswerError, limits: Bounds) -> tuple[TaskFailureKind, Text]:
    if end.why == "memory":
        size = format_size(limits.memory or 0)
        text = Text("the task took more memory than {size} and was stopped", size=size)
        return TaskFailureKind.OUT_OF_MEMORY, text
    if end.why == "ended":
        text = Text("its process {end}", end=describe_end(end.status))
        return TaskFailureKind.CRASHED, text
    if not end.begun:
        return TaskFailureKind.CRASHED, Text("its process does not answer")
    seconds = f"{limits.seconds:g}"
    text = Text("the task did not end within {seconds} seconds and was stopped", seconds=seconds)
    return TaskFailureKind.TIMED_OUT, text


def _failed(kind: TaskFailureKind, text: Text) -> TaskAnswer:
    return TaskAnswer(failure=TaskFailure(kind, text))


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


def serve_tasks() -> None:
    gc.set_threshold(200_000)  # as the command line: modules and graphs are no garbage
    leave_no_core()
    serve(_answers)


def _answers(message: list[bytearray]) -> Iterator[tuple[Part, ...]]:
    try:
        call, memory = pickle.loads(message[0])  # noqa: S301  (from the parent process)
        function, task = pickle.loads(call)  # noqa: S301
    except Exception as error:  # noqa: BLE001  (what it needs cannot be imported here)
        yield (pickle.dumps(TaskAnswer(failure=failure_of(error))),)
        return
    yield BEGUN
    answer = called(function, task, memory)
    try:
        yield (pickle.dumps(answer),)
    except Exception as error:  # noqa: BLE001  (any class may refuse)
        text = Text(
            "the result cannot be sent: {name}: {error}", name=type(error).__name__, error=error
        )
        yield (pickle.dumps(_failed(TaskFailureKind.RAISED, text)),)
