"""One application of a rule, kept so that both sides of it can be run: the node and what replaced it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.frontend.typing.known_type import known_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from atc_py.fix.ranges import Range, Ranges
    from atc_py.frontend.folding.graph import ValueType, WorkGraph, WorkNode
    from atc_py.ir import ConstData
    from atc_py.source import SourceNode

__all__ = ["RuleStep", "step_of"]


@dataclass(frozen=True, slots=True)
class RuleStep:
    """A node and the nodes that a rule wrote in its place, at the opset at which they stood.

    Attributes:
        origin: the node.
        chain: further nodes that it stood for, or that the new nodes compute again, producers first.
        written: the nodes that replaced it, producers first.
        opsets: imported version of each domain.
        types: types of the values that either side reads, and of the results, as far as known.
        ranges: bounds of the integers among the node's inputs and outputs.
        consts: the constants that either side reads.
    """

    origin: WorkNode
    written: tuple[WorkNode, ...]
    opsets: Mapping[str, int]
    types: Mapping[str, ValueType]
    ranges: Mapping[str, Range]
    consts: Mapping[str, ConstData]
    chain: tuple[WorkNode, ...] = ()

    @property
    def nodes(self) -> tuple[WorkNode, ...]:
        """The node and those of the chain."""
        return (self.origin, *self.chain)

    @property
    def reads(self) -> tuple[str, ...]:
        """The values that the nodes take from around them."""
        made = {name for node in self.nodes for name in node.writes}
        return tuple(dict.fromkeys(n for each in self.nodes for n in each.reads if n not in made))

    @property
    def writes(self) -> tuple[str, ...]:
        """The results that others read: those of the last node."""
        return tuple(self.nodes[-1].writes)


def step_of(
    graph: WorkGraph,
    nodes: Sequence[WorkNode],
    node: SourceNode,
    written: Sequence[WorkNode],
    ranges: Ranges,
) -> RuleStep:
    """Return the step that put `written` in place of `nodes`.

    Args:
        graph: the graph with the constants of the new nodes.
        nodes: the node, and those of its chain.
        node: the first as a source node.
        written: the new nodes.
        ranges: of the model as it was before.
    """
    reads = dict.fromkeys(name for each in (*nodes, *written) for name in each.reads)
    names = (*reads, *(name for each in nodes for name in each.writes))
    types = {name: known for name in names if (known := known_type(graph, name)) is not None}
    tensors = (each for each in (*node.inputs, *node.outputs) if each is not None)
    bounds = {each.name: found for each in tensors if (found := ranges.of(each)) is not None}
    consts = {name: graph.consts[name] for name in reads if name in graph.consts}
    opsets = dict(graph.opsets)
    return RuleStep(nodes[0], tuple(written), opsets, types, bounds, consts, tuple(nodes[1:]))
