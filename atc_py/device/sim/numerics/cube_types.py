"""Checks of the operands of the cube's operators: floats of one dtype, or int8 with int32."""

from collections.abc import Mapping

from atc_py.device.sim.primitives.window import Window, window_of
from atc_py.device.sim.typing_rules import one_dtype, require_rank
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_BIAS, _OFFSET_W = 2, 3

_NARROW = frozenset({DType.FLOAT16, DType.BFLOAT16})

_INTEGERS: Mapping[int, tuple[str, DType]] = {
    1: (Text("the second operand"), DType.INT8),
    _BIAS: ("bias", DType.INT32),
    _OFFSET_W: ("offset_w", DType.INT8),
}
"""Dtypes of the other operands beside int8 data, by position."""


def result_dtype(node: NodeView) -> DType:
    """The dtype of a node's result: int32 for int8 data, else the operands' dtype.

    16-bit floats may have a float32 bias, and may return the float32 sums themselves.
    """
    if node.x.dtype is DType.INT8:
        return _integer_dtype(node)
    if not node.x.dtype.is_float:
        text = Text("the kernel computes floats and int8, found {found}")
        raise NodeError(text.with_values(found=node.x.dtype.value))
    if node.input(_OFFSET_W) is not None:
        text = Text("offset_w is for quantized operands, found {found}")
        raise NodeError(text.with_values(found=node.x.dtype.value))
    node.expect("offset_x", 0)
    one_dtype(node.present[:_BIAS])
    sums = node.x.dtype in _NARROW and node.outputs[0].dtype is DType.FLOAT32
    _check_bias(node, sums=sums)
    return DType.FLOAT32 if sums else node.x.dtype


def _check_bias(node: NodeView, *, sums: bool) -> None:
    bias = node.input(_BIAS)
    if bias is None or bias.dtype is DType.FLOAT32:
        return
    if sums:
        text = Text("bias must be float32 with float32 sums, found {found}")
        raise NodeError(text.with_values(found=bias.dtype.value))
    one_dtype(node.present)


def _integer_dtype(node: NodeView) -> DType:
    for position, (name, wanted) in _INTEGERS.items():
        facts = node.input(position)
        if facts is not None and facts.dtype is not wanted:
            text = Text("{name} must be {wanted} with int8, found {found}")
            raise NodeError(
                text.with_values(name=name, wanted=wanted.value, found=facts.dtype.value)
            )
    offset = node.integer("offset_x")
    if not -128 <= offset <= 127:  # noqa: PLR2004  (the range of int8)
        raise NodeError(Text("offset_x must be in [-128, 127], found {found}", found=offset))
    return DType.INT32


def check_channels(node: NodeView, channels: int) -> None:
    """Check that bias and offset_w, where present, have an element per output channel.

    offset_w may be one element for all channels.
    """
    bias, offset = node.input(_BIAS), node.input(_OFFSET_W)
    if bias is not None and bias.shape != (channels,):
        text = Text("bias must have shape {shape}, found {found}")
        raise NodeError(text.with_values(shape=channels, found=bias))
    if offset is not None and offset.shape not in {(1,), (channels,)}:
        text = Text("offset_w must have shape 1 or {shape}, found {found}")
        raise NodeError(text.with_values(shape=channels, found=offset))


_FORMATS = {4: "NCHW", 5: "NCDHW"}
"""Format of the data of a convolution, by rank."""


def convolution_operands(node: NodeView, rank: int = 4) -> tuple[TensorFacts, TensorFacts, DType]:
    """Data, filter and dtype of the result, once what all convolutions share holds."""
    x, weights = node.x, node.required(1)
    dtype = result_dtype(node)
    require_rank(x, rank, "x")
    require_rank(weights, rank, "filter")
    if not weights.elements:
        raise NodeError(Text("filter must have elements, found {found}", found=weights))
    node.expect("data_format", _FORMATS[rank])
    return x, weights, dtype


def filter_window(node: NodeView) -> Window:
    height, width = node.required(1).shape[2:]
    return window_of(node, (height, width))
