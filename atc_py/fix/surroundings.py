"""The graph around a node that a rule may replace, as far as rules ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from atc_py.frontend.folding.graph import WorkGraph
    from atc_py.frontend.reading.tensors import TensorReader
    from atc_py.source import SourceModel, SourceNode

__all__ = ["MOST_NODES", "Surroundings", "makers_of"]

MOST_NODES = 50_000
"""Nodes that a model may have after its loops are written out."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The graph around a node.

    Attributes:
        graph: the graph, whose constants are known.
        makers: the nodes by their outputs, with the position of the output.
        tensors: reads the tensors of attributes.
        room: number of nodes that may be added.
    """

    graph: WorkGraph
    makers: Mapping[str, tuple[SourceNode, int]]
    tensors: TensorReader
    room: int = MOST_NODES

    def known(self, name: str) -> NDArray[Any] | None:
        """Return the data of a constant; None for other values."""
        found = self.graph.consts.get(name)
        return None if found is None else found.numpy()


def makers_of(model: SourceModel) -> dict[str, tuple[SourceNode, int]]:
    """Return the nodes of a model by their outputs, with the position of the output."""
    return {
        tensor.name: (node, position)
        for node in model.nodes
        for position, tensor in enumerate(node.outputs)
        if tensor is not None
    }
