"""Says which rank-4 values are images: NCHW spreads from the operators that need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.ir import Phase
from atc_py.passes.base import Pass, PassContext
from atc_py.target import Unit, find_operator
from atc_py.tensor.formats import Format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from atc_py.ir import Graph, Node, Value

__all__ = ["AssignFormatsPass"]

_IMAGE_RANK = 4


class AssignFormatsPass(Pass):
    """NCHW for data and filters of operators with a data_format, spread over elementwise nodes.

    A value that is NCHW makes the rank-4 inputs and outputs of nodes that keep axes (casts,
    arithmetic, concatenation) NCHW too, in both directions, until nothing changes. All other
    values are ND.
    """

    name = "assign-formats"
    summary = "Marks image tensors NCHW and everything else ND."
    optional = False
    requires = Phase.TYPED
    ensures = Phase.LAID_OUT

    def run(self, graph: Graph, context: PassContext) -> int:
        """Mark values; returns how many are images."""
        marked: set[Value] = set()
        pending = [value for node in graph.nodes for value in _seeds(node)]
        while pending:
            value = pending.pop()
            if value in marked:
                continue
            marked.add(value)
            value.type = value.type.with_format(Format.NCHW)
            pending.extend(_neighbors(value))
        return len(marked)


def _seeds(node: Node) -> list[Value]:
    """Return the rank-4 values of a node whose operator says that they are images."""
    row = find_operator(node.op)
    if row is None or row.attribute("data_format") is None:
        return []
    return [value for value in (*node.present_inputs, *node.outputs) if _rank_4(value)]


def _neighbors(value: Value) -> Iterator[Value]:
    """Yield Rank-4 values that share axes with `value` through a node that keeps them."""
    nodes = [*value.consumers, *([value.producer] if value.producer is not None else [])]
    for node in nodes:
        if _keeps_axes(node):
            yield from (v for v in (*node.present_inputs, *node.outputs) if _rank_4(v))


def _keeps_axes(node: Node) -> bool:
    """Return True if axis i of each rank-4 operand means the same for all of them."""
    row = find_operator(node.op)
    if row is None or row.unit is Unit.LOCAL or row.unit is Unit.CUBE:
        return False
    return node.op != "TransposeD"


def _rank_4(value: Value) -> bool:
    """Return True if the value has the rank of an image."""
    return value.type.rank == _IMAGE_RANK
