"""Borders around a tensor."""

from collections.abc import Sequence

import numpy as np

from atc_py.device.ort.body import Body
from atc_py.device.ort.carriers import carried, carrier_of
from atc_py.tensor.dtypes import DType

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

    Args:
        body: the nodes so far.
        value: the operand.
        before: borders before each axis.
        after: borders after each axis.
        mode: constant, edge or reflect.
        number: what fills the borders in mode constant.
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
    """The part of `value` that negative borders leave."""
    axes = [axis for axis, pair in enumerate(zip(before, after, strict=True)) if min(pair) < 0]
    if not axes:
        return value
    starts = body.ints(*(max(-before[axis], 0) for axis in axes))
    ends = body.ints(*(after[axis] if after[axis] < 0 else _LAST for axis in axes))
    return body.add("Slice", value, starts, ends, body.ints(*axes))
