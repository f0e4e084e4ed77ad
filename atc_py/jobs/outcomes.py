"""Outcomes of tasks: a value, or a failure of a kind."""

from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar, cast

from atc_py.diag import MEMORY_LIMIT, TASK_FAILED, AtcError, Diagnostic
from atc_py.text import Text, error_text, verbatim

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
    """The failure of a task.

    Attributes:
        kind: how it failed.
        text: one clause about it.
        diagnostics: the findings of an `AtcError` that the task raised.
    """

    kind: TaskFailureKind
    text: Text
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class TaskOutcome(Generic[T, R]):
    """The outcome of a task.

    Attributes:
        index: position of the task among those given, from 0.
        task: what the function was called with.
        value: what it returned; None where it failed.
        failure: how it failed; None where it returned.
    """

    index: int
    task: T
    value: R | None = None
    failure: TaskFailure | None = None

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
    """The failure of a task that raised an error."""
    if isinstance(error, AtcError):
        first = error.diagnostics[0]
        memory = first.code is MEMORY_LIMIT
        kind = TaskFailureKind.OUT_OF_MEMORY if memory else TaskFailureKind.RAISED
        return TaskFailure(kind, first.message, error.diagnostics)
    if isinstance(error, MemoryError):
        return TaskFailure(TaskFailureKind.OUT_OF_MEMORY, Text("memory ran out"))
    said = verbatim(f"{type(error).__name__}: ") + error_text(error)
    return TaskFailure(TaskFailureKind.RAISED, said)
