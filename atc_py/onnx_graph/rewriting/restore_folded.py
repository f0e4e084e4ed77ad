"""Restoring nodes of the file that were folded while its graph was rewritten.

A rewrite may fold constants to know the graph as far as it can be. A file that is written from it
should differ from the one that was read where the rewrite changed it, and nowhere else.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from atc_py.onnx_graph.folding.graph import WorkGraph, WorkNode
from atc_py.onnx_graph.reading.onnx_file import OnnxFile


@dataclass(frozen=True, slots=True)
class Unfolded:
    """Parts of a graph that are to be written.

    Attributes:
        nodes: producers first.
        constants: names of the constants that they, or the graph's outputs, read.
    """

    nodes: tuple[WorkNode, ...]
    constants: frozenset[str]


def unfolded(
    file: OnnxFile, graph: WorkGraph, gone: Collection[str] = (), replaced: Collection[str] = ()
) -> Unfolded:
    """The needed nodes of `graph`, with the folded nodes of `file` restored.

    A node of the file comes back if a constant of the graph is its result and everything that it
    reads exists. Otherwise the constant stays.

    Args:
        file: what the graph was made from.
        graph: the graph as it has been rewritten.
        gone: operators of ONNX's own domain that do not come back.
        replaced: results whose nodes do not come back, because they were written in another form.
    """
    graph.drop_dead_nodes()
    producers = {
        name: node
        for name, node in _producers(file, graph, gone).items()
        if set(node.writes).isdisjoint(replaced)
    }
    work = _Unfolding(graph, frozenset(_initializers(file)), producers)
    for node in graph.nodes:
        for name in node.reads:
            work.need(name)
        work.emit(node)
    for name in graph.outputs:
        work.need(name)
    return Unfolded(tuple(work.nodes), frozenset(work.constants))


def _initializers(file: OnnxFile) -> Iterator[str]:
    yield from file.contents.weights
    yield from file.contents.foreign


def _producers(file: OnnxFile, graph: WorkGraph, gone: Collection[str]) -> dict[str, WorkNode]:
    """The file's nodes that the graph no longer has, by the names of their results.

    Nodes whose results the graph computes in another way are not among them.
    """
    written = {name for node in graph.nodes for name in node.writes}
    return {
        name: node
        for node in file.nodes
        if (node.domain or node.op_type not in gone) and written.isdisjoint(node.writes)
        for name in node.writes
    }


@dataclass(slots=True)
class _Unfolding:
    """One walk over a graph."""

    graph: WorkGraph
    initializers: frozenset[str]
    producers: dict[str, WorkNode]
    nodes: list[WorkNode] = field(default_factory=list)
    constants: set[str] = field(default_factory=set)
    there: set[str] = field(default_factory=set)

    def emit(self, node: WorkNode) -> None:
        self.nodes.append(node)
        self.there.update(node.writes)

    def need(self, name: str) -> None:
        """Provide the value called `name`, if it is a constant."""
        if self._is_computed(name):
            return
        chain = self._chain(name)
        if chain is None:
            self.constants.add(name)
            return
        for node in chain:
            self.constants.update(read for read in node.reads if not self._is_computed(read))
            self.emit(node)

    def _chain(self, name: str) -> list[WorkNode] | None:
        """Nodes of the file that make a constant, producers first; None if one cannot."""
        if name not in self.producers or name in self.initializers:
            return None
        found: dict[WorkNode, None] = {}
        waiting = [(self.producers[name], False)]
        while waiting:
            node, is_ready = waiting.pop()
            if is_ready:
                found[node] = None
            elif node not in found:
                if not all(self._is_there(read) for read in node.reads):
                    return None
                waiting.append((node, True))
                waiting += [
                    (self.producers[read], False)
                    for read in node.reads
                    if not self._is_computed(read) and read in self.producers
                ]
        return list(found)

    def _is_computed(self, name: str) -> bool:
        """True if a value is there already, without a constant."""
        return name in self.there or name in self.graph.inputs

    def _is_there(self, name: str) -> bool:
        """True if a value is there, or may be."""
        known = name in self.initializers or name in self.graph.consts
        return known or self._is_computed(name) or name in self.producers
