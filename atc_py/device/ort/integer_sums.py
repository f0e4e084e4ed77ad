"""Sums of integers that wrap around."""

from atc_py.device.ort.body import Body
from atc_py.tensor.dtypes import DType

_HALF = 2**32


def integer_sum(
    body: Body, value: str, dtype: DType, axes: str, *, keep: bool, noop: bool = False
) -> str:
    """The sum of integers over axes, of which the dtype keeps the low bits.

    onnxruntime adds integers up in float64: beyond 2 ** 53 it rounds, and large sums saturate. So
    the halves of 64 bits are added up apart, the low ones as numbers from 0 to 2 ** 32 - 1.

    Args:
        body: the nodes so far.
        value: integers of `dtype`.
        dtype: their dtype, and that of the result.
        axes: int64 [n].
        keep: keep the axes, with size 1.
        noop: without axes nothing is summed, else everything.
    """
    wide = value if dtype is DType.INT64 else body.cast(value, DType.INT64)

    def total(of: str) -> str:
        return body.add("ReduceSum", of, axes, keepdims=keep, noop_with_empty_axes=noop)

    if dtype not in {DType.INT64, DType.UINT64}:
        return body.cast(total(wide), dtype)
    half = body.const(_HALF, DType.INT64)
    low = body.add("Mod", wide, half)
    high = body.add("Div", body.add("Sub", wide, low), half)
    result = body.add("Add", body.add("Mul", total(high), half), total(low))
    return result if dtype is DType.INT64 else body.cast(result, dtype)
