"""How many threads work may use: as many as there are cores, or one where others have the rest.

The number also decides how sums are cut, and so their last bits: work that must give the same bytes
in any number of processes has one thread in each.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_THREADS = "OPENBLAS_NUM_THREADS"

_given: ContextVar[int | None] = ContextVar("threads", default=None)


def usable_cores() -> int:
    """The cores that this process may use, or what `limited_threads` says."""
    given = granted_threads()
    if given:
        return given
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def granted_threads() -> int:
    """The threads that `limited_threads` allows; 0 outside of it, which libraries read as their choice."""
    return _given.get() or 0


@contextmanager
def limited_threads(count: int) -> Iterator[None]:
    """Let what begins in the block use so many threads."""
    token = _given.set(count)
    try:
        yield
    finally:
        _given.reset(token)


def import_numpy() -> None:
    """Import numpy, whose BLAS starts no threads beside this one unless the user says how many.

    They take processor time to start and to end, and memory each. The variable is set during the
    import alone: processes that this one starts do not inherit it.
    """
    if _THREADS in os.environ or "numpy" in sys.modules:
        return
    os.environ[_THREADS] = "1"
    try:
        import numpy  # noqa: F401, ICN001  (for its start alone)
    finally:
        del os.environ[_THREADS]
