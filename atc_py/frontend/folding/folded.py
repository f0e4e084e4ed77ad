"""A model with static inputs and folded constants, and its translation to a `SourceModel`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.diag import Place, Sink
from atc_py.diag.codes import BAD_MODEL, BAD_TENSOR, UNKNOWN_SHAPE
from atc_py.frontend.reading.attributes import read_attributes
from atc_py.frontend.reading.signatures import is_optional_output, type_contradiction
from atc_py.frontend.reading.tensors import (
    dtype_of_element,
    element_name,
    output_fault,
    size_complaint,
)
from atc_py.frontend.typing.infer import inference_complaint
from atc_py.source.model import SourceBranch, SourceModel, SourceNode, SourceValue
from atc_py.tensor.shapes import MAX_RANK

if TYPE_CHECKING:
    from atc_py.diag import Diagnostic
    from atc_py.frontend.folding.graph import ValueType, WorkGraph, WorkNode
    from atc_py.frontend.folding.if_branches import Branch, FoldedGraph
    from atc_py.frontend.reading.tensors import TensorReader
    from atc_py.source import BiasConvention, QuantizedNode
    from atc_py.tensor.dtypes import DType

__all__ = ["FoldedModel", "Translator"]


@dataclass(frozen=True, slots=True)
class FoldedModel:
    """A model after folding.

    Attributes:
        name: the graph's name.
        folded: what is left of it, with the branches of the If nodes that are left.
        tensors: reads the tensors of its nodes' attributes.
        file_nodes: number of nodes in the file's graph.
        weight_bytes: bytes of weights in the file.
        quantized: of a model that came quantized, what became of its layers.
        bias_convention: of a model whose layers are int8 already, how their biases are read.
    """

    name: str
    folded: FoldedGraph
    tensors: TensorReader
    file_nodes: int
    weight_bytes: int
    quantized: tuple[QuantizedNode, ...] = ()
    bias_convention: BiasConvention | None = None

    @property
    def graph(self) -> WorkGraph:
        """What is left of the graph."""
        return self.folded.graph

    def to_source(self) -> SourceModel:
        """The model with a dtype and a rank for every value; extents may be open.

        Raises:
            AtcError: with every finding: UNKNOWN_SHAPE for values of unknown rank, BAD_MODEL
                where shapes or types contradict each other or an attribute has no plain form,
                BAD_TENSOR for element types and ranks that are not supported, UNSUPPORTED_FORM
                for subgraphs other than the branches of If.
        """
        sink = Sink()
        translator = Translator(self.folded, self.tensors, sink)
        nodes = [translator.node(node) for node in self.graph.nodes]
        outputs = [translator.graph_output(name) for name in dict.fromkeys(self.graph.outputs)]
        inputs = [translator.value(name) for name in self.graph.inputs]
        sink.raise_errors()
        return SourceModel(
            path=self.graph.path,
            name=self.name,
            opsets=dict(self.graph.opsets),
            inputs=tuple(value for value in inputs if value),
            outputs=tuple(value for value in outputs if value),
            nodes=tuple(nodes),
            file_nodes=self.file_nodes,
            weight_bytes=self.weight_bytes,
        )


class Translator:
    """A maker of the values and nodes of one graph; what it cannot make, it reports.

    The translator of a branch has that of the graph around it make what the branch captures.
    """

    def __init__(
        self,
        folded: FoldedGraph,
        tensors: TensorReader,
        sink: Sink,
        outer: tuple[Translator, WorkNode] | None = None,
    ) -> None:
        self._graph = folded.graph
        self._branches = folded.branches
        self._tensors = tensors
        self._sink = sink
        self._used = self._graph.used_names()
        self._values: dict[str, SourceValue | None] = {}
        if outer is not None:
            around, node = outer
            self._values.update((name, around.value(name)) for name in node.captured)

    def node(self, node: WorkNode) -> SourceNode:
        """One node; its inputs come from nodes before it."""
        inputs = tuple(self.value(name) if name else None for name in node.inputs)
        attributes = read_attributes(node, self._tensors, self._sink)
        self._check_types(node, [value.dtype if value else None for value in inputs])
        known = all(self.value(name) for name in node.reads)
        outputs = [
            self._output(node, position, known=known) for position in range(len(node.outputs))
        ]
        while outputs and outputs[-1] is None:
            outputs.pop()
        return SourceNode(
            index=node.index,
            name=node.name,
            op_type=node.op_type,
            domain=node.domain,
            opset=node.opset,
            since_version=_since_version(node),
            inputs=inputs,
            outputs=tuple(outputs),
            attributes=attributes,
            branches={branch.name: self._branch(node, branch) for branch in self._inner(node)},
        )

    def _inner(self, node: WorkNode) -> tuple[Branch, ...]:
        """The branches of a node; none but an If has any."""
        return self._branches.get(node, ())

    def _branch(self, node: WorkNode, branch: Branch) -> SourceBranch:
        """A branch of a node."""
        inner = Translator(branch.folded, self._tensors, self._sink, (self, node))
        graph = branch.folded.graph
        nodes = tuple(inner.node(each) for each in graph.nodes)
        outputs = [inner.value(name) for name in graph.outputs]
        return SourceBranch(nodes, tuple(value for value in outputs if value is not None))

    def value(self, name: str) -> SourceValue | None:
        """The value called `name`; None where its type is not known or not supported."""
        if name not in self._values:
            self._values[name] = self._make_value(name)
        return self._values[name]

    def graph_output(self, name: str) -> SourceValue | None:
        """The value called `name`, which must be of the dtype that the file states."""
        value = self.value(name)
        fault = None if value is None else output_fault(self._graph, name, value.dtype)
        if fault is not None:
            self._sink.add(fault)
        return value

    def _check_types(self, node: WorkNode, dtypes: list[DType | None]) -> None:
        """Report inputs of different dtypes that ONNX binds to one type variable."""
        complaint = type_contradiction(node, dtypes)
        if complaint is not None:
            self._sink.add(BAD_MODEL.diagnostic(complaint, place=node.place))

    def _make_value(self, name: str) -> SourceValue | None:
        """A new value; a foreign constant is reported, an untyped result its producer reports."""
        const = self._graph.consts.get(name)
        if const is not None:
            return SourceValue(name, const.dtype, const.shape, const)
        foreign = self._graph.foreign.get(name)
        if foreign is not None:
            place = Place(file=str(self._graph.path), field=f"initializer {name!r}")
            message = f"the element type {element_name(foreign.element)} is not supported"
            self._sink.add(BAD_TENSOR.diagnostic(message, place=place))
            return None
        known = self._graph.types.get(name) or self._graph.inputs.get(name)
        dtype = dtype_of_element(known.element) if known else None
        if known is None or dtype is None or known.dims is None or len(known.dims) > MAX_RANK:
            return None
        if size_complaint(known.element, known.shape) is not None:
            return None
        return SourceValue(name, dtype, known.dims)

    def _output(self, node: WorkNode, position: int, *, known: bool) -> SourceValue | None:
        """An output of `node`; where it has no type although the inputs have, that is reported."""
        name = node.outputs[position]
        is_used = name in self._used
        if not name or (not is_used and is_optional_output(node, position)):
            return None
        value = self.value(name)
        # Loops have been reported as attributes.
        if value is None and known and is_used and (node.is_if or not node.holds_graphs):
            self._report(node, name)
        return value

    def _report(self, node: WorkNode, name: str) -> None:
        """Say why a value has no static type."""
        place = node.place
        found = self._graph.types.get(name)
        complaint = inference_complaint(self._graph, node)
        if complaint is not None:
            self._sink.add(BAD_MODEL.diagnostic(complaint, place=place))
        elif found and found.element and dtype_of_element(found.element) is None:
            message = (
                f"the element type {element_name(found.element)} of its output {name!r} "
                "is not supported"
            )
            self._sink.add(BAD_TENSOR.diagnostic(message, place=place))
        elif found and len(found.dims or ()) > MAX_RANK:
            rank = len(found.dims or ())
            message = f"tensors have at most {MAX_RANK} axes, its output {name!r} has {rank}"
            self._sink.add(BAD_TENSOR.diagnostic(message, place=place))
        elif found and (too_large := size_complaint(found.element, found.shape)) is not None:
            self._sink.add(BAD_TENSOR.diagnostic(too_large, place=place))
        else:
            self._sink.add(_unknown_shape(node, name, found))


def _unknown_shape(node: WorkNode, name: str, found: ValueType | None) -> Diagnostic:
    """The finding that the type of a node's output could not be worked out."""
    if found is None or not found.element:
        what = f"the element type and shape of its output {name!r} are not known"
    else:
        what = f"the number of axes of its output {name!r} is not known"
    if node.schema is not None:
        advice = "it depends on data that the node gets at run time; export fixed shapes"
    else:
        advice = "ONNX does not define this operator; state the type in the graph's value_info"
    return UNKNOWN_SHAPE.diagnostic(what, place=node.place, help=advice)


def _since_version(node: WorkNode) -> int:
    """Version of the definition in force; 1 where ONNX does not define the operator."""
    schema = node.schema
    return 1 if schema is None else schema.since_version
