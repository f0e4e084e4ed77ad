"""Work along one axis that keeps it: running sums, and the largest elements in order."""

import numpy as np

from atc_py.device.sim.kernel import Call, Rounding, kernel
from atc_py.device.sim.typing_rules import axes_of, require_float, require_number
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


def _cumsum_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_number(node.x)
    axes_of((node.integer("axis"),), node.x.rank)
    return (node.x,)


def _running_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_number(node.x)
    axis = node.required(1)
    if axis.elements != 1 or not axis.dtype.is_integer:
        raise NodeError(Text("axis must be one integer, found {found}", found=axis))
    return (node.x,)


@kernel("CumsumD", _cumsum_types)
def cumsum(call: Call) -> None:
    """Compute Cumsum along the axis of the attribute."""
    _accumulate(call, call.node.integer("axis"))


@kernel("Cumsum", _running_types)
def running_sum(call: Call) -> None:
    """Compute `y[i]` = sum of x[j] for j <= i; integers wrap around.

    `exclusive` leaves x[i] itself out, `reverse` sums from the back.
    """
    (axis,) = axes_of((int(call.input(1).reshape(-1)[0]),), call.x.ndim)
    _accumulate(call, axis)


def _accumulate(call: Call, axis: int) -> None:
    """Sum along `axis` of views whose first axis that is."""
    x, out = np.moveaxis(call.x, axis, 0), np.moveaxis(call.out, axis, 0)
    if call.node.flag("reverse"):
        x, out = x[::-1], out[::-1]
    if call.node.flag("exclusive"):
        out[:1] = 0
        x, out = x[:-1], out[1:]
    np.add.accumulate(x, axis=0, dtype=out.dtype, out=out)


def _top_k_types(node: NodeView) -> tuple[TensorFacts, ...]:
    numbers = node.numbers_of(1, "k")
    if numbers.size != 1:
        raise NodeError(Text("k must be one number, found {found}", found=node.required(1)))
    return _ranked_types(node, int(numbers.reshape(-1)[0]))


def _top_k_d_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The same, along the last axis; the ramp of places is there, and not read."""
    if node.integer("dim") not in {-1, node.x.rank - 1}:
        raise NodeError(Text("dim must be the last, found {found}", found=node.integer("dim")))
    node.required(1)
    return _ranked_types(node, node.integer("k"))


def _ranked_types(node: NodeView, k: int) -> tuple[TensorFacts, ...]:
    x = node.x
    require_float(x)
    (axis,) = axes_of((node.integer("dim"),), x.rank)
    if not 0 <= k <= x.shape[axis]:
        text = Text("k must be in [0, {dim}], found {found}")
        raise NodeError(text.with_values(dim=x.shape[axis], found=k))
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return TensorFacts(x.dtype, shape), TensorFacts(DType.INT32, shape)


_ORDERED = 24
"""Bytes of numpy's arrays for an element that is brought into order."""


@kernel("TopK", _top_k_types, rounding=Rounding.ON_GRID)
@kernel("TopKD", _top_k_d_types, rounding=Rounding.ON_GRID)
def top_k(call: Call) -> None:
    """Find the first k elements in falling or rising order, and their positions.

    NaN is larger than all numbers. Of equal elements, and of several NaN, the one in front comes
    first. They are ordered whether `sorted` asks for it or not.
    """
    call.require_scratch(_ORDERED * call.x.size + 2 * sum(each.nbytes for each in call.outputs))
    axis, largest = call.node.integer("dim"), call.node.flag("largest")
    k, x = call.out.shape[axis], np.moveaxis(call.x, axis, -1)
    if largest:  # rising order from the back, read backwards, keeps equal elements in their order
        reverse = np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        order = x.shape[-1] - 1 - reverse[..., :k]
    else:
        order = np.argsort(x, axis=-1, kind="stable")[..., :k]
    chosen = np.moveaxis(order, -1, axis)
    np.copyto(call.out, np.take_along_axis(call.x, chosen, axis))
    np.copyto(call.outputs[1], chosen, casting="unsafe")
