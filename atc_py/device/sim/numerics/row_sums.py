"""Sums of short rows: one product with a column of ones, where numpy calls a loop for each row."""

from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Launch

_LONGEST = 1024
"""Elements of a row up to which BLAS adds up: numpy does it by halves, which loses less in long
rows; in those of this length BLAS has 64 partial sums of 16 elements."""

ROWS_TOGETHER = 16
"""BLAS adds rows up so many at a time, and what is left after them, or one row alone, in another
order. Where rows are cut at multiples of it and never one is left, sums do not depend on the cut.
"""

_KEPT = 64


def summing(rows: NDArray[Any], out: NDArray[Any]) -> Launch:
    """A launch that fills `out` [rows, 1] with the sum of each row of `rows` [rows, length].

    Both are in C order and of the same dtype, in which is added up; integers wrap around.
    """
    length = rows.shape[1]
    if rows.dtype.kind == "f" and 1 < length <= _LONGEST:
        ones = _ones(length, rows.dtype)
        if len(rows) == 1:  # the same call of BLAS in half the time
            return partial(np.dot, rows[0], ones[:, 0], out.reshape(()))
        return partial(np.matmul, rows, ones, out)
    return partial(np.add.reduce, rows, 1, None, out, keepdims=True)


@lru_cache(maxsize=_KEPT)
def _ones(length: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    ones = np.ones((length, 1), dtype)
    ones.flags.writeable = False
    return ones
