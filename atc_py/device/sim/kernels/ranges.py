"""Numbers counted up in steps."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, kernel
from atc_py.device.sim.typing_rules import one_dtype
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.text import Text


def _range_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """A vector in the inputs' dtype, of the declared length, which the run must keep."""
    one_dtype(node.present)
    for position, name in enumerate(("start", "limit", "delta")):
        if node.required(position).elements != 1:
            text = Text("{name} must be one element, found {found}")
            raise NodeError(text.with_values(name=name, found=node.required(position)))
    if node.outputs[0].rank != 1:
        raise NodeError(Text("the result must be a vector, found {found}", found=node.outputs[0]))
    return (TensorFacts(node.x.dtype, node.outputs[0].dims),)


def _counted(call: Call) -> tuple[NDArray[Any], ...]:
    """The numbers of `count_up`, however many there are."""
    _range_types(call.node)
    length = _length(call)
    text = Text("the range of {n} numbers", n=length)
    call.workspace.require(length * call.x.dtype.itemsize, text)
    out = np.empty(length, call.x.dtype)
    _count(call, out)
    return (out,)


@kernel("Range", _range_types, results=_counted)
def count_up(call: Call) -> None:
    """Compute `y[i] = start + i * delta`, with max(ceil((limit - start) / delta), 0) elements.

    Raises:
        ValueError: that is not the number of elements that the model declares.
    """
    length = _length(call)
    if length != call.out.size:
        text = Text("the range has {n} elements, the model says {declared}")
        raise ValueError(text.with_values(n=length, declared=call.out.size))
    _count(call, call.out)


def _length(call: Call) -> int:
    """Count elements; Python's integers do not overflow, and its floats are wide enough."""
    start, limit, delta = (call.input(position).reshape(-1)[0].item() for position in range(3))
    if delta == 0:
        raise NodeError(Text("delta must not be 0"))
    steps = -((start - limit) // delta)
    if not math.isfinite(steps):
        text = Text("there is no range from {start} to {limit} by {delta}")
        raise NodeError(text.with_values(start=start, limit=limit, delta=delta))
    return max(int(steps), 0)


def _count(call: Call, out: NDArray[Any]) -> None:
    """Fill `out`."""
    start, delta = (call.input(position).reshape(-1)[0] for position in (0, 2))
    np.multiply(np.arange(out.size, dtype=out.dtype), delta, out=out)
    np.add(out, start, out=out)
