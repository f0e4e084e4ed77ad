"""Normalization of rows by statistics of their own: LayerNorm, InstanceNorm, GroupNorm and RmsNorm.

All compute in float32 where the operands are float16 or bfloat16, and are rounded once.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.execution.parallel import ELEMENTS_AT_ONCE
from atc_py.device.sim.kernel import (
    Call,
    Launch,
    bound_kernel,
    kernel,
    sequence,
    split_among_workers,
)
from atc_py.device.sim.primitives.blocks import ROWS_TOGETHER, summing, with_row
from atc_py.device.sim.typing_rules import axes_of, one_dtype, require_float, require_per_channel
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import element_count
from atc_py.text import Text

Rows = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], list[Launch]]
"""Launches that fill rows of results from rows of x, in scratch memory of the same shape."""


def _hold_parameters(node: NodeView, axis: int, names: tuple[str, ...]) -> None:
    require_float(node.x)
    for position, name in enumerate(names, start=1):
        facts = node.required(position)
        if not facts.rank or facts.shape != node.x.shape[axis:]:
            wanted = list(node.x.shape[axis:])
            text = Text("{name} must have shape {shape}, found {found}")
            raise NodeError(text.with_values(name=name, shape=wanted, found=facts))


def _bind(call: Call, formula: Callable[..., Launch]) -> Launch:
    """The launch of `formula` for the call and its parameters in rows.

    The result may reuse the memory of a parameter that the device computes and that has the
    dims of x; such a one is copied in every launch.
    """
    rows = [parameter.reshape(-1) for parameter in call.present[1:]]
    if any(np.may_share_memory(row, call.out) for row in rows):
        return lambda: formula(call, *(row.copy() for row in rows))()  # noqa: PLW0108  (anew)
    return formula(call, *rows)


def _layer_norm_types(node: NodeView) -> tuple[TensorFacts, ...]:
    first, parameters = node.integer("begin_norm_axis"), node.integer("begin_params_axis")
    (axis,) = axes_of((first,), node.x.rank)
    if axes_of((parameters,), node.x.rank) != (axis,):
        text = Text("begin_params_axis must be begin_norm_axis, found {found}, {norm}")
        raise NodeError(text.with_values(found=parameters, norm=first))
    _hold_parameters(node, axis, ("gamma", "beta"))
    gamma = node.required(1)
    one_dtype(node.present if gamma.dtype is not DType.FLOAT32 else node.present[1:])
    row = (*node.x.shape[:axis], *(1,) * (node.x.rank - axis))
    return (node.x, *(TensorFacts(gamma.dtype, row) for _ in node.outputs[1:]))


def _layer_norm(call: Call, gamma: NDArray[Any], beta: NDArray[Any]) -> Launch:
    epsilon = call.node.number("epsilon")
    if len(call.outputs) > 1:
        return partial(_with_statistics, call, gamma, beta)

    def rows(x: NDArray[Any], out: NDArray[Any], scratch: NDArray[Any]) -> list[Launch]:
        means = np.empty((len(x), 1), x.dtype)
        return [
            *_means(x, means),
            partial(np.subtract, x, means, out),
            *_scaling(out, scratch, epsilon, out),
            with_row(np.multiply, out, gamma, is_fixed=call.fixed >= {1}),
            with_row(np.add, out, beta, is_fixed=call.fixed >= {2}),
        ]

    return _by_rows(call, rows)


def _with_statistics(call: Call, gamma: NDArray[Any], beta: NDArray[Any]) -> None:
    if not call.x.size:
        return
    x, out = (each.reshape(-1, gamma.size) for each in (call.x, call.out))
    squares = call.workspace.take("rows", x.shape, x.dtype)
    means, variances = np.empty((2, len(x), 1), x.dtype)
    sequence(_means(x, means))()
    np.subtract(x, means, out=out)
    sequence(_means(np.multiply(out, out, out=squares), variances))()
    for output, found in zip(call.outputs[1:], (means, variances), strict=False):
        np.copyto(output, found.reshape(output.shape))
    np.divide(out, np.sqrt(variances + gamma.dtype.type(call.node.number("epsilon"))), out=out)
    np.multiply(out, gamma, out=out)
    np.add(out, beta, out=out)


@bound_kernel("LayerNorm", _layer_norm_types, in_place=True, finishes=True)
def layer_norm(call: Call) -> Launch:
    """Compute `y = (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * gamma + beta`, row by row."""
    return _bind(call, _layer_norm)


_CHANNEL_AXES = 2
"""Axes that InstanceNorm keeps: image and channel."""


def _instance_norm_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    one_dtype(node.present)
    if node.op == "InstanceNorm":
        node.expect("data_format", "NCHW")
    if node.x.rank < _CHANNEL_AXES:
        raise NodeError(Text("x must have a channel axis, found {found}", found=node.x))
    require_per_channel(node, ("gamma", "beta"))
    return (node.x,)


def _group_norm_types(node: NodeView) -> tuple[TensorFacts, ...]:
    types, groups = _instance_norm_types(node), node.integer("num_groups")
    if groups < 1 or node.x.shape[1] % groups:
        text = Text("num_groups must divide {channels} channels, found {found}")
        raise NodeError(text.with_values(channels=node.x.shape[1], found=groups))
    return types


@kernel("GroupNorm", _group_norm_types, in_place=True)
@kernel("InstanceNorm", _instance_norm_types, in_place=True)
def instance_norm(call: Call) -> None:
    """Compute `y = (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * gamma + beta` by channel.

    A mean is that of one channel, or one group of channels, of one image.
    """
    if call.node.op == "GroupNorm":
        groups, epsilon = call.node.integer("num_groups"), call.node.number("eps")
    else:
        groups, epsilon = call.x.shape[1], call.node.number("epsilon")
    if not call.x.size:
        return
    images, channels = call.x.shape[:_CHANNEL_AXES]
    gamma, beta = (np.array(call.input(at)).reshape(channels, 1) for at in (1, 2))
    x, out = (each.reshape(images * groups, -1) for each in (call.x, call.out))
    squares = call.workspace.take("squares", x.shape, x.dtype)
    means = np.empty((len(x), 1), x.dtype)
    sequence(_means(x, means))()
    np.subtract(x, means, out=out)
    sequence(_scaling(out, squares, epsilon, out))()
    by_channel = call.out.reshape(images, channels, -1)
    np.multiply(by_channel, gamma, out=by_channel)
    np.add(by_channel, beta, out=by_channel)


def _rms_norm_types(node: NodeView) -> tuple[TensorFacts, ...]:
    rank = node.required(1).rank
    one_dtype(node.present)
    _hold_parameters(node, node.x.rank - rank, ("gamma",))
    return (node.x,)


def _rms_norm(call: Call, gamma: NDArray[Any]) -> Launch:
    epsilon = call.node.number("epsilon")

    def rows(x: NDArray[Any], out: NDArray[Any], scratch: NDArray[Any]) -> list[Launch]:
        by_gamma = with_row(np.multiply, out, gamma, is_fixed=call.fixed >= {1})
        return [*_scaling(x, scratch, epsilon, out), by_gamma]

    return _by_rows(call, rows)


@bound_kernel("RmsNorm", _rms_norm_types, in_place=True, finishes=True)
def rms_norm(call: Call) -> Launch:
    """Compute `y = x / sqrt(mean(x^2) + epsilon) * gamma`, row by row."""
    return _bind(call, _rms_norm)


def _scaling(
    x: NDArray[Any], scratch: NDArray[Any], epsilon: float, out: NDArray[Any]
) -> list[Launch]:
    """Launches of `x / sqrt(mean(x^2) + epsilon)`."""
    roots = np.empty((len(x), 1), x.dtype)
    return [
        partial(np.multiply, x, x, scratch),
        *_means(scratch, roots),
        partial(np.add, roots, np.array(epsilon, x.dtype), roots),
        partial(np.sqrt, roots, roots),
        partial(np.divide, x, roots, out),
    ]


def _means(rows: NDArray[Any], means: NDArray[Any]) -> list[Launch]:
    count = np.array(rows.shape[1], rows.dtype)
    return [summing(rows, means), partial(np.divide, means, count, means)]


def _by_rows(call: Call, formula: Rows) -> Launch:
    """A launch of `formula(x, out, scratch)` on blocks of rows as long as input 1."""
    length = element_count(call.input(1).shape)
    source, target = call.x.reshape(-1, length), call.out.reshape(-1, length)
    some = max(1, ELEMENTS_AT_ONCE // length)
    if some > ROWS_TOGETHER:
        some -= some % ROWS_TOGETHER
    blocks = max(1, len(source) // some)

    def block(number: int) -> Launch:
        here = slice(number * some, len(source) if number == blocks - 1 else (number + 1) * some)
        values = target[here]
        scratch = call.workspace.take("rows", values.shape, source.dtype)
        launches = formula(source[here], values, scratch)
        if call.finishing is not None:
            launches.append(call.finishing(values, (target.shape, (here,))))
        return sequence(launches)

    return split_among_workers(
        call.workers, blocks, lambda start, stop: sequence([*map(block, range(start, stop))])
    )
