"""Normalization along axes or channels, and choices that stand in for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.export.axes import carrier, from_front, reduced, scalar
from atc_py.export.registry import emulates
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from atc_py.export.body import Body

__all__: list[str] = []

_EACH = "high_performance"
_DIFFERENCE = frozenset({_EACH, "float16_difference", "float16_exponential"})
_EXPONENTIAL = frozenset({_EACH, "float16_exponential"})
_SUM = frozenset({_EACH})
"""Implementations of float16 that round a step of a softmax to float16."""


@emulates("BNInfer", "BatchNorm")
def batch_norm(body: Body) -> str:
    """Write `y = (x - mean) / sqrt(variance + epsilon) * scale + offset`, channel by channel."""
    epsilon = body.node.number("epsilon")
    x, scale, offset, means, variance = (body.x(at) for at in range(5))
    if carrier(body) is DType.FLOAT32:
        return body.add("BatchNormalization", x, scale, offset, means, variance, epsilon=epsilon)
    deviation = body.add("Sqrt", body.add("Add", variance, scalar(body, epsilon)))
    factor = body.add("Div", scale, deviation)
    shift = body.add("Sub", offset, body.add("Mul", means, factor))
    shape = body.ints(-1, *(1,) * (body.node.rank() - 2))
    factor, shift = (body.add("Reshape", each, shape) for each in (factor, shift))
    return body.add("Add", body.add("Mul", x, factor), shift)


def _step(body: Body, value: str, modes: Collection[str]) -> str:
    """Return the result of a step, rounded to float16 where the node's implementation does that."""
    narrow = body.node.dtype() is DType.FLOAT16 and body.node.attributes.get("impl_mode") in modes
    return body.rounded(value, DType.FLOAT16) if narrow else value


def _is_plain(body: Body, axes: Sequence[int]) -> bool:
    """Return True if one operator of ONNX does it: along one axis, and no step is rounded."""
    mode = body.node.attributes.get("impl_mode")
    narrow = body.node.dtype() is DType.FLOAT16 and mode in _DIFFERENCE
    return len(axes) == 1 and not narrow


@emulates("SoftmaxV2")
def softmax(body: Body) -> str:
    """Write `y = exp(x - m) / sum of exp(x - m)`, with m the largest x, over the axes jointly."""
    axes = from_front(body.node.integers("axes"), body.node.rank())
    x = body.x()
    if _is_plain(body, axes):
        return body.add("Softmax", x, axis=axes[0])
    difference = _step(body, body.add("Sub", x, reduced(body, "ReduceMax", x, axes)), _DIFFERENCE)
    powers = _step(body, body.add("Exp", difference), _EXPONENTIAL)
    total = _step(body, reduced(body, "ReduceSum", powers, axes), _SUM)
    return body.add("Div", powers, total)


@emulates("LogSoftmaxV2")
def log_softmax(body: Body) -> str:
    """Write `y = (x - m) - log(sum of exp(x - m))`, m the largest x, over the axes jointly."""
    axes = from_front(body.node.integers("axes"), body.node.rank())
    x = body.x()
    if _is_plain(body, axes) and carrier(body) is DType.FLOAT32:
        return body.add("LogSoftmax", x, axis=axes[0])
    difference = _step(body, body.add("Sub", x, reduced(body, "ReduceMax", x, axes)), _DIFFERENCE)
    powers = _step(body, body.add("Exp", difference), _EXPONENTIAL)
    total = _step(body, reduced(body, "ReduceSum", powers, axes), _SUM)
    return body.add("Sub", difference, _step(body, body.add("Log", total), _SUM))


@emulates("ScaledMaskedSoftmax")
def scaled_masked_softmax(body: Body) -> str:
    """Write a softmax of `x * scale`, of the lowest finite float32 where the mask is true."""
    x, scale = body.x(), body.node.number("scale")
    scaled = x if scale == 1 else body.add("Mul", x, scalar(body, scale))
    lowest = scalar(body, float(np.finfo(np.float32).min))
    masked = body.add("Where", body.own(1), lowest, scaled)
    return body.add("Softmax", masked, axis=-1)
