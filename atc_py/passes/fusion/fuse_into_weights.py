"""Constants after a layer go into its weights and its bias."""

from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.ir import ConstData, DeferredConst, Node, RowwiseConst, Value
from atc_py.passes.fusion.matching import Match, MissError, RewritePass
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import closed_shape
from atc_py.text import Text

Array = npt.NDArray[Any]


_TRANSPOSED = ("Conv2DTransposeD", "Conv3DTransposeD")
CONVOLUTIONS = ("Conv2D", "DepthwiseConv2D", "Conv3D", *_TRANSPOSED)
PRODUCTS = ("MatMulV2", "BatchMatMulV2")
_TURNED = {"MatMulV2": "transpose_x2", "BatchMatMulV2": "adj_x2"}
_CHANNELS = 1
_FILTER, _BIAS = 1, 2
_FAR = 16


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


class FuseConvBiasPass(RewritePass):
    """Add(Conv(x, w, b), c) = Conv(x, w, b + c), c a constant with an element per channel, or one.

    The bias is added to the float32 sums, so float16 results are rounded once where they were twice.
    """

    def rewrite(self, match: Match) -> None:
        add = match.anchor
        computed = next((value for value in add.present_inputs if value.const is None), None)
        conv = match.producer(computed, *CONVOLUTIONS)
        added = channel_constant(match, add, conv)
        (channels,) = closed_shape(conv.output.type.dims[1:2])
        bias = summed(match, conv.input(_BIAS), added, channels)
        match.become(add, conv.op, [*conv.inputs[:_BIAS], bias], conv.attributes)


class FuseScaleIntoWeightsPass(RewritePass):
    """Mul(Layer(x, w, b), c) = Layer(x, w c, b c), c a constant per output channel, or one.

    Alike for RealDiv by c. Layers are convolutions and products with constant weights; what they
    get is worked out in float32 and rounded once. Factors far from 1 stay outside: weights that
    they make large or small would leave the range in which float16 has all its bits.

    ATC does so with Mul after Conv2D alone, and does not check the size of factors.
    """

    def rewrite(self, match: Match) -> None:
        scale = match.anchor
        inverse = scale.op == "RealDiv"
        computed = next((value for value in scale.present_inputs if value.const is None), None)
        layer = match.producer(computed, *CONVOLUTIONS, *PRODUCTS)
        known = not match.context.only_atc_passes or (scale.op, layer.op) == ("Mul", "Conv2D")
        match.require(
            known,
            "ATC moves only a Mul after Conv2D, found {op} of {op_2}",
            op=scale.op,
            op_2=layer.op,
        )
        if inverse and scale.input(0) is not computed:
            raise MissError("the layer must be the dividend, found {node}", scale)
        weights, bias = layer.input(1), layer.input(_BIAS)
        if weights is None or weights.const is None:
            raise MissError("weights must be constant, found {node}", layer)
        factor = channel_constant(match, scale, layer)
        sizes = np.abs(factor.numpy().astype(np.float64))
        low, high = float(sizes.min(initial=1)), float(sizes.max(initial=1))
        match.require(
            match.context.only_atc_passes or (low * _FAR >= 1 and high <= _FAR),
            "factors must be within 1 / {far} and {far}, found {low} to {high}",
            far=_FAR,
            low=f"{low:.3g}",
            high=f"{high:.3g}",
        )
        axis = channels_axis(match, layer)
        inputs = [layer.input(0), weighted(match, weights, factor, axis, inverse=inverse)]
        if bias is not None:
            inputs.append(weighted(match, bias, factor, 0, inverse=inverse))
        match.become(scale, layer.op, inputs, layer.attributes)


class FuseConvBatchNormPass(RewritePass):
    """W' = W * k and b' = (b - mean) * k + offset, where k = scale / sqrt(variance + epsilon).

    k and b' are worked out in float64, W' in float32 at least; both are rounded to the filter's
    dtype once. k must be finite: infinite weights would make NaN of sums that are infinite.

    ATC does so for all convolutions but transposed ones of volumes.
    """

    def rewrite(self, match: Match) -> None:
        norm = match.anchor
        conv = match.producer(norm.input(0), *CONVOLUTIONS)
        known = not match.context.only_atc_passes or conv.op != "Conv3DTransposeD"
        match.require(known, "ATC does not fold into this convolution: {op}", conv)
        weights, bias = conv.input(_FILTER), conv.input(_BIAS)
        filter_ = _constant(match, weights)
        axis = channels_axis(match, conv)
        statistics = [_constant(match, value) for value in norm.present_inputs[1:]]
        old = [] if bias is None else [_constant(match, bias)]
        for vector in (*statistics, *old):
            wanted = (filter_.shape[axis],)
            match.require(
                vector.shape == wanted,
                "vectors must have the dims {wanted}, found {shape}",
                wanted=list(wanted),
                shape=list(vector.shape),
            )
        epsilon = float(norm.attributes["epsilon"])  # type: ignore[arg-type]  # verified: a float
        factor = _factor(statistics[0].numpy(), statistics[-1].numpy(), epsilon)
        infinite = int(np.isinf(factor).sum())
        match.require(
            not infinite, "factors must be finite, found {infinite} that are not", infinite=infinite
        )
        name = "" if weights is None else weights.name
        by_channel = DeferredConst(
            DType.FLOAT64,
            statistics[0].shape,
            statistics,
            lambda scale, _offset, _mean, variance: _factor(scale, variance, epsilon),
            "factor of batch norm",
        )
        folded = scaled_rows(filter_, by_channel, axis, "filter with batch norm")
        inputs = [
            conv.input(0),
            match.graph.constant(f"{name}.folded", folded),
            match.graph.constant(
                f"{norm.output.name}.bias", _folded_bias(filter_, old, statistics, epsilon)
            ),
        ]
        transposed = conv.op == "Conv2DTransposeD"
        match.rule = "Conv2DTransposeBatchnormFusionPass" if transposed else ""
        match.become(norm, conv.op, inputs, conv.attributes)


def _constant(match: Match, value: Value | None) -> ConstData:
    if value is None or value.const is None:
        found = Text("an absent input") if value is None else f"%{value.name}"
        raise MissError(
            "weights and statistics must be constant, found {actual}", match.anchor, actual=found
        )
    return value.const


def _folded_bias(
    filter_: ConstData, bias: list[ConstData], statistics: list[ConstData], epsilon: float
) -> ConstData:
    def compute(scale: Array, offset: Array, mean: Array, var: Array, *old: Array) -> Array:
        before = old[0].astype("float64") if old else 0.0
        shifted = (before - mean.astype("float64")) * _factor(scale, var, epsilon)
        folded: Array = (shifted + offset.astype("float64")).astype(filter_.dtype.numpy)
        return folded

    sources = [*statistics, *bias]
    shape = statistics[0].shape
    return DeferredConst(filter_.dtype, shape, sources, compute, "bias with batch norm")


def _factor(scale: Array, variance: Array, epsilon: float) -> npt.NDArray[np.float64]:
    """Scale / sqrt(variance + epsilon) per channel, in float64."""
    with np.errstate(divide="ignore", invalid="ignore"):
        factor: npt.NDArray[np.float64] = scale.astype(np.float64) / np.sqrt(
            variance.astype(np.float64) + epsilon
        )
    return factor
