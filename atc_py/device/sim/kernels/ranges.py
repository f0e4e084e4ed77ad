"""Numbers counted up in steps."""

from __future__ import annotations

import numpy as np

from atc_py.device.sim.kernel import Call, kernel
from atc_py.device.sim.node import NodeError, NodeFacts, TensorFacts
from atc_py.device.sim.typing_rules import one_dtype

__all__: list[str] = []


def _range_types(node: NodeFacts) -> tuple[TensorFacts, ...]:
    """A vector in the inputs' dtype, as long as the model declares; the run holds it to that."""
    one_dtype(node.present)
    for position, name in enumerate(("start", "limit", "delta")):
        if node.required(position).elements != 1:
            raise NodeError(f"{name} must be one element, found {node.required(position)}")
    if node.outputs[0].rank != 1:
        raise NodeError(f"the result must be a vector, found {node.outputs[0]}")
    return (TensorFacts(node.x.dtype, node.outputs[0].shape),)


@kernel("Range", _range_types)
def count_up(call: Call) -> None:
    """`y[i] = start + i * delta`, with max(ceil((limit - start) / delta), 0) elements.

    Raises:
        ValueError: that is not the number of elements that the model declares.
    """
    start, limit, delta = (call.input(position).reshape(-1)[0] for position in range(3))
    if delta == 0:
        raise ValueError("delta must not be 0")
    # Python's integers do not overflow, and its floats are wide enough for the quotient.
    steps = -((start.item() - limit.item()) // delta.item())
    if max(steps, 0) != call.out.size:
        found = f"{max(steps, 0):.0f}"
        raise ValueError(f"the range has {found} elements, the model says {call.out.size}")
    np.multiply(np.arange(call.out.size, dtype=call.out.dtype), delta, out=call.out)
    np.add(call.out, start, out=call.out)
