"""Normalization: statistics, neighboring channels, norms, softmax and hardmax; a loss."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Launch, Rounding, bound_kernel, kernel, sequence
from atc_py.device.sim.numerics.rounding import Kind, round_to_grid
from atc_py.device.sim.primitives.blocks import summing
from atc_py.device.sim.typing_rules import (
    axes_of,
    broadcast_dims,
    one_dtype,
    require_float,
    require_per_channel,
)
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

Step: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]


_EACH = "high_performance"
_DIFFERENCE = frozenset({_EACH, "float16_difference", "float16_exponential"})
_EXPONENTIAL = frozenset({_EACH, "float16_exponential"})


class SoftmaxSteps(NamedTuple):
    """Roundings of the results of a softmax's steps, in place.

    A kernel with several steps may keep intermediate results in float32 and round once at its end,
    or compute steps in float16. A step here is an operation on whole tensors; a sum along axes is
    one step, added up in float32 and rounded. The attribute `impl_mode` names what a node does:
    high_precision rounds no step, high_performance each, float16_difference the difference from the
    maximum that a softmax begins with, float16_exponential that and the exponentials.
    """

    difference: Step  # to each element less the largest
    exponential: Step  # to the exponentials of these
    sum: Step  # to their sum, and to all that follows but the result


def softmax_steps(call: Call) -> SoftmaxSteps:
    """Functions that round the results of a softmax's steps in place to float16, or leave them.

    Only float16 data have several implementations; the vector unit computes all others as they are.
    """
    node = call.node
    mode = node.attributes.get("impl_mode") if node.x.dtype is DType.FLOAT16 else None
    modes = (_DIFFERENCE, _EXPONENTIAL, frozenset({_EACH}))
    return SoftmaxSteps(*(_rounded if mode in rounding else kept for rounding in modes))


def _rounded(array: NDArray[Any]) -> NDArray[Any]:
    return round_to_grid(array, DType.FLOAT16, out=array)


def kept(array: NDArray[Any]) -> NDArray[Any]:
    return array


_LONG = 64
"""Least length of a row for which argmax and take are much faster than maximum.reduce."""

_PLAIN = SoftmaxSteps(kept, kept, kept)


def softmaxing(
    x: NDArray[Any],
    out: NDArray[Any],
    axes: tuple[int, ...],
    steps: SoftmaxSteps = _PLAIN,
) -> Launch:
    """A launch that sets `out` to `exp(x - m) / sum of exp(x - m)`, m the largest x.

    `out`, in C order, may be the memory of x. `axes` are counted from the front and worked along
    jointly; `steps` are done in place to what each step gives.
    """
    shape = tuple(1 if axis in axes else dim for axis, dim in enumerate(x.shape))
    row = np.empty(shape, x.dtype)
    largest: Launch = partial(np.maximum.reduce, x, axes, None, row, keepdims=True)
    add_up: Launch = partial(np.add.reduce, out, axes, None, row, keepdims=True)
    if axes == (x.ndim - 1,):
        add_up = summing(out.reshape(-1, x.shape[-1]), row.reshape(-1, 1))
        if row.size == 1:  # numpy takes twice as long where it has to see dims of one element
            x, out, row = x.reshape(-1), out.reshape(-1), row.reshape(())
            largest = partial(np.maximum.reduce, x, 0, None, row)
        elif x.shape[-1] >= _LONG and x.flags.c_contiguous:
            largest = _largest(x.reshape(-1, x.shape[-1]), row.reshape(-1))
    return sequence(
        [
            largest,
            partial(np.subtract, x, row, out),
            *_taken(steps.difference, out),
            partial(np.exp, out, out),
            *_taken(steps.exponential, out),
            add_up,
            *_taken(steps.sum, row),
            partial(np.divide, out, row, out),
        ]
    )


def _largest(rows: NDArray[Any], out: NDArray[Any]) -> Launch:
    """A launch that finds the largest element of each row; maximum.reduce takes thrice as long."""
    flat, starts = rows.reshape(-1), np.arange(len(rows)) * rows.shape[1]
    places = np.empty_like(starts)
    return sequence(
        [
            partial(rows.argmax, 1, places),
            partial(np.add, places, starts, places),
            partial(flat.take, places, None, out, "wrap"),
        ]
    )


def _taken(step: Step, array: NDArray[Any]) -> list[Launch]:
    return [] if step is kept else [partial(step, array)]


_LEAST_RANK = 2


def _batch_norm_types(node: NodeView) -> tuple[TensorFacts, ...]:
    x = node.x
    require_float(x)
    if x.rank < _LEAST_RANK:
        raise NodeError(Text("x must have a channel axis, found {found}", found=x))
    for facts in node.present[1:]:
        require_float(facts)
    one_dtype(node.present[1:])
    require_per_channel(node, ("scale", "offset", "mean", "variance"))
    return (x,)


def _inference_types(node: NodeView) -> tuple[TensorFacts, ...]:
    node.expect("is_training", allowed=False)
    node.expect("data_format", "NCHW")
    return _batch_norm_types(node)


@kernel("BatchNorm", _inference_types, in_place=True)
@kernel("BNInfer", _batch_norm_types, in_place=True)
def bn_infer(call: Call) -> None:
    """Compute `y = (x - mean) / sqrt(variance + epsilon) * scale + offset`, channel by channel."""
    scale, offset, mean, variance = (call.input(position) for position in range(1, 5))
    factor = scale / np.sqrt(variance + variance.dtype.type(call.node.number("epsilon")))
    shift = offset - mean * factor
    per_channel = (-1, *(1,) * (call.x.ndim - 2))
    np.multiply(call.x, factor.reshape(per_channel), out=call.out)
    np.add(call.out, shift.reshape(per_channel), out=call.out)


def _folded_types(node: NodeView) -> tuple[TensorFacts, ...]:
    x = node.x
    require_float(x)
    if x.rank < _LEAST_RANK:
        raise NodeError(Text("x must have a channel axis, found {found}", found=x))
    for position, name in enumerate(("mean", "variance"), start=1):
        facts = node.required(position)
        shape = (1, x.shape[1], *(1,) * (x.rank - 2))
        if facts.shape != shape or facts.dtype is not x.dtype:
            text = Text("{name} must have shape {shape}, found {found}")
            raise NodeError(text.with_values(name=name, shape=list(shape), found=facts))
    return (x,)


@kernel("BNInferenceD", _folded_types, in_place=True)
def bn_inference_d(call: Call) -> None:
    """Compute `y = (x + mean) * variance`, both steps rounded where x is float16."""
    np.add(call.x, call.input(1), out=call.out)
    if call.node.x.dtype is DType.FLOAT16:
        round_to_grid(call.out, DType.FLOAT16, out=call.out)
    np.multiply(call.out, call.input(2), out=call.out)


def _lrn_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    node.expect("norm_region", "ACROSS_CHANNELS")
    if node.x.rank < _LEAST_RANK or node.integer("depth_radius") < 0:
        text = Text("a channel axis and a radius of at least 0 are needed, found {found}")
        raise NodeError(text.with_values(found=node.x))
    return (node.x,)


@kernel("LRN", _lrn_types)
def lrn(call: Call) -> None:
    """Compute `y = x / (bias + alpha * s)^beta`, s the sum of x^2 over nearby channels.

    The window holds 2 * depth_radius + 1 channels, c in the middle: alpha is ONNX's divided by its size, and even
    sizes have no counterpart.
    """
    x, out, node = call.x, call.out, call.node
    channels = x.shape[1]
    squares = call.workspace.take("squares", x.shape, x.dtype)
    np.multiply(x, x, out=squares)
    np.copyto(out, squares)
    for distance in range(1, min(node.integer("depth_radius"), channels - 1) + 1):
        before, after = out[:, distance:], out[:, :-distance]
        np.add(before, squares[:, :-distance], out=before)
        np.add(after, squares[:, distance:], out=after)
    real = x.dtype.type
    np.multiply(out, real(node.number("alpha")), out=out)
    np.add(out, real(node.number("bias")), out=out)
    np.power(out, real(node.number("beta")), out=out)
    np.divide(x, out, out=out)


def _softmax_types(node: NodeView) -> tuple[TensorFacts, ...]:
    x = node.x
    require_float(x)
    axes_of(node.integers("axes"), x.rank)
    widens = node.flag("half_to_float") and x.dtype is DType.FLOAT16
    return (TensorFacts(DType.FLOAT32 if widens else x.dtype, x.shape),)


@bound_kernel("SoftmaxV2", _softmax_types, in_place=True, kind=Kind.BOUNDED)
def softmax(call: Call) -> Launch:
    """Compute `y = exp(x - m) / sum of exp(x - m)`, with m the largest x, over the axes jointly."""
    axes = axes_of(call.node.integers("axes"), call.x.ndim)
    return softmaxing(call.x, call.out, axes, softmax_steps(call))


def _along_axes(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    axes_of(node.integers("axes"), node.x.rank)
    return (node.x,)


def _along_axis(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    axes_of((node.integer("axis"),), node.x.rank)
    return (node.x,)


@kernel("LogSoftmaxV2", _along_axes, in_place=True)
def log_softmax(call: Call) -> None:
    """Compute `y = (x - m) - log(sum of exp(x - m))`, m the largest x, over the axes jointly."""
    axes, steps = axes_of(call.node.integers("axes"), call.x.ndim), softmax_steps(call)
    np.subtract(call.x, call.x.max(axis=axes, keepdims=True), out=call.out)
    powers = call.workspace.take("powers", call.x.shape, call.x.dtype)
    steps.exponential(np.exp(steps.difference(call.out), out=powers))
    total = np.asarray(powers.sum(axis=axes, keepdims=True))
    steps.sum(total)
    np.subtract(call.out, steps.sum(np.log(total, out=total)), out=call.out)


@kernel("HardMax", _along_axis, rounding=Rounding.ON_GRID)
def hardmax(call: Call) -> None:
    """Mark the first of the largest elements with 1, others with 0; NaN is larger than all."""
    call.require_scratch(2 * call.x.nbytes)
    axis = call.node.integer("axis")
    call.out[...] = 0
    np.put_along_axis(call.out, call.x.argmax(axis, keepdims=True), 1, axis)


def _lp_types(node: NodeView) -> tuple[TensorFacts, ...]:
    if node.integer("p") not in {1, 2}:
        raise NodeError(Text("p must be 1 or 2, found {found}", found=node.integer("p")))
    return _along_axis(node)


@kernel("LpNormalize", _lp_types)
def lp_normalize(call: Call) -> None:
    """Compute `y = x / norm`, 0 where that is 0; the norm sums |x|, or is the root of sum x * x."""
    x, axis, out = call.x, call.node.integer("axis"), call.out
    if call.node.integer("p") == 1:
        norm = np.abs(x, out=out).sum(axis=axis, keepdims=True)
    else:
        norm = np.sqrt(np.multiply(x, x, out=out).sum(axis=axis, keepdims=True))
    np.divide(x, norm, out=out)
    np.copyto(out, 0, where=norm == 0)


@kernel("MVNV2", _along_axes)
def mean_variance_normalize(call: Call) -> None:
    """Compute `y = (x - mean) / (deviation + eps)`, deviation the root of the mean square."""
    x, out = call.x, call.out
    axes = axes_of(call.node.integers("axes"), x.ndim)
    np.subtract(x, x.mean(axis=axes, keepdims=True), out=out)
    squares = call.workspace.take("squares", x.shape, x.dtype)
    deviation = np.sqrt(np.multiply(out, out, out=squares).mean(axis=axes, keepdims=True))
    np.divide(out, deviation + x.dtype.type(call.node.number("eps")), out=out)


_LOWEST = np.finfo(np.float32).min
"""What a masked element counts as."""


def _types(node: NodeView) -> tuple[TensorFacts, ...]:
    x, mask = node.x, node.required(1)
    require_float(x)
    node.expect("fixed_triu_mask", allowed=False)
    if not x.rank:
        raise NodeError(Text("x must have an axis, found {found}", found=x))
    if mask.dtype is not DType.BOOL:
        raise NodeError(Text("mask must be bool, found {found}", found=mask.dtype.value))
    if broadcast_dims(x.shape, mask.shape) != x.shape:
        raise NodeError(Text("mask must be broadcast to {x}, found {found}", x=x, found=mask))
    return (x,)


@bound_kernel("ScaledMaskedSoftmax", _types, in_place=True)
def scaled_masked_softmax(call: Call) -> Launch:
    """Compute `y = exp(v - m) / sum of exp(v - m)` along the last axis, with m the largest v.

    `v = x * scale`, and the lowest finite float32 where the mask is true: whatever x holds there
    counts for nothing, a row with any other element above it gives its masked ones 0, and a row
    that is masked as a whole gives all of them the same share.
    """
    x, out = call.x, call.out
    masked = np.broadcast_to(call.input(1), x.shape)
    scale = x.dtype.type(call.node.number("scale"))
    return sequence(
        [
            partial(np.multiply, x, scale, out),
            partial(np.copyto, out, _LOWEST, where=masked),
            softmaxing(out, out, (x.ndim - 1,)),
        ]
    )


_REDUCTIONS = ("none", "sum", "mean")
_CLASSES = 1
"""The axis of scores that runs over classes."""


def _loss_types(node: NodeView) -> tuple[TensorFacts, ...]:
    scores, labels, weights = node.x, node.required(1), node.input(2)
    require_float(scores)
    if scores.rank <= _CLASSES:
        raise NodeError(Text("scores must have an axis of classes, found {found}", found=scores))
    wanted = scores.shape[:_CLASSES] + scores.shape[_CLASSES + 1 :]
    if not labels.dtype.is_integer or labels.shape != wanted:
        text = Text("labels must be integers of shape {wanted}, found {found}")
        raise NodeError(text.with_values(wanted=list(wanted), found=labels))
    classes = scores.shape[_CLASSES : _CLASSES + 1]
    if weights is not None and (weights.shape != classes or weights.dtype is not scores.dtype):
        text = Text("weights must be like scores of shape {shape}, found {found}")
        raise NodeError(text.with_values(shape=list(classes), found=weights))
    reduction = node.text("reduction")
    if reduction not in _REDUCTIONS:
        text = Text("reduction must be one of {known}, found {found}")
        raise NodeError(text.with_values(known=", ".join(_REDUCTIONS), found=repr(reduction)))
    loss = wanted if reduction == "none" else ()
    return (TensorFacts(scores.dtype, loss), scores)


@kernel("SoftmaxCrossEntropyLoss", _loss_types)
def softmax_cross_entropy_loss(call: Call) -> None:
    """Compute `-log_prop[label] * weights[label]`, reduced, and `log_prop`, the log of the softmax.

    A label that is ignore_index or no class counts for nothing: 0 is its loss, and its weight.
    """
    x, logs = call.x, call.outputs[1]
    np.subtract(x, x.max(axis=_CLASSES, keepdims=True, initial=-np.inf), out=logs)
    powers = np.exp(logs, out=call.workspace.take("powers", x.shape, x.dtype))
    np.subtract(logs, np.log(powers.sum(axis=_CLASSES, keepdims=True)), out=logs)
    classes = logs.shape[_CLASSES]
    labels = call.input(1)
    counts = (labels != call.node.integer("ignore_index")) & (labels >= 0) & (labels < classes)
    places = np.where(counts, labels, 0).astype(np.intp)
    weights = call.optional(2)
    shares = counts.astype(logs.dtype)
    if weights is not None and classes:
        shares *= weights[places]
    losses = np.zeros_like(shares)
    if classes:
        picked = np.take_along_axis(logs, np.expand_dims(places, _CLASSES), _CLASSES)
        np.multiply(-picked.reshape(losses.shape), shares, out=losses, where=counts)
    reduction = call.node.text("reduction")
    if reduction == "none":
        np.copyto(call.out, losses)
        return
    np.copyto(call.out, losses.sum())
    if reduction == "mean":
        np.divide(call.out, shares.sum(), out=call.out)
