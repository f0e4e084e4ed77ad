"""The choice of an executor: this process, processes of this machine, or a Dask cluster."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, TypeVar

from atc_py.system.jobs.lane import Lane, TaskAnswer, TaskOutcome, called
from atc_py.system.jobs.task_executor import TaskExecutor
from atc_py.system.memory_limit import memory_limit
from atc_py.system.process import usable_cores
from atc_py.system.worker import Bounds

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
        done: Future[TaskAnswer] = Future()
        done.set_result(called(function, task, memory_limit()))
        return done


class ProcessExecutor(TaskExecutor):
    """Tasks in processes of this machine: a thread for each process, which waits for it."""

    def __init__(self, jobs: int, memory: int, enforced: int | None) -> None:
        """Prepare processes, which start as tasks come, and are killed at `enforced` bytes."""
        self.jobs = jobs
        self._memory = memory
        self._enforced = enforced
        self._threads = ThreadPoolExecutor(jobs, "atc_py_task")
        self._lanes = [Lane() for _ in range(jobs)]
        self._free: SimpleQueue[Lane] = SimpleQueue()
        for lane in self._lanes:
            self._free.put(lane)

    def close(self) -> None:
        for lane in self._lanes:
            lane.stop()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _submit(
        self, function: Callable[[T], Any], task: T, seconds: float | None
    ) -> Future[TaskAnswer]:
        call = pickle.dumps((function, task))
        return self._threads.submit(self._run, call, Bounds(seconds, memory=self._enforced))

    def _run(self, call: bytes, limits: Bounds) -> TaskAnswer:
        lane = self._free.get()
        try:
            return lane.run(call, self._memory, limits)
        finally:
            self._free.put(lane)


_TASK = 1024**3
"""Bytes that a task is taken to need where nobody says."""


@contextmanager
def open_executor(
    jobs: int | None = None,
    dask: str | None = None,
    task_bytes: int | None = None,
    *,
    apart: bool = False,
) -> Iterator[TaskExecutor]:
    """Give an executor; what still runs in it ends with the block.

    Args:
        jobs: processes of this machine; None for as many as cores, if memory allows. One without
            a limit is this process itself.
        dask: address of the scheduler of a Dask cluster, whose workers run the tasks instead.
        task_bytes: bytes that the data of a task may take; a process that takes more is killed.
            None for an equal share of what this process may take.
        apart: never in this process, so that a crash ends a task alone.

    Raises:
        AtcError: NO_DISTRIBUTED; CLUSTER_FAILED for a scheduler that does not answer or has no
            workers; WORKER_VERSION.
    """
    executor: TaskExecutor
    if dask is not None:
        from atc_py.system.jobs.cluster import open_cluster

        executor = open_cluster(dask, task_bytes)
    else:
        allowed = memory_limit() // (task_bytes or _TASK)
        count = jobs or max(1, min(usable_cores(), allowed))
        share = task_bytes or memory_limit() // count
        if count == 1 and task_bytes is None and not apart:
            executor = HereExecutor()
        else:
            executor = ProcessExecutor(count, share, task_bytes)
    try:
        yield executor
    finally:
        executor.close()
