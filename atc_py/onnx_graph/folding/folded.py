"""A model after folding: its source model, and the working graph that it was made from.

Some parts lowering rejects: values without static type, attributes without form.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from atc_py.diag import BAD_MODEL, BAD_TENSOR, UNKNOWN_SHAPE, Diagnostic, Place, Sink
from atc_py.onnx_graph.folding.fold import fold_graph
from atc_py.onnx_graph.graph import FoldedGraph, OnnxGraph, OnnxNode, ValueType
from atc_py.onnx_graph.reading.attributes import (
    is_optional_output,
    read_attributes,
    type_contradiction,
)
from atc_py.onnx_graph.reading.tensors import (
    TensorReader,
    dtype_of_element,
    element_name,
    output_fault,
    size_complaint,
)
from atc_py.onnx_graph.source import SourceModel
from atc_py.onnx_graph.typing.infer import inference_complaint
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import MAX_RANK
from atc_py.text import Text


class FoldedModel(msgspec.Struct, frozen=True):
    """A model after folding.

    Attributes:
        source: the model as far as it is known.
        folded: the working graph, with those of the branches of the If nodes that are left.
        tensors: reads the tensors of its nodes' attributes.
    """

    source: SourceModel
    folded: FoldedGraph
    tensors: TensorReader

    @property
    def graph(self) -> OnnxGraph:
        """The working graph without its branches."""
        return self.folded.graph

    def to_source(self) -> SourceModel:
        """The source model, every tensor of which has a dtype and a rank; dims may be open.

        Raises:
            AtcError: UNKNOWN_SHAPE for values of unknown rank, BAD_MODEL where shapes or types
                contradict each other or an attribute has no plain form, BAD_TENSOR for element
                types and ranks that are not supported, UNSUPPORTED_FORM for subgraphs other than
                the branches of If.
        """
        sink = Sink()
        search = _TypeSearch(self.folded, self.tensors, sink)
        for node in self.graph.nodes:
            search.node(node)
        for name in dict.fromkeys(self.graph.outputs):
            search.graph_output(name)
        for name in self.graph.inputs:
            search.dtype(name)
        sink.raise_errors()
        return self.source


def fold_with_branches(graph: OnnxGraph, tensors: TensorReader, limit: int) -> FoldedGraph:
    """Fold `graph` as far as it can be, with the branches of the If nodes that are left."""
    if any(node.is_if for node in graph.nodes):
        from atc_py.onnx_graph.folding.if_branches import fold_branches  # few models have any

        return fold_branches(graph, tensors, limit)
    faults = tuple(fold_graph(graph, tensors, limit))
    return FoldedGraph(graph, faults=faults, chosen=() if graph.always_runs else faults)


class _TypeSearch:
    """The search in one graph; that in a branch asks the one around it for what is captured."""

    def __init__(
        self,
        folded: FoldedGraph,
        tensors: TensorReader,
        sink: Sink,
        outer: tuple[_TypeSearch, OnnxNode] | None = None,
    ) -> None:
        self._graph: OnnxGraph = folded.graph
        self._branches = folded.branches
        self._tensors = tensors
        self._sink = sink
        self._used = self._graph.used_names()
        self._dtypes: dict[str, DType | None] = {}
        if outer is not None:
            around, node = outer
            self._dtypes.update((name, around.dtype(name)) for name in node.captured)

    def node(self, node: OnnxNode) -> None:
        """Report what is wrong with one node; its inputs come from nodes before it."""
        dtypes = [self.dtype(name) if name else None for name in node.inputs]
        read_attributes(node, self._tensors, self._sink)
        complaint = type_contradiction(node, dtypes)
        if complaint is not None:
            self._sink.add(BAD_MODEL.diagnostic(complaint, place=node.place))
        if all(self.dtype(name) is not None for name in node.reads):
            self._look_at_outputs(node)
        for branch in self._branches.get(node, ()):
            inner = _TypeSearch(branch.folded, self._tensors, self._sink, (self, node))
            for inner_node in branch.folded.graph.nodes:
                inner.node(inner_node)
            for name in branch.folded.graph.outputs:
                inner.dtype(name)

    def dtype(self, name: str) -> DType | None:
        """The dtype of the value called `name`; None where lowering cannot take its type."""
        if name not in self._dtypes:
            self._dtypes[name] = self._find_dtype(name)
        return self._dtypes[name]

    def graph_output(self, name: str) -> None:
        """Report an output of the graph that is not of the dtype that the file states."""
        dtype = self.dtype(name)
        fault = None if dtype is None else output_fault(self._graph, name, dtype)
        if fault is not None:
            self._sink.add(fault)

    def _find_dtype(self, name: str) -> DType | None:
        """Find a dtype; a foreign constant is reported, an untyped result by its producer."""
        const = self._graph.consts.get(name)
        if const is not None:
            return const.dtype
        foreign = self._graph.foreign.get(name)
        if foreign is not None:
            place = Place(
                file=str(self._graph.path), field=Text("initializer {name}", name=repr(name))
            )
            message = Text(
                "the element type {element} is not supported", element=element_name(foreign.element)
            )
            self._sink.add(BAD_TENSOR.diagnostic(message, place=place))
            return None
        known = self._graph.types.get(name) or self._graph.inputs.get(name)
        if known is None or known.dims is None or len(known.dims) > MAX_RANK:
            return None
        if size_complaint(known.element, known.shape) is not None:
            return None
        return dtype_of_element(known.element)

    def _look_at_outputs(self, node: OnnxNode) -> None:
        """Report outputs that have no type although the inputs have."""
        for position, name in enumerate(node.outputs):
            is_used = name in self._used
            if not name or (not is_used and is_optional_output(node, position)):
                continue
            # Loops have been reported as attributes.
            looked_into = node.is_if or not node.holds_graphs
            if self.dtype(name) is None and is_used and looked_into:
                self._report(node, name)

    def _report(self, node: OnnxNode, name: str) -> None:
        place = node.place
        known = self._graph.types.get(name)
        complaint = inference_complaint(self._graph, node)
        if complaint is not None:
            self._sink.add(BAD_MODEL.diagnostic(complaint, place=place))
        elif known and known.element and dtype_of_element(known.element) is None:
            message = Text(
                "the element type {element} of its output {name} is not supported",
                element=element_name(known.element),
                name=repr(name),
            )
            self._sink.add(BAD_TENSOR.diagnostic(message, place=place))
        elif known and len(known.dims or ()) > MAX_RANK:
            rank = len(known.dims or ())
            message = Text(
                "tensors have at most {max_rank} axes, its output {name} has {rank}",
                max_rank=MAX_RANK,
                name=repr(name),
                rank=rank,
            )
            self._sink.add(BAD_TENSOR.diagnostic(message, place=place))
        elif known and (too_large := size_complaint(known.element, known.shape)) is not None:
            self._sink.add(BAD_TENSOR.diagnostic(too_large, place=place))
        else:
            self._sink.add(_unknown_shape(node, name, known))


def _unknown_shape(node: OnnxNode, name: str, known: ValueType | None) -> Diagnostic:
    if known is None or not known.element:
        what = Text(
            "the element type and shape of its output {name} are not known", name=repr(name)
        )
    else:
        what = Text("the number of axes of its output {name} is not known", name=repr(name))
    if node.schema is not None:
        advice = Text("it depends on data that the node gets at run time; export fixed shapes")
    else:
        advice = Text(
            "ONNX does not define this operator; state the type in the graph's value_info"
        )
    return UNKNOWN_SHAPE.diagnostic(what, place=node.place, help=advice)


class Sample(msgspec.Struct, frozen=True):
    """Nodes of a model.

    Attributes:
        source: the nodes as a model: what no other of them computes is an input, and all that
            they compute is an output.
        faults: the findings of `FoldedModel.to_source` about nodes that cannot be among them, and
            about inputs and outputs of the whole model.
    """

    source: SourceModel
    faults: tuple[Diagnostic, ...]


def sample(model: FoldedModel, positions: Collection[int]) -> Sample:
    """The nodes of `model` at `positions` in its graph; they are the model's own nodes."""
    graph, sink = model.graph, Sink()
    search = _TypeSearch(model.folded, model.tensors, sink)
    nodes = tuple(
        model.source.nodes[position]
        for position in sorted(positions)
        if _is_sound(search, graph.nodes[position], sink)
    )
    for name in dict.fromkeys((*graph.outputs, *graph.inputs)):
        search.dtype(name)
    outputs = {
        tensor: None for node in nodes for tensor in node.outputs if tensor and tensor.is_typed
    }
    read = dict.fromkeys(entry for node in nodes for entry in node.reads)
    needed = (tensor for tensor in read if tensor.const is None or tensor.name in graph.inputs)
    source = replace(
        model.source,
        inputs=tuple(tensor for tensor in needed if tensor not in outputs),
        outputs=tuple(outputs),
        nodes=nodes,
        file_nodes=len(nodes),
        weight_bytes=0,
    )
    return Sample(source, tuple(sink.errors))


def _is_sound(search: _TypeSearch, node: OnnxNode, sink: Sink) -> bool:
    """True if nothing is wrong with a node and all that it reads has a type."""
    before = len(sink.errors)
    search.node(node)
    dtypes = [search.dtype(name) for name in node.reads]
    return len(sink.errors) == before and None not in dtypes
