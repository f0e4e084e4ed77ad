"""Numbers as emulations compute with them: carriers of operands, constants, saturated integers."""

import numpy as np

from atc_py.device.ort.body import Body, is_rounded
from atc_py.tensor.dtypes import DType

_NATIVE = frozenset({DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64})
"""Dtypes in which every runtime has arithmetic, bounds, comparisons and choices."""

_WIDE_BITS = 64


def carrier(dtype: DType) -> DType:
    """The dtype in which elements of `dtype` are computed.

    A 16-bit float is computed in float32. Integers that few runtimes compute in take int64, of
    which the low bits are right where they wrap around.
    """
    if is_rounded(dtype):
        return DType.FLOAT32
    return dtype if dtype in _NATIVE else DType.INT64


def carried(body: Body, position: int = 0) -> str:
    """The operand at `position` in the dtype in which it is computed."""
    dtype = body.node.dtype(position)
    own, wide = body.own(position), carrier(dtype)
    return own if wide is dtype else body.cast(own, wide)


def returned(body: Body, value: str, dtype: DType | None = None) -> str:
    """A value that was computed in the carrier of `dtype` as that dtype.

    A float stays in its carrier: it is rounded when the body is finished.

    `dtype` is that of the operator's first input where left out.
    """
    dtype = dtype or body.node.dtype()
    return value if dtype.is_float or dtype in _NATIVE else body.cast(value, dtype)


def number(body: Body, value: float, position: int = 0) -> str:
    return body.const(value, carrier(body.node.dtype(position)))


def scalar(body: Body, position: int) -> str:
    """An operand of one element without axes, in the dtype in which it is computed."""
    if position in body.node.constants:
        wide = carrier(body.node.dtype(position)).numpy
        return body.form(position, "scalar", lambda array: array.reshape(()).astype(wide))
    return body.add("Reshape", carried(body, position), body.ints())


def zero_for_nan(body: Body, value: str, dtype: DType) -> str:
    """`value`, floats of `dtype`, with 0 in place of NaN."""
    return body.add("Where", body.add("IsNaN", value), body.const(0, dtype), value)


def truncated(body: Body, value: str, source: DType, target: DType) -> str:
    """Floats as integers: the fraction cut off, saturated, 0 for NaN.

    `source` is float32 or float64, `target` the dtype of the integers.
    """
    if source is not DType.FLOAT64:
        value = body.cast(value, DType.FLOAT64)
    value = zero_for_nan(body, value, DType.FLOAT64)
    if target.bits < _WIDE_BITS:
        return body.cast(saturated(body, value, target), target)
    limits = np.iinfo(target.numpy)
    last = np.nextafter(float(limits.max), 0)
    low = body.const(float(limits.min), DType.FLOAT64)
    held = body.add("Clip", value, low, body.const(last, DType.FLOAT64))
    beyond = body.add("Greater", value, body.const(last, DType.FLOAT64))
    found = body.cast(held, target) if target is DType.INT64 else _high_half(body, held)
    top = body.const(np.array(limits.max, target.numpy).astype(np.int64), DType.INT64)
    return body.cast(body.add("Where", beyond, top, found), target)


def _high_half(body: Body, value: str) -> str:
    """Float64 from 0 to below 2^64 as int64 of the same bits as uint64."""
    half = body.const(2.0**63, DType.FLOAT64)
    low = body.cast(body.add("Min", value, body.const(2.0**63 - 1024, DType.FLOAT64)), DType.INT64)
    reduced = body.add("Max", body.add("Sub", value, half), body.const(0, DType.FLOAT64))
    least = body.const(np.iinfo(np.int64).min, DType.INT64)
    high = body.add("Add", body.cast(reduced, DType.INT64), least)
    return body.add("Where", body.add("Less", value, half), low, high)


def saturated(body: Body, value: str, dtype: DType) -> str:
    """Float64 `value` held to the range of an integer `dtype` of up to 32 bits."""
    limits = np.iinfo(dtype.numpy)
    bounds = (body.const(float(each), DType.FLOAT64) for each in (limits.min, limits.max))
    return body.add("Clip", value, *bounds)
