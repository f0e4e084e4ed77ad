"""Axes and dims in emulations: reductions, how many elements there are, where NaN is; open dims."""

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TypeAlias

from atc_py.device.ort.body import Body
from atc_py.device.ort.numbers import carrier, number
from atc_py.tensor.dtypes import DType


def from_front(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    return tuple(sorted(axis % rank if rank else axis for axis in axes))


def reduced(body: Body, op_type: str, value: str, axes: Sequence[int], *, keep: bool = True) -> str:
    """Write a reduction; over no axes it is the value itself."""
    if not axes:
        return value
    return body.add(op_type, value, body.ints(*axes), keepdims=keep)


def mean(body: Body, value: str, axes: Sequence[int], *, keep: bool = True) -> str:
    """Write the mean of a float value that has the shape of operand 0; NaN of none."""
    dims = [body.node.required(0).dims[axis] for axis in axes]
    if None not in dims and 0 not in dims:
        return reduced(body, "ReduceMean", value, axes, keep=keep)
    shape = body.add("Shape", value)
    count = reduced(
        body, "ReduceProd", body.add("Gather", shape, body.ints(*axes)), [0], keep=False
    )
    total = reduced(body, "ReduceSum", value, axes, keep=keep)
    return body.add("Div", total, body.cast(count, carrier(body.node.dtype())))


def with_nan(body: Body, result: str, value: str, axes: Sequence[int], *, keep: bool) -> str:
    """Write NaN over the results of reductions of float elements among which one is NaN.

    Runtimes do not agree on what the largest of NaN and a number is.
    """
    marks = body.cast(body.add("IsNaN", value), DType.UINT8)
    found = body.cast(reduced(body, "ReduceMax", marks, axes, keep=keep), DType.BOOL)
    return body.add("Where", found, number(body, math.nan), result)


_SIGN = -(2**63)
"""Added to the bits of uint64, it makes int64 in the same order."""

_ORDERED = {
    DType.BOOL: DType.UINT8,
    DType.INT16: DType.INT32,
    DType.UINT16: DType.INT32,
    DType.UINT32: DType.INT64,
}
"""Dtypes that runtimes find the largest element of, for those that they do not."""


def ordered(body: Body, value: str, dtype: DType) -> str:
    """Operand values in a dtype that has the same order and that runtimes reduce."""
    if dtype is DType.UINT64:
        return body.add("Add", body.cast(value, DType.INT64), body.const(_SIGN, DType.INT64))
    return body.cast(value, _ORDERED[dtype]) if dtype in _ORDERED else value


def from_ordered(body: Body, value: str, dtype: DType) -> str:
    """Inverse of `ordered`: its result in the dtype again."""
    if dtype is DType.UINT64:
        return body.cast(body.add("Add", value, body.const(_SIGN, DType.INT64)), dtype)
    return body.cast(value, dtype) if dtype in _ORDERED else value


def arg_of(body: Body, which: str, value: str, axis: int, *, keep: bool) -> str:
    """The place of the first of the largest (`Max`) or smallest (`Min`) elements of operand 0.

    NaN counts as larger or smaller than all.
    """
    dtype = body.node.dtype()
    found = body.add(f"Arg{which}", ordered(body, value, dtype), axis=axis, keepdims=keep)
    if dtype.is_integer or dtype is DType.BOOL:
        return found
    marks = body.cast(body.add("IsNaN", value), DType.UINT8)
    there = body.cast(reduced(body, "ReduceMax", marks, [axis], keep=keep), DType.BOOL)
    return body.add("Where", there, body.add("ArgMax", marks, axis=axis, keepdims=keep), found)


Dim: TypeAlias = int | str
"""A number, or the name of int64 [1]."""


def dims_of(body: Body) -> list[Dim]:
    """The dims of the first input."""
    return [
        body.add("Shape", body.own(), start=axis, end=axis + 1) if dim is None else dim
        for axis, dim in enumerate(body.node.required(0).dims)
    ]


def times(body: Body, dim: Dim, count: int) -> Dim:
    return dim * count if isinstance(dim, int) else body.add("Mul", dim, body.ints(count))


def over(body: Body, dim: Dim, count: int) -> Dim:
    return dim // count if isinstance(dim, int) else body.add("Div", dim, body.ints(count))


def shape_of_dims(body: Body, dims: Sequence[Dim]) -> str:
    parts: list[str] = []
    for known, group in groupby(dims, lambda dim: isinstance(dim, int)):
        run = list(group)
        parts += [body.ints(*map(int, run))] if known else [str(dim) for dim in run]
    return parts[0] if len(parts) == 1 else body.add("Concat", *parts, axis=0)


def shaped(body: Body, value: str, dims: Sequence[Dim]) -> str:
    """The elements of `value` in the same order under another shape."""
    return body.add("Reshape", value, shape_of_dims(body, dims), allowzero=1)
