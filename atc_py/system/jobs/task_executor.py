"""The interface of executors: tasks go in as there is room, outcomes come out as they are known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from atc_py.system.jobs.lane import TaskAnswer, TaskOutcome

if TYPE_CHECKING:
    from atc_py.system.jobs.sent_files import FileBundle


T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 2
"""Tasks that are under way for each that is being worked on, so that no process waits for its next."""


class TaskExecutor(ABC):
    """The place where tasks run.

    Attributes:
        jobs: how many run at once.
        elsewhere: True if tasks may run on other machines, with another current folder.
    """

    jobs: int
    elsewhere = False

    def map_unordered(
        self, function: Callable[[T], R], tasks: Iterable[T], *, seconds: float | None = None
    ) -> Iterator[TaskOutcome[T, R]]:
        """Yield the outcome of `function(task)` for each task, as they come.

        Tasks are taken as there is room for them, so there may be any number. Each has one outcome,
        whatever ends on the way. One whose process is killed, and which may be blameless, is
        begun once more.

        Args:
            function: a function of a module, with one argument; both it and its argument and
                result can be pickled.
            tasks: what it is called with.
            seconds: time limit of each task; None for any time.

        Raises:
            AtcError: the tasks cannot run at all: the cluster is gone, or a worker is unfit.
        """
        waiting: dict[Future[TaskAnswer], tuple[int, T]] = {}
        source = enumerate(tasks)
        try:
            while True:
                room = max(_AHEAD * self.jobs - len(waiting), 0)
                for index, task in islice(source, room):
                    waiting[self._submit(function, task, seconds)] = (index, task)
                if not waiting:
                    return
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda item: waiting[item][0]):
                    answer = self._answer(future)
                    index, task = waiting.pop(future)
                    yield TaskOutcome(index, task, answer.value, answer.failure)
        finally:
            self._abandon(waiting)

    def share(self, bundles: Iterable[FileBundle]) -> set[str]:
        """Let tasks find files: send those that are not where all workers find them.

        Returns:
            The digests of those that were sent; `sent_file` finds them.
        """
        return set()

    @abstractmethod
    def close(self) -> None:
        """End what still runs."""

    @abstractmethod
    def _submit(
        self, function: Callable[[T], Any], task: T, seconds: float | None
    ) -> Future[TaskAnswer]:
        """Let a task run."""

    def _answer(self, future: Future[TaskAnswer]) -> TaskAnswer:
        return future.result()

    def _abandon(self, futures: Iterable[Future[TaskAnswer]]) -> None:
        """Let tasks that nobody waits for any more not begin."""
        for future in futures:
            future.cancel()
