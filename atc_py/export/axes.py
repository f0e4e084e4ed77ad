"""Nodes that work along axes: reductions, how many elements there are, and where NaN is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from atc_py.export.body import Body

__all__ = ["carrier", "from_front", "mean", "reduced", "scalar", "with_nan"]


def carrier(body: Body, position: int = 0) -> DType:
    """Return the dtype that arithmetic on the floats of an operand has: float64 or float32."""
    return DType.FLOAT64 if body.node.dtype(position) is DType.FLOAT64 else DType.FLOAT32


def scalar(body: Body, number: float, position: int = 0) -> str:
    """Return a number as a constant in the dtype of arithmetic on an operand."""
    return body.const(number, carrier(body, position))


def from_front(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """Return axes counted from the front, in order."""
    return tuple(sorted(axis % rank if rank else axis for axis in axes))


def reduced(body: Body, op_type: str, value: str, axes: Sequence[int], *, keep: bool = True) -> str:
    """Write a reduction; over no axes it is the value itself."""
    if not axes:
        return value
    return body.add(op_type, value, body.ints(*axes), keepdims=keep)


def mean(body: Body, value: str, axes: Sequence[int], *, keep: bool = True) -> str:
    """Write the mean of a float value that has the shape of operand 0; NaN of none."""
    dims = [body.node.type(0).dims[axis] for axis in axes]
    known = [dim for dim in dims if dim is not None]
    if len(known) == len(dims) and math.prod(known):
        return reduced(body, "ReduceMean", value, axes, keep=keep)
    shape = body.add("Shape", value)
    count = reduced(
        body, "ReduceProd", body.add("Gather", shape, body.ints(*axes)), [0], keep=False
    )
    total = reduced(body, "ReduceSum", value, axes, keep=keep)
    return body.add("Div", total, body.cast(count, carrier(body)))


def with_nan(
    body: Body, result: str, value: str, axes: Sequence[int], *, keep: bool, nan: Any = np.nan
) -> str:
    """Write `nan` over the results of reductions of float elements among which NaN is.

    Runtimes do not agree on what the largest of NaN and a number is.
    """
    marks = body.cast(body.add("IsNaN", value), DType.UINT8)
    found = body.cast(reduced(body, "ReduceMax", marks, axes, keep=keep), DType.BOOL)
    return body.add("Where", found, scalar(body, nan), result)
