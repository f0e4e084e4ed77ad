"""An executor that fails on demand, for tests of what is built on executors."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from atc_py.system.jobs import TaskExecutor, TaskFailure
from atc_py.system.jobs.lane import TaskAnswer, called
from atc_py.system.memory_limit import memory_limit

T = TypeVar("T")


class FailingExecutor(TaskExecutor):
    """Tasks in this process, some of which fail or end the whole run as they are asked to."""

    def __init__(
        self,
        failures: Mapping[int, TaskFailure] | None = None,
        lost_at: int | None = None,
        jobs: int = 2,
    ) -> None:
        """Prepare failures.

        Args:
            failures: what becomes of tasks, by the order in which they are given.
            lost_at: number of the task at which the executor itself is lost.
            jobs: how many run at once, as it says.
        """
        self.jobs = jobs
        self._failures = dict(failures or {})
        self._lost_at = lost_at
        self.given: list[object] = []

    def close(self) -> None:
        """Do nothing."""

    def _submit(
        self, function: Callable[[T], Any], task: T, seconds: float | None
    ) -> Future[TaskAnswer]:
        number = len(self.given)
        self.given.append(task)
        done: Future[TaskAnswer] = Future()
        if number == self._lost_at:
            done.set_exception(RuntimeError("lost"))
        elif number in self._failures:
            done.set_result(TaskAnswer(failure=self._failures[number]))
        else:
            done.set_result(called(function, task, memory_limit()))
        return done
