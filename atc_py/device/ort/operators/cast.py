"""Conversion to another dtype."""

import numpy as np

from atc_py.device.ort.body import Body, is_rounded
from atc_py.device.ort.node import NoFormError
from atc_py.device.ort.numbers import truncated
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_BEYOND = {DType.FLOAT16: 65520.0, DType.BFLOAT16: 2.0**128 - 2.0**119}
"""The least number that is rounded to infinity, by 16-bit dtype."""

_LONG = frozenset({DType.INT32, DType.INT64, DType.UINT32, DType.UINT64})
"""Integers that float32 does not hold, but for those that float16 has as infinity."""


@emulates("Cast")
def cast(body: Body) -> str:
    """Write x in another dtype.

    To floats: rounded half to even. Floats to integers: the fraction cut off, saturated, 0 for NaN.
    Integers to integers: the low bits. To bool: whether x is not 0.
    """
    source, target = body.node.dtype(), body.node.outputs[0].dtype
    if target is DType.INT4:
        raise NoFormError(Text("int4 is held in int8, which keeps more bits"))
    if source is DType.FLOAT64 and is_rounded(target):
        return _narrowed(body, body.own(), target)
    if target is DType.BFLOAT16 and source in _LONG:
        return _narrowed(body, body.cast(body.own(), DType.FLOAT64), target)
    if is_rounded(target):
        return body.x()
    wide = DType.FLOAT32 if is_rounded(source) else source
    if source.is_float and target.is_integer:
        return truncated(body, body.x(), wide, target)
    return body.x() if target is wide else body.cast(body.x(), target)


def _narrowed(body: Body, x: str, dtype: DType) -> str:
    """Float32 numbers that round to the 16-bit dtype as float64 `x` does.

    float32 in between rounds once too often where its number is halfway between two of the dtype
    and x is not: then the neighbor is right that x is nearer to.
    """
    wide = body.cast(x, DType.FLOAT32)
    beyond = np.float32(_BEYOND[dtype])
    last = np.nextafter(beyond, np.float32(0))
    held = body.add("Clip", wide, body.const(-last), body.const(last))
    inside = body.add("Less", body.add("Abs", x), body.const(float(beyond), DType.FLOAT64))
    wide = body.add("Where", inside, held, wide)
    near = body.rounded(wide, dtype)
    rest = body.add("Sub", wide, near)
    other = body.add("Add", wide, rest)
    left = body.add("Sub", x, body.cast(wide, DType.FLOAT64))
    further = body.add(
        "Greater",
        body.add("Mul", left, body.cast(rest, DType.FLOAT64)),
        body.const(0, DType.FLOAT64),
    )
    halfway = body.add("Equal", other, body.rounded(other, dtype))
    moved = body.add("And", inside, body.add("And", further, halfway))
    return body.add("Where", moved, other, near)
