"""Dtypes that elements are moved in where a runtime's operator does not take their own; borders; marks."""

from collections.abc import Callable, Sequence

import numpy as np

from atc_py.device.ort.body import Body
from atc_py.tensor.dtypes import DType

_INTEGERS = (DType.INT32, DType.INT64)

_CARRIERS: dict[DType, tuple[DType, ...]] = {
    DType.FLOAT16: (DType.FLOAT32,),
    DType.BFLOAT16: (DType.FLOAT32,),
    DType.FLOAT32: (DType.FLOAT64,),
    DType.BOOL: (DType.UINT8, *_INTEGERS),
    DType.INT4: _INTEGERS,
    DType.INT8: _INTEGERS,
    DType.INT16: _INTEGERS,
    DType.INT32: (DType.INT64,),
    DType.UINT8: _INTEGERS,
    DType.UINT16: _INTEGERS,
    DType.UINT32: (DType.INT64,),
    DType.UINT64: (DType.INT64,),  # large numbers become negative ones and come back
}
"""Dtypes that hold all numbers of a dtype, the best first."""


def carrier_of(dtype: DType, known: frozenset[DType]) -> DType:
    """`dtype` if it is among those `known`, else one of them that holds its numbers."""
    if dtype in known:
        return dtype
    return next((each for each in _CARRIERS.get(dtype, ()) if each in known), dtype)


def carried(
    body: Body, value: str, dtype: DType, known: frozenset[DType], write: Callable[[str], str]
) -> str:
    """Result of `write` on `value` in one of the `known` dtypes.

    `dtype` is that of `value` and of the result; `write` returns its result in the dtype of what it
    gets.
    """
    carrier = carrier_of(dtype, known)
    if carrier is dtype:
        return write(value)
    return body.cast(write(body.cast(value, carrier)), dtype)


CHOSEN = frozenset(
    {DType.FLOAT32, DType.FLOAT64, DType.FLOAT16, DType.INT32, DType.INT64, DType.UINT8}
)
"""Dtypes that a runtime's Where takes."""


def marked(body: Body, depth: str, on: str, off: str, dtype: DType) -> str:
    """`on` where a new axis of `depth` elements runs over the first input, else `off`.

    The node's attribute `axis` places the new axis; `depth` is int64 [1], `on` and `off` are one
    element of `dtype`.
    """
    node, rank = body.node, body.node.rank() + 1
    axis = node.integer("axis") % rank
    indices, nothing = body.integers(), body.const(0, DType.INT64)
    length = body.add("Reshape", depth, body.ints())
    negative = body.add("Less", indices, nothing)
    # of uint64 those are numbers beyond int64, which mark nothing
    moved = length if node.dtype() is DType.UINT64 else body.add("Add", indices, length)
    indices = body.add("Where", negative, moved, indices)
    indices = body.add("Unsqueeze", indices, body.ints(axis))
    places = body.range(length)
    shape = [-1 if each == axis else 1 for each in range(rank)]
    hit = body.add("Equal", indices, body.add("Reshape", places, body.ints(*shape)))
    carrier = carrier_of(dtype, CHOSEN)
    choices = [body.add("Reshape", value, body.ints(1)) for value in (on, off)]
    if carrier is not dtype:
        choices = [body.cast(value, carrier) for value in choices]
    value = body.add("Where", hit, *choices)
    return value if carrier is dtype else body.cast(value, dtype)


PADDED = frozenset(
    {
        DType.BOOL,
        DType.FLOAT32,
        DType.FLOAT64,
        DType.INT8,
        DType.INT32,
        DType.INT64,
        DType.UINT8,
        DType.UINT32,
        DType.UINT64,
    }
)
"""Dtypes that a runtime's Pad takes."""

_LAST = np.iinfo(np.int64).max


def bordered(
    body: Body,
    value: str,
    before: Sequence[int],
    after: Sequence[int],
    mode: str,
    number: float,
) -> str:
    """An operand of the first input's dtype with borders; negative ones cut.

    `before` and `after` are borders of each axis; `mode` is constant, edge or reflect.
    """
    dtype = body.node.dtype()
    value = _cut(body, value, before, after)
    pads = [max(each, 0) for each in (*before, *after)]
    if not any(pads):
        return body.add("Identity", value)
    carrier = carrier_of(dtype, PADDED)
    fill = ""
    if mode == "constant":
        # what the dtype holds of the number, before it is written in the dtype that carries it
        with np.errstate(over="ignore"):  # a number beyond the dtype is infinite there
            border = np.asarray(number).astype(dtype.numpy).astype(carrier.numpy)
        fill = body.const(border, carrier)
    inputs = [body.ints(*pads), *([fill] if fill else [])]
    return carried(body, value, dtype, PADDED, lambda x: body.add("Pad", x, *inputs, mode=mode))


def _cut(body: Body, value: str, before: Sequence[int], after: Sequence[int]) -> str:
    axes = [axis for axis, pair in enumerate(zip(before, after, strict=True)) if min(pair) < 0]
    if not axes:
        return value
    starts = body.ints(*(max(-before[axis], 0) for axis in axes))
    ends = body.ints(*(after[axis] if after[axis] < 0 else _LAST for axis in axes))
    return body.add("Slice", value, starts, ends, body.ints(*axes))
