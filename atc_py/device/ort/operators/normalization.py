"""Normalization along axes or channels, choices that stand in for it, and a loss."""

from collections.abc import Collection, Sequence
from math import prod

import numpy as np

from atc_py.device.ort.axes import arg_of, from_front, mean, reduced
from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.numbers import carrier, number
from atc_py.tensor.dtypes import DType

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
    if carrier(body.node.dtype()) is DType.FLOAT32:
        return body.add("BatchNormalization", x, scale, offset, means, variance, epsilon=epsilon)
    deviation = body.add("Sqrt", body.add("Add", variance, number(body, epsilon)))
    factor = body.add("Div", scale, deviation)
    shift = body.add("Sub", offset, body.add("Mul", means, factor))
    shape = body.ints(-1, *(1,) * (body.node.rank() - 2))
    factor, shift = (body.add("Reshape", each, shape) for each in (factor, shift))
    return body.add("Add", body.add("Mul", x, factor), shift)


@emulates("BNInferenceD")
def bn_inference_d(body: Body) -> str:
    """Write `y = (x + mean) * variance`, both steps rounded where x is float16."""
    x, summand, factor = (body.x(at) for at in range(3))
    total = body.add("Add", x, summand)
    if body.node.dtype() is DType.FLOAT16:
        total = body.rounded(total, DType.FLOAT16)
    return body.add("Mul", total, factor)


def _step(body: Body, value: str, modes: Collection[str]) -> str:
    """The result of a step, rounded to float16 where the node's implementation does that."""
    narrow = body.node.dtype() is DType.FLOAT16 and body.node.attributes.get("impl_mode") in modes
    return body.rounded(value, DType.FLOAT16) if narrow else value


def _is_plain(body: Body, axes: Sequence[int]) -> bool:
    """True if one operator of ONNX does it: along one axis, and no step is rounded."""
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
    if _is_plain(body, axes) and carrier(body.node.dtype()) is DType.FLOAT32:
        return body.add("LogSoftmax", x, axis=axes[0])
    difference = _step(body, body.add("Sub", x, reduced(body, "ReduceMax", x, axes)), _DIFFERENCE)
    powers = _step(body, body.add("Exp", difference), _EXPONENTIAL)
    total = _step(body, reduced(body, "ReduceSum", powers, axes), _SUM)
    return body.add("Sub", difference, _step(body, body.add("Log", total), _SUM))


@emulates("ScaledMaskedSoftmax")
def scaled_masked_softmax(body: Body) -> str:
    """Write a softmax of `x * scale`, of the lowest finite float32 where the mask is true."""
    x, scale = body.x(), body.node.number("scale")
    scaled = x if scale == 1 else body.add("Mul", x, number(body, scale))
    lowest = number(body, float(np.finfo(np.float32).min))
    masked = body.add("Where", body.own(1), lowest, scaled)
    return body.add("Softmax", masked, axis=-1)


@emulates("HardMax")
def hardmax(body: Body) -> str:
    """Write 1 at the first of the largest elements, 0 elsewhere; NaN is larger than all."""
    axis = body.node.integer("axis") % body.node.rank()
    x = body.x()
    places = arg_of(body, "Max", x, axis, keep=True)
    size = body.add("Squeeze", body.add("Shape", x, start=axis, end=axis + 1))
    line = body.range(size)
    shape = body.ints(*(-1 if at == axis else 1 for at in range(body.node.rank())))
    found = body.add("Equal", body.add("Reshape", line, shape), places)
    return body.cast(found, carrier(body.node.dtype()))


@emulates("LRN")
def lrn(body: Body) -> str:
    """Write `y = x / (bias + alpha * s)^beta`, s the sum of x^2 over nearby channels."""
    node, x = body.node, body.x()
    squares = body.add("Mul", x, x)
    channels, radius = node.required(0).dims[1], node.integer("depth_radius")
    reach = radius if channels is None else max(0, min(radius, channels - 1))
    pads = [0] * (2 * node.rank())
    pads[1] = pads[1 + node.rank()] = reach
    wide = body.add("Pad", squares, body.ints(*pads), number(body, 0)) if reach else squares
    parts = [_channels(body, wide, at, at - 2 * reach) for at in range(2 * reach + 1)]
    total = body.add("Sum", *parts)
    bias, alpha, beta = (number(body, node.number(name)) for name in ("bias", "alpha", "beta"))
    base = body.add("Add", body.add("Mul", total, alpha), bias)
    return body.add("Div", x, body.add("Pow", base, beta))


def _channels(body: Body, value: str, start: int, stop: int) -> str:
    """The channels from `start` to `stop`, counted from the end where it is not 0."""
    if not start and not stop:
        return value
    end = stop or np.iinfo(np.int64).max
    return body.add("Slice", value, body.ints(start), body.ints(end), body.ints(1))


@emulates("LpNormalize")
def lp_normalize(body: Body) -> str:
    """Write `y = x / norm`, 0 where that is 0; the norm sums |x|, or is the root of sum x * x."""
    x = body.x()
    op_type = "ReduceL1" if body.node.integer("p") == 1 else "ReduceL2"
    axes = from_front([body.node.integer("axis")], body.node.rank())
    norm = reduced(body, op_type, x, axes)
    nothing = number(body, 0)
    return body.add("Where", body.add("Equal", norm, nothing), nothing, body.add("Div", x, norm))


@emulates("MVNV2")
def mean_variance_normalize(body: Body) -> str:
    """Write `y = (x - mean) / (deviation + eps)`, deviation the root of the mean square."""
    axes = from_front(body.node.integers("axes"), body.node.rank())
    x = body.x()
    centered = body.add("Sub", x, mean(body, x, axes))
    deviation = body.add("Sqrt", mean(body, body.add("Mul", centered, centered), axes))
    divisor = body.add("Add", deviation, number(body, body.node.number("eps")))
    return body.add("Div", centered, divisor)


_CHANNEL_AXES = 2
"""Axes that InstanceNorm keeps: image and channel."""


def _centered(body: Body, axes: Sequence[int]) -> tuple[str, str, str]:
    x = body.x()
    means = mean(body, x, axes)
    centered = body.add("Sub", x, means)
    return centered, means, mean(body, body.add("Mul", centered, centered), axes)


def _root(body: Body, squares: str) -> str:
    epsilon = number(body, body.node.number("epsilon"))
    return body.add("Sqrt", body.add("Add", squares, epsilon))


def _has_elements(body: Body, axes: Sequence[int]) -> bool:
    return all(body.node.required(0).dims[axis] != 0 for axis in axes)


@emulates("LayerNorm")
def layer_norm(body: Body) -> Sequence[str]:
    """Write `y = (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * gamma + beta`, row by row."""
    rank, epsilon = body.node.rank(), body.node.number("epsilon")
    axis = body.node.integer("begin_norm_axis") % rank
    axes = range(axis, rank)
    gamma, beta = body.x(1), body.x(2)
    single = len(body.outputs) == 1 and carrier(body.node.dtype()) is DType.FLOAT32
    if single and _has_elements(body, axes):
        return [body.add("LayerNormalization", body.x(), gamma, beta, axis=axis, epsilon=epsilon)]
    centered, means, variances = _centered(body, axes)
    normal = body.add("Div", centered, _root(body, variances))
    result = body.add("Add", body.add("Mul", normal, gamma), beta)
    return [result, means, variances][: len(body.outputs)]


@emulates("InstanceNorm")
def instance_norm(body: Body) -> str:
    """Write `y = (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * gamma + beta` by channel."""
    rank, epsilon = body.node.rank(), body.node.number("epsilon")
    axes = range(_CHANNEL_AXES, rank)
    gamma, beta = body.x(1), body.x(2)
    plain = carrier(body.node.dtype()) is DType.FLOAT32 and rank > _CHANNEL_AXES
    if plain and _has_elements(body, range(rank)):
        return body.add("InstanceNormalization", body.x(), gamma, beta, epsilon=epsilon)
    centered, _, variances = _centered(body, axes)
    normal = body.add("Div", centered, _root(body, variances))
    shape = body.ints(-1, *(1,) * len(axes))
    gamma, beta = (body.add("Reshape", each, shape) for each in (gamma, beta))
    return body.add("Add", body.add("Mul", normal, gamma), beta)


@emulates("GroupNorm")
def group_norm(body: Body) -> str:
    """Write `y = (x - mean) / sqrt(mean((x - mean)^2) + eps) * gamma + beta` by channel."""
    node, (_, *image) = body.node, body.node.required(0).dims
    count = node.integer("num_groups")
    known = [dim for dim in image if dim is not None]
    length = prod(known) // count if len(known) == len(image) else -1
    groups = body.add("Reshape", body.x(), body.ints(0, count, length))
    centered = body.add("Sub", groups, reduced(body, "ReduceMean", groups, (2,)))
    variances = reduced(body, "ReduceMean", body.add("Mul", centered, centered), (2,))
    root = body.add("Sqrt", body.add("Add", variances, number(body, node.number("eps"))))
    normal = body.add("Reshape", body.add("Div", centered, root), body.add("Shape", body.x()))
    shape = body.ints(-1, *(1,) * (node.rank() - _CHANNEL_AXES))
    gamma, beta = (body.add("Reshape", body.x(at), shape) for at in (1, 2))
    return body.add("Add", body.add("Mul", normal, gamma), beta)


@emulates("RmsNorm")
def rms_norm(body: Body) -> str:
    """Write `y = x / sqrt(mean(x^2) + epsilon) * gamma`, over the axes of gamma."""
    x, rank = body.x(), body.node.rank()
    axes = range(rank - body.node.rank(1), rank)
    squares = mean(body, body.add("Pow", x, number(body, 2)), axes)
    return body.add("Mul", body.add("Div", x, _root(body, squares)), body.x(1))


_CLASSES = 1
"""The axis of scores that runs over classes."""


@emulates("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(body: Body) -> Sequence[str]:
    """Write `-log_prop[label] * weights[label]`, reduced, and `log_prop`, the log of the softmax.

    A label that is ignore_index or no class has the loss and the weight 0.
    """
    node, x = body.node, body.x()
    difference = body.add("Sub", x, reduced(body, "ReduceMax", x, [_CLASSES]))
    total = reduced(body, "ReduceSum", body.add("Exp", difference), [_CLASSES])
    logs = body.add("Sub", difference, body.add("Log", total))
    labels, nothing = body.cast(body.own(1), DType.INT64), body.const(0, DType.INT64)
    classes = body.add("Shape", x, start=_CLASSES, end=_CLASSES + 1)
    ignored = body.add("Equal", labels, body.const(node.integer("ignore_index"), DType.INT64))
    outside = body.add(
        "Or", body.add("Less", labels, nothing), body.add("GreaterOrEqual", labels, classes)
    )
    left_out = body.add("Or", ignored, outside)
    zero, one = number(body, 0), number(body, 1)
    if node.required(0).dims[_CLASSES] == 0:
        losses = shares = body.add("Where", left_out, zero, zero)
    else:
        places = body.add("Where", left_out, nothing, labels)
        weights = body.add("Gather", body.x(2), places) if node.has(2) else one
        shares = body.add("Where", left_out, zero, weights)
        column = body.add("Unsqueeze", places, body.ints(_CLASSES))
        picked = body.add("GatherElements", logs, column, axis=_CLASSES)
        negated = body.add("Neg", body.add("Squeeze", picked, body.ints(_CLASSES)))
        losses = body.add("Where", left_out, zero, body.add("Mul", negated, shares))
    reduction = node.text("reduction")
    if reduction == "none":
        return [losses, logs]
    loss = body.add("ReduceSum", losses, keepdims=0)
    if reduction == "mean":
        loss = body.add("Div", loss, body.add("ReduceSum", shares, keepdims=0))
    return [loss, logs]
