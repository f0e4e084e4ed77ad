"""Constants that follow a layer, seen per output channel, and weights that take them in."""

from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.ir import ConstData, DeferredConst, Node, RowwiseConst, Value
from atc_py.passes.fusion.matching import Match, MissError

Array = npt.NDArray[Any]


_TRANSPOSED = ("Conv2DTransposeD", "Conv3DTransposeD")
CONVOLUTIONS = ("Conv2D", "DepthwiseConv2D", "Conv3D", *_TRANSPOSED)
PRODUCTS = ("MatMulV2", "BatchMatMulV2")
_TURNED = {"MatMulV2": "transpose_x2", "BatchMatMulV2": "adj_x2"}
_CHANNELS = 1


def channels_axis(match: Match, layer: Node) -> int:
    """The output channel axis of a layer's weights; from the end for products."""
    if layer.op in PRODUCTS:
        return -2 if layer.attributes.get(_TURNED[layer.op], False) else -1
    if layer.op in _TRANSPOSED:
        groups = layer.attributes.get("groups", 1)
        match.require(
            groups == 1,
            "a transposed filter must have 1 group, found {groups}",
            layer,
            groups=groups,
        )
        return 1
    return 0


def channel_constant(match: Match, node: Node, layer: Node) -> ConstData:
    """The constant operand of `node` with one element or one per output channel."""
    constants = [value for value in node.present_inputs if value.const is not None]
    if len(constants) != 1 or constants[0].const is None:
        raise MissError("one operand of {op} must be constant, found {node}", node)
    data, result = constants[0].const, layer.output.type
    axis = result.rank - 1 if layer.op in PRODUCTS else _CHANNELS
    channels = result.dims[axis]
    if channels is None:
        raise MissError("output channels must be known, found {result}", layer, result=result)
    wanted = [1] * result.rank
    wanted[axis] = channels
    shape = [1] * (result.rank - len(data.shape)) + list(data.shape)
    fits = len(data.shape) <= result.rank and shape in (wanted, [1] * result.rank)
    match.require(
        fits and result.dims == node.output.type.dims,
        "the constant must have an element per output channel, found {shape}",
        node,
        shape=list(data.shape),
    )
    same = result.dtype.is_float and data.dtype is result.dtype
    match.require(
        same, "all must be floats of one dtype, found {dtype}", node, dtype=data.dtype.value
    )
    return data


def weighted(match: Match, weights: Value, factor: ConstData, axis: int, *, inverse: bool) -> Value:
    data = weights.const
    if data is None:
        raise MissError(
            "weights must be constant, found %{weights}", match.anchor, weights=weights.name
        )
    made = scaled_rows(data, factor, axis, "weights with a factor", inverse=inverse)
    return match.graph.constant(f"{weights.name}.scaled", made)


def scaled_rows(
    data: ConstData, factor: ConstData, axis: int, label: str, *, inverse: bool = False
) -> ConstData:
    """Weights times (or over) a factor per output channel, in float32 or wider and rounded once."""

    def compute(rows: slice, array: Array, factors: Array) -> Array:
        shape = [1] * array.ndim
        shape[axis] = -1
        wide = np.result_type(array.dtype, np.float32)
        by_channel = factors.reshape(-1).astype(wide).reshape(shape)
        if len(by_channel) > 1:  # the channels are the rows
            by_channel = by_channel[rows]
        with np.errstate(all="ignore"):
            operation = np.divide if inverse else np.multiply
            made: Array = operation(array[rows].astype(wide, copy=False), by_channel)
            return made.astype(array.dtype, copy=False)

    return RowwiseConst(data.dtype, data.shape, [data, factor], compute, label)


def summed(match: Match, bias: Value | None, added: ConstData, channels: int) -> Value:
    """A bias with a constant per output channel added, rounded once to its dtype."""
    sources = [added]
    if bias is not None:
        if bias.const is None:
            raise MissError(
                "the bias must be constant, found %{bias}", match.anchor, bias=bias.name
            )
        sources.append(bias.const)

    def compute(constant: Array, *old: Array) -> Array:
        total = constant.reshape(-1).astype(np.float64)
        for each in old:
            total = total + each.astype(np.float64)
        made: Array = np.broadcast_to(total, (channels,)).astype(constant.dtype)
        return made

    made = DeferredConst(added.dtype, (channels,), sources, compute, "bias with a constant")
    return match.graph.constant(f"{match.anchor.output.name}.bias", made)
