"""Control flow: values that go one way or the other, and meet again."""

import numpy as np

from atc_py.device.sim.kernel import Call, Rounding, kernel
from atc_py.device.sim.typing_rules import one_dtype
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


def _switch_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The type of the data for both outputs; the condition is one truth value."""
    condition = node.required(1)
    if condition.dtype is not DType.BOOL or condition.elements != 1:
        raise NodeError(Text("pred must be one truth value, found {found}", found=condition))
    return (node.x, node.x)


def _open_way(call: Call) -> tuple[bool, ...]:
    holds = bool(call.input(1).reshape(-1)[0])
    return (not holds, holds)


@kernel("Switch", _switch_types, rounding=Rounding.ON_GRID, alias=True, gate=_open_way)
def switch(call: Call) -> None:
    """Pass the data on, on one of two ways."""


def _merge_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The type of the inputs, of one dtype and rank; dims that differ are open."""
    one_dtype(node.present)
    if len({facts.rank for facts in node.present}) != 1:
        text = Text("inputs must have the same rank, found {found}")
        raise NodeError(text.with_values(found=", ".join(map(str, node.present))))
    sides = zip(*(facts.dims for facts in node.present), strict=True)
    dims = tuple(side[0] if len(set(side)) == 1 else None for side in sides)
    return (TensorFacts(node.present[0].dtype, dims),)


@kernel("Merge", _merge_types, rounding=Rounding.ON_GRID, joins=True)
def merge(call: Call) -> None:
    """Pass on the input that is alive."""
    np.copyto(call.out, call.present[0])
