"""Folds batch normalisation into the weights and bias of the convolution before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.ir import DeferredConst
from atc_py.passes.base import Pass, PassContext

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    import numpy.typing as npt

    from atc_py.ir import ConstData, Graph, Node, Value

    Array = npt.NDArray[Any]

__all__ = ["FuseConvBatchNormPass"]

_OUTPUT_AXIS = {"Conv2D": 0, "DepthwiseConv2D": 0, "Conv2DTransposeD": 1}
"""The filter axis that counts output channels, by operator."""


class FuseConvBatchNormPass(Pass):
    """W' = W * k and b' = (b - mean) * k + offset, where k = scale / sqrt(variance + epsilon).

    k and b' are worked out in float64, W' in float32 at least; both are rounded to the filter's
    dtype once.
    """

    name = "fuse-conv-batch-norm"
    atc_names = ("ConvBatchnormFusionPass", "Conv2DTransposeBatchnormFusionPass")
    summary = "Folds BatchNorm into the filter and bias of the convolution before it."

    def run(self, graph: Graph, context: PassContext) -> int:
        """Fold every match; returns how many."""
        matches = [node for node in graph.nodes if _conv_before(graph, node) is not None]
        for norm in matches:
            conv = _conv_before(graph, norm)
            if conv is not None:
                _fold(graph, conv, norm)
        graph.remove_nodes(matches)
        return len(matches)


def _conv_before(graph: Graph, norm: Node) -> Node | None:
    """The convolution that `norm` can be folded into, or None.

    Filter, bias and statistics must be constants with an element per output channel, and nobody
    else may see the convolution's result. A grouped transposed convolution counts output channels
    per group on its filter axis, which one factor per channel does not fit.
    """
    if norm.op != "BatchNorm" or any(v is None or v.const is None for v in norm.inputs[1:]):
        return None
    x = norm.input(0)
    conv = x.producer if x is not None else None
    if x is None or conv is None or conv.op not in _OUTPUT_AXIS:
        return None
    if len(x.uses) != 1 or graph.is_output(x):
        return None
    if conv.op == "Conv2DTransposeD" and conv.attributes.get("groups", 1) != 1:
        return None
    weights = [conv.input(1), conv.input(2)]
    if weights[0] is None or any(v is not None and v.const is None for v in weights):
        return None
    channels = (weights[0].type.shape[_OUTPUT_AXIS[conv.op]],)
    vectors = [*norm.present_inputs[1:], *(v for v in weights[1:] if v is not None)]
    return conv if all(vector.type.shape == channels for vector in vectors) else None


def _fold(graph: Graph, conv: Node, norm: Node) -> None:
    """Give `conv` the folded constants and the place of `norm`."""
    filter_, bias = conv.input(1), conv.input(2)
    statistics = [value.const for value in norm.present_inputs[1:] if value.const is not None]
    epsilon = float(norm.attributes["epsilon"])  # type: ignore[arg-type]  # verified: a float
    if filter_ is None or filter_.const is None:
        return
    axis = _OUTPUT_AXIS[conv.op]
    folded = _folded_filter(filter_.const, statistics, epsilon, axis)
    folded_bias = _folded_bias(filter_.const, bias, statistics, epsilon)
    inputs = [
        conv.input(0),
        graph.constant(f"{filter_.name}.folded", folded),
        graph.constant(f"{norm.output.name}.bias", folded_bias),
    ]
    conv.set_inputs(inputs)
    conv.origins += norm.origins
    graph.replace_value(norm.output, conv.output)
    conv.output.name = norm.output.name


def _folded_filter(
    filter_: ConstData, statistics: list[ConstData], epsilon: float, axis: int
) -> ConstData:
    """W' as a constant that is worked out when it is written."""
    rank = len(filter_.shape)

    def compute(weights: Array, scale: Array, _offset: Array, _mean: Array, var: Array) -> Array:
        shape = tuple(-1 if position == axis else 1 for position in range(rank))
        factor = _factor(scale, var, epsilon).reshape(shape)
        return _scaled(weights, factor)

    sources = [filter_, *statistics]
    return DeferredConst(filter_.dtype, filter_.shape, sources, compute, "filter with batch norm")


def _folded_bias(
    filter_: ConstData, bias: Value | None, statistics: list[ConstData], epsilon: float
) -> ConstData:
    """B' as a constant that is worked out when it is written."""

    def compute(scale: Array, offset: Array, mean: Array, var: Array, *old: Array) -> Array:
        before = old[0].astype("float64") if old else 0.0
        shifted = (before - mean.astype("float64")) * _factor(scale, var, epsilon)
        folded: Array = (shifted + offset.astype("float64")).astype(filter_.dtype.numpy)
        return folded

    sources = list(statistics)
    if bias is not None and bias.const is not None:
        sources.append(bias.const)
    shape = statistics[0].shape
    return DeferredConst(filter_.dtype, shape, sources, compute, "bias with batch norm")


def _scaled(weights: Array, factor: npt.NDArray[np.float64]) -> Array:
    """Weights * factor, worked out in float32 at least and rounded to the weights' dtype once."""
    import numpy as np

    wide = np.result_type(weights.dtype, np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled: Array = np.multiply(weights, factor.astype(wide), dtype=wide)
        return scaled.astype(weights.dtype, copy=False)


def _factor(scale: Array, variance: Array, epsilon: float) -> npt.NDArray[np.float64]:
    """Scale / sqrt(variance + epsilon) per channel, in float64."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        factor: npt.NDArray[np.float64] = scale.astype(np.float64) / np.sqrt(
            variance.astype(np.float64) + epsilon
        )
    return factor
