"""numpy with one thread of BLAS, for commands that read and write models and run none."""

from __future__ import annotations

import os
import sys

__all__ = ["import_numpy"]

_THREADS = "OPENBLAS_NUM_THREADS"


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
