"""Readers of values, for rules that replace a chain of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from atc_py.frontend.folding.graph import WorkGraph, WorkNode
    from atc_py.source import SourceModel, SourceNode

__all__ = ["Readers", "ValueReader"]


class ValueReader(NamedTuple):
    """A node that reads a value.

    Attributes:
        node: the node.
        work: the same in the graph.
    """

    node: SourceNode
    work: WorkNode


class Readers:
    """The readers of the values of one model, while one round of rules is applied.

    Attributes:
        taken: nodes that a rule replaces along with another one.
    """

    def __init__(self, graph: WorkGraph, model: SourceModel) -> None:
        self.taken: set[SourceNode] = set()
        self._readers: dict[str, list[ValueReader]] = {}
        self._results = {each.name for each in model.outputs}
        for work, node in zip(graph.nodes, model.nodes, strict=True):
            for read in node.reads:
                self._readers.setdefault(read.name, []).append(ValueReader(node, work))

    def only(self, name: str) -> ValueReader | None:
        """Return the only reader of a value.

        It is None if others read the value too, the model returns it, or the node is replaced already.
        """
        found = self._readers.get(name, [])
        if len(found) != 1 or name in self._results or found[0].node in self.taken:
            return None
        return found[0]
