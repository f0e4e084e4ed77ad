"""Codes of tasks in several processes or on a cluster, in families 1 and 7."""

from atc_py.diag.codes.table import add_code
from atc_py.diag.diagnostic import ExitCode

NO_DISTRIBUTED = add_code(
    1090,
    "distributed-missing",
    ExitCode.USAGE,
    "--dask was given and `distributed`, which speaks to Dask clusters, is not installed.",
    'Install it with `pip install "atc-py[dask]"`, or use processes of this machine with --jobs.',
)
CLUSTER_FAILED = add_code(
    7070,
    "cluster-failed",
    ExitCode.DEVICE,
    "The scheduler of the Dask cluster does not answer, has no workers, or was lost in the middle.",
    "Check the address that `dask scheduler` printed, and that `dask worker` runs with it; what "
    "was finished is kept.",
)
WORKER_VERSION = add_code(
    7071,
    "worker-version",
    ExitCode.DEVICE,
    "A worker of the Dask cluster has another version of atc-py, or none. Its results could "
    "differ, so no task was given to it.",
    "Install the version of this machine on every worker, and start the workers again.",
)
TASK_FAILED = add_code(
    7072,
    "task-failed",
    ExitCode.DEVICE,
    "A part of the work that had a process of its own failed. It crashed, did not end within its "
    "time, or took more memory than it may.",
    "Give it more time or memory; if it crashes every time, report the model.",
)
DUPLICATE_MODEL = add_code(
    1091,
    "duplicate-model",
    ExitCode.USAGE,
    "Two models of a sweep have the same name, so that their rows and reports would be mixed up. "
    "The name is the file's, or its path in the folder that was given, without the suffix.",
    "Name each file once; of files with one name give the folder above them.",
)
NO_PYARROW = add_code(
    1092,
    "pyarrow-missing",
    ExitCode.USAGE,
    "--parquet was given and `pyarrow`, which writes such files, is not installed.",
    'Install it with `pip install "atc-py[parquet]"`, or leave --parquet out: the CSV file has the '
    "same columns.",
)
ROW_FAILED = add_code(
    7073,
    "sweep-row-failed",
    ExitCode.DEVICE,
    "A row of a sweep failed. It crashed, did not end within --seconds, took more memory than "
    "--max-memory, or met a bug. The row says so, and the others are complete.",
    "The message names the row; --retry runs such rows again.",
)
