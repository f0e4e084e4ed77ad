"""One application of a rule, kept so that both sides of it can be run: the node and what replaced it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from atc_py.fix.range_rules import Range
from atc_py.fix.ranges import Ranges
from atc_py.fix.surroundings import Maker
from atc_py.ir import ConstData
from atc_py.onnx_graph.folding.graph import ValueType, WorkGraph, WorkNode
from atc_py.onnx_graph.reading.tensors import known_type
from atc_py.onnx_graph.source import SourceNode

# Nodes before a node that a rule may look through; patterns have fewer.
_MOST_LOOKED_THROUGH = 16


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
        given: nodes before the node that the rule looked through, producers first.
    """

    origin: WorkNode
    written: tuple[WorkNode, ...]
    opsets: Mapping[str, int]
    types: Mapping[str, ValueType]
    ranges: Mapping[str, Range]
    consts: Mapping[str, ConstData]
    given: tuple[WorkNode, ...] = ()
    chain: tuple[WorkNode, ...] = ()

    @property
    def nodes(self) -> tuple[WorkNode, ...]:
        """The node, between those that the rule looked through and those of the chain."""
        return (*self.given, self.origin, *self.chain)

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
    given: Sequence[WorkNode] = (),
) -> RuleStep:
    """The step that put `written` in place of `nodes`.

    Args:
        graph: the graph with the constants of the new nodes.
        nodes: the node, and those of its chain.
        node: the first as a source node.
        written: the new nodes.
        ranges: of the model as it was before.
        given: nodes before the node that the rule looked through, producers first.
    """
    reads = dict.fromkeys(name for value in (*given, *nodes, *written) for name in value.reads)
    names = (*reads, *(name for each in nodes for name in each.writes))
    types = {name: known for name in names if (known := known_type(graph, name)) is not None}
    tensors = (value for value in (*node.inputs, *node.outputs) if value is not None)
    bounds = {tensor.name: found for tensor in tensors if (found := ranges.of(tensor)) is not None}
    consts = {name: graph.consts[name] for name in reads if name in graph.consts}
    opsets = dict(graph.opsets)
    return RuleStep(
        nodes[0], tuple(written), opsets, types, bounds, consts, tuple(given), tuple(nodes[1:])
    )


def nodes_looked_through(
    makers: Mapping[str, Maker],
    origin: WorkNode,
    written: Sequence[WorkNode],
    constants: Collection[str],
) -> list[WorkNode]:
    """The nodes before `origin` back to what the new nodes read, producers first.

    Args:
        makers: the origins of values.
        origin: the node that was replaced.
        written: the new nodes.
        constants: names of the constants.
    """
    read = {name for node in written for name in node.reads if name not in constants}
    own = {name for node in written for name in node.writes}
    if read <= {*origin.reads, *own}:
        return []
    found: dict[WorkNode, None] = {}

    def visit(names: Iterable[str]) -> None:
        for name in names:
            maker = None if name in read else makers.get(name)
            if maker is None or maker.work in found or len(found) >= _MOST_LOOKED_THROUGH:
                continue
            visit(maker.work.reads)
            found[maker.work] = None

    visit(origin.reads)
    return [*found]
