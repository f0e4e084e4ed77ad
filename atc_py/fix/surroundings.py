"""The graph around a node that a rule may replace, as far as rules ask for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from atc_py.onnx_graph.folding.graph import WorkGraph, WorkNode
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.source import SourceModel, SourceNode


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
        self._results = {tensor.name for tensor in model.outputs}
        for work, node in zip(graph.nodes, model.nodes, strict=True):
            for read in node.reads:
                self._readers.setdefault(read.name, []).append(ValueReader(node, work))

    def only(self, name: str) -> ValueReader | None:
        """The only reader of a value.

        It is None if others read the value too, the model returns it, or the node is replaced already.
        """
        found = self._readers.get(name, [])
        if len(found) != 1 or name in self._results or found[0].node in self.taken:
            return None
        return found[0]


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
        """The data of a constant; None for other values."""
        found = self.graph.consts.get(name)
        return None if found is None else found.numpy()


def makers_of(graph: WorkGraph, model: SourceModel) -> dict[str, Maker]:
    """The origins of the values of a model, whose nodes are those of `graph`, in order."""
    return {
        tensor.name: Maker(node, position, work)
        for work, node in zip(graph.nodes, model.nodes, strict=True)
        for position, tensor in enumerate(node.outputs)
        if tensor is not None
    }
