"""The choice of an executor: this process, processes of this machine, or a Dask cluster."""

from collections.abc import Iterator
from contextlib import contextmanager

from atc_py.jobs.local_executors import HereExecutor, ProcessExecutor
from atc_py.jobs.task_executor import TaskExecutor
from atc_py.system.memory_limit import memory_limit
from atc_py.system.one_thread import usable_cores

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
        from atc_py.jobs.cluster import open_cluster

        executor = open_cluster(dask, task_bytes)
    else:
        count = jobs or _default_jobs(task_bytes)
        share = task_bytes or memory_limit() // count
        if count == 1 and task_bytes is None and not apart:
            executor = HereExecutor()
        else:
            executor = ProcessExecutor(count, share, task_bytes)
    try:
        yield executor
    finally:
        executor.close()


def _default_jobs(task_bytes: int | None) -> int:
    """Return as many processes as there are cores, or fewer where memory is short."""
    allowed = memory_limit() // (task_bytes or _TASK)
    return max(1, min(usable_cores(), allowed))
