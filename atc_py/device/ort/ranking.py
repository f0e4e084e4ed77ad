"""Order among floats in which NaN is larger than all numbers."""

from atc_py.device.ort.body import Body
from atc_py.tensor.dtypes import DType

_INFINITE, _NO_NUMBER = 1e300, 1e301
"""What stands for infinity and NaN: beyond every float32."""


def rank_key(body: Body, value: str) -> str:
    """Float64 numbers in the order of float32 `value`, NaN after infinity.

    Runtimes compare NaN with numbers as they please.
    """
    wide = body.cast(value, DType.FLOAT64)
    limit = DType.FLOAT64
    held = body.add("Clip", wide, body.const(-_INFINITE, limit), body.const(_INFINITE, limit))
    return body.add("Where", body.add("IsNaN", value), body.const(_NO_NUMBER, limit), held)
