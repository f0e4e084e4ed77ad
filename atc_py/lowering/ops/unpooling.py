"""Lowering of MaxUnpool, which puts values back where max pooling found them."""

from collections.abc import Sequence

from atc_py.ir import SplatConst, TensorType, Value
from atc_py.lowering.builder import Builder
from atc_py.lowering.registry import lowering
from atc_py.tensor.shapes import element_count, format_shape
from atc_py.text import Text

_OUTPUT_SHAPE = 2


@lowering("MaxUnpool", since=9)
def lower_max_unpool(b: Builder) -> Sequence[Value]:
    """Lower MaxUnpool to ScatterElements of a vector of zeros, in the shape of the result.

    CANN's parser makes the same of it, the zeros by ZerosLike and BroadcastTo. Positions count in
    the shape that is asked for, as in CANN and onnxruntime; kernel_shape, strides and pads only
    give the shape where none is asked for.
    """
    x, indices, result = b.source(0), b.source(1), b.output_type()
    if x.required_dims != indices.required_dims:
        found = format_shape(indices.required_dims)
        wanted = format_shape(x.required_dims)
        text = Text("takes one position for each of {wanted} values, found {found}")
        raise b.bad(text.with_values(wanted=wanted, found=found), "input I")
    zeros = _zeros(b, result)
    values = [zeros, b.flat(b.input(1)), b.flat(b.input(0))]
    placed = b.op("ScatterElements", values, zeros.type, {"axis": 0}, "placed")
    if b.is_computed(_OUTPUT_SHAPE):
        return [b.op("Reshape", [placed, b.input(_OUTPUT_SHAPE)], result, {"allowzero": 1})]
    return [b.reshape(placed, result.shape)]


def _zeros(b: Builder, result: TensorType) -> Value:
    if b.is_computed(_OUTPUT_SHAPE):
        zero = b.const("zero", SplatConst(0.0, result.dtype, (1,) * result.rank))
        return b.flat(b.op("Tile", [zero, b.input(_OUTPUT_SHAPE)], result, label="zeros"))
    return b.const("zeros", SplatConst(0.0, result.dtype, (element_count(result.shape),)))
