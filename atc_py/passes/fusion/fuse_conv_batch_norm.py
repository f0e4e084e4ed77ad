"""Folds batch normalization into the weights and bias of the convolution before it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.ir import ConstData, DeferredConst, Value
from atc_py.passes.fusion.matching import Match, MissError, RewritePass
from atc_py.passes.fusion.weights import CONVOLUTIONS, channels_axis, scaled_rows
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

Array = npt.NDArray[Any]


_FILTER, _BIAS = 1, 2


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
