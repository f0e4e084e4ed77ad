"""The graph around a node that a rule may replace, as far as rules ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from atc_py.fix.neighbors import Readers
    from atc_py.frontend.folding.graph import WorkGraph, WorkNode
    from atc_py.frontend.reading.tensors import TensorReader
    from atc_py.source import SourceModel, SourceNode

__all__ = ["MOST_NODES", "Maker", "Surroundings", "makers_of"]

MOST_NODES = 50_000
"""Nodes that a model may have after its loops are written out."""


class Maker(NamedTuple):
    """The origin of a value.

    Attributes:
        node: the node that makes it.
        position: its position among the node's outputs.
        work: the node with its graphs.
    """

    node: SourceNode
    position: int
    work: WorkNode


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The graph around a node.

    Attributes:
        graph: the graph, whose constants are known.
        makers: the origins of values, by name.
        tensors: reads the tensors of attributes.
        room: number of nodes that may be added.
        readers: the readers of values; None where single nodes alone are replaced.
        made_bytes: bytes of the constants that rules have made.
    """

    graph: WorkGraph
    makers: Mapping[str, Maker]
    tensors: TensorReader
    room: int = MOST_NODES
    readers: Readers | None = None
    made_bytes: int = 0

    def known(self, name: str) -> NDArray[Any] | None:
        """Return the data of a constant; None for other values."""
        found = self.graph.consts.get(name)
        return None if found is None else found.numpy()


def makers_of(graph: WorkGraph, model: SourceModel) -> dict[str, Maker]:
    """Return the origins of the values of a model, whose nodes are those of `graph`, in order."""
    return {
        tensor.name: Maker(node, position, work)
        for work, node in zip(graph.nodes, model.nodes, strict=True)
        for position, tensor in enumerate(node.outputs)
        if tensor is not None
    }
