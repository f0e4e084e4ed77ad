"""Neighbors of a node: what makes and what reads its values, for rules that replace a chain of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atc_py.source import SourceModel, SourceNode

__all__ = ["Neighbors"]


class Neighbors:
    """The makers and readers of the values of one model, while one round of rules is applied.

    Attributes:
        taken: nodes that a rule replaces along with another one.
    """

    def __init__(self, model: SourceModel) -> None:
        self.taken: set[SourceNode] = set()
        self._makers: dict[str, SourceNode] = {}
        self._readers: dict[str, list[SourceNode]] = {}
        self._results = {each.name for each in model.outputs}
        for node in model.nodes:
            for written in node.outputs:
                if written is not None:
                    self._makers[written.name] = node
            for read in node.reads:
                self._readers.setdefault(read.name, []).append(node)

    def maker(self, name: str) -> SourceNode | None:
        """Return the node that makes a value; None for inputs and constants."""
        return self._makers.get(name)

    def reader(self, name: str) -> SourceNode | None:
        """Return the only reader of a value.

        It is None if others read the value too, the model returns it, or the node is replaced already.
        """
        found = self._readers.get(name, [])
        if len(found) != 1 or name in self._results or found[0] in self.taken:
            return None
        return found[0]
