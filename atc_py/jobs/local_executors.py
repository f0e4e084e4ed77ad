"""Executors of this machine: this process, or processes of which each does a task at a time."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

from atc_py.jobs.lane import Lane, TaskLimits
from atc_py.jobs.outcomes import TaskOutcome
from atc_py.jobs.task_executor import TaskExecutor
from atc_py.jobs.worker import TaskAnswer, called
from atc_py.system.memory_limit import memory_limit

T = TypeVar("T")
R = TypeVar("R")


class HereExecutor(TaskExecutor):
    """Tasks one after another in this process, without limits of time."""

    jobs = 1

    def map_unordered(
        self, function: Callable[[T], R], tasks: Iterable[T], *, seconds: float | None = None
    ) -> Iterator[TaskOutcome[T, R]]:
        """Yield the outcome of each task; with a time limit they run in a process of their own."""
        if seconds is not None:
            apart = ProcessExecutor(1, memory_limit(), None)
            try:
                yield from apart.map_unordered(function, tasks, seconds=seconds)
            finally:
                apart.close()
            return
        for index, task in enumerate(tasks):
            answer = called(function, task, memory_limit())
            yield TaskOutcome(index, task, answer.value, answer.failure)

    def close(self) -> None:
        """Do nothing: no task outlives its call."""

    def _submit(
        self, function: Callable[[T], Any], task: T, seconds: float | None
    ) -> Future[TaskAnswer]:
        """Run a task at once."""
        done: Future[TaskAnswer] = Future()
        done.set_result(called(function, task, memory_limit()))
        return done


class ProcessExecutor(TaskExecutor):
    """Tasks in processes of this machine: a thread for each process, which waits for it."""

    def __init__(self, jobs: int, memory: int, enforced: int | None) -> None:
        """Prepare processes, which start as tasks come.

        Args:
            jobs: how many.
            memory: bytes that the data of a task may take.
            enforced: bytes at which a process is killed; None for any.
        """
        self.jobs = jobs
        self._memory = memory
        self._enforced = enforced
        self._threads = ThreadPoolExecutor(jobs, "atc_py_task")
        self._lanes = [Lane() for _ in range(jobs)]
        self._free: SimpleQueue[Lane] = SimpleQueue()
        for lane in self._lanes:
            self._free.put(lane)

    def close(self) -> None:
        """Kill the processes and wait for the threads."""
        for lane in self._lanes:
            lane.stop()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _submit(
        self, function: Callable[[T], Any], task: T, seconds: float | None
    ) -> Future[TaskAnswer]:
        """Let a task run in the next process that is free."""
        call = pickle.dumps((function, task))
        return self._threads.submit(self._run, call, TaskLimits(seconds, self._enforced))

    def _run(self, call: bytes, limits: TaskLimits) -> TaskAnswer:
        """Run a task in a process that is free."""
        lane = self._free.get()
        try:
            return lane.run(call, self._memory, limits)
        finally:
            self._free.put(lane)
