"""Inference of a large graph from pieces of it: nodes of one kind have results of one type.

What onnx finds of a node follows from what the node states, from the types of its inputs, and from
the values of small constants, as long as it knows no values of what nodes compute. So onnx is asked
about a piece of the graph wherever the first node of a kind stands, which spares it most of a graph
with layers.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeAlias

from atc_py.diag import AtcError
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode, ValueType
from atc_py.onnx_graph.reading.tensors import element_of_dtype
from atc_py.onnx_graph.typing.inference_model import BLIND_TO_FLOATS, SMALL
from atc_py.system.structs import replace
from atc_py.tensor.shapes import element_count

PIECE = 1000
"""Nodes that onnx is asked about at a time."""

_OF_SHAPES = frozenset({"Shape", "Size"})
"""Operators whose results onnx knows by value, and follows from there on."""

_Types: TypeAlias = Mapping[str, ValueType]


def infer_by_kind(
    graph: OnnxGraph, infer: Callable[[OnnxGraph], _Types]
) -> dict[str, ValueType] | None:
    """The types of all values; None where only inference of the whole graph tells them.

    `infer` is asked about pieces of the graph. All types must be closed.
    """
    given = (*graph.inputs, *graph.consts)
    made = [name for node in graph.nodes for name in node.output_names]
    if len({*given, *made}) < len(given) + len(made):
        return None  # a value of several sources, or one that is left out
    at = 0
    try:
        kinds = _Kinds(graph)
        while at < len(graph.nodes):
            if kinds.knows(graph.nodes[at]):
                at += 1
            else:
                kinds.learn(graph.nodes[at : at + PIECE], infer)
                at += PIECE
    except (AtcError, LookupError):
        return None
    return kinds.types


class _Kinds:
    """The kinds of nodes that are known, and the types of values so far."""

    def __init__(self, graph: OnnxGraph) -> None:
        self.types: dict[str, ValueType] = {}
        self._graph = graph
        self._numbers: dict[ValueType, int] = {}
        self._labels: dict[str, Hashable] = {"": None}
        self._results: dict[Hashable, list[ValueType]] = {}
        self._floats: set[str] = set()  # small constants of floats
        for name, known in graph.inputs.items():
            self._add(name, known)
        for name, const in graph.consts.items():
            self._labels[name] = self._number(ValueType(element_of_dtype(const.dtype), const.shape))
            if element_count(const.shape) > SMALL:
                continue
            if const.dtype.is_float:
                self._floats.add(name)
            else:
                self._labels[name] = const.dtype, const.shape, const.numpy().tobytes()

    def knows(self, node: OnnxNode) -> bool:
        """True if a node is of a known kind; its results then have types."""
        found = self._results.get(self._key(node))
        if found is None:
            return False
        for name, known in zip(node.output_names, found, strict=True):
            self.types[name] = known
            self._labels[name] = self._numbers[known]
        return True

    def learn(self, nodes: Sequence[OnnxNode], infer: Callable[[OnnxGraph], _Types]) -> None:
        """Infer some nodes, and keep their kinds; LookupError if that takes the whole graph."""
        consts = self._graph.consts
        if not all(map(self._is_local, nodes)):
            raise LookupError
        made = {name for node in nodes for name in node.output_names}
        read = {name for node in nodes for name in node.input_names if name} - made
        piece = replace(
            self._graph,
            nodes=list(nodes),
            inputs={name: self.types[name] for name in read if name not in consts},
            outputs=(),
            consts={name: consts[name] for name in read if name in consts},
            types={},
        )
        types = infer(piece)
        for node in nodes:
            key, found = self._key(node), [types[name] for name in node.output_names]
            for name, known in zip(node.output_names, found, strict=True):
                self._add(name, known)
            if key is not None:
                self._results[key] = found

    def _key(self, node: OnnxNode) -> Hashable:
        """The key that nodes of one kind share; None for a node that is of a kind of its own."""
        if node.op_type not in BLIND_TO_FLOATS and not self._floats.isdisjoint(node.input_names):
            return None
        read = [self._labels[name] for name in node.input_names]
        return node.stated, node.opset, len(node.output_names), *read

    def _is_local(self, node: OnnxNode) -> bool:
        """True if onnx needs no more of a graph than the types of what a node reads."""
        return (
            bool(node.stated)
            and not node.captured
            and node.op_type not in _OF_SHAPES
            and node.schema is not None
            and not all(name in self._graph.consts for name in node.input_names)
        )

    def _add(self, name: str, known: ValueType) -> None:
        if not known.element or known.shape is None:
            raise LookupError(name)
        self.types[name] = known
        self._labels[name] = self._number(known)

    def _number(self, known: ValueType) -> int:
        return self._numbers.setdefault(known, len(self._numbers))
