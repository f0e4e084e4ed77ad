"""Tasks run in processes of this machine or on a Dask cluster: one interface for both.

`open_executor` gives an executor; its `map_unordered` yields an outcome for each task as it comes.
A task that crashes its process, hangs or takes too much memory fails alone.
"""

from atc_py.system.jobs.executor import open_executor
from atc_py.system.jobs.lane import TaskFailure, TaskFailureKind, TaskOutcome
from atc_py.system.jobs.task_executor import TaskExecutor

__all__ = ["TaskExecutor", "TaskFailure", "TaskFailureKind", "TaskOutcome", "open_executor"]
