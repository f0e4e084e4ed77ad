"""Graphs of a real model while they are imported: what their ops computed, and what they pass on.

A graph that an op runs reads the op's operands by its Data, and gives the op's results by its
NetOutput; both say by `_parent_node_index` which. Such graphs become part of the one that runs them.
"""

from collections.abc import Iterator

from atc_py.ir import Value
from atc_py.package.ge.graph import CONTROL, GeEdge, GeGraph, GeOp
from atc_py.package.ge.model import INPUT_OPS, OUTPUT_OPS
from atc_py.pipeline.huawei.tensors import NotModeledError
from atc_py.text import Text

_PARENT = "_parent_node_index"
_MOST_STEPS = 1000
"""Graphs that a value may be passed through; more are those of a file that is damaged."""


class NeededError(NotModeledError):
    """An op needs the result of one that is missing itself."""


class GraphScope:
    """A graph of the file.

    Attributes:
        values: results of its ops.
        absent: the ops that nothing computes.
    """

    def __init__(self, graph: GeGraph) -> None:
        self.graph = graph
        self.values: dict[GeEdge, Value] = {}
        self.absent: set[str] = set()
        self._passed: dict[GeEdge, tuple[GraphScope, GeEdge]] = {}

    def origin_of(self, edge: GeEdge) -> tuple["GraphScope", GeEdge]:
        """The graph whose op computes a value, and the value there."""
        scope = self
        for _ in range(_MOST_STEPS):
            passed = scope._passed.get(edge)
            if passed is None:
                return scope, edge
            scope, edge = passed
        raise NotModeledError(Text("its graphs pass a value around in a cycle"))

    def called(self, op: GeOp, graph: GeGraph, first: int) -> "GraphScope":
        """The scope of a graph that an op of this one runs.

        `first` is the operand that is the graph's first one.
        """
        inner = GraphScope(graph)
        edges = operand_edges(op)
        for at, data in parameters(graph):
            if 0 <= at + first < len(edges) and (edge := edges[at + first]) is not None:
                inner._passed[GeEdge(data.name, 0)] = self, edge
        for output in graph.ops:
            if output.type in OUTPUT_OPS:
                for position, operand in enumerate(output.operands()):
                    if operand.edge is not None:
                        at = operand.desc.attributes.number(_PARENT, position)
                        self._passed[GeEdge(op.name, at)] = inner, operand.edge
        return inner


def operand_edges(op: GeOp) -> list[GeEdge | None]:
    """The inputs of an op that carry tensors, by position."""
    return [edge for edge in op.edges if edge is None or edge.output != CONTROL]


def parameters(graph: GeGraph) -> Iterator[tuple[int, GeOp]]:
    """The inputs of a graph that an op runs, with their positions among those of the op."""
    for op in graph.ops:
        if op.type in INPUT_OPS:
            yield op.attributes.number(_PARENT, op.attributes.number("index")), op
