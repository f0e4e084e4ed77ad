"""An ONNX file that has been read, before its input shapes are known, and marks in its metadata.

A survey tells everything known about a file, whether or not it compiles.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from onnx.onnx_pb import ModelProto, NodeProto

from atc_py.diag import AtcError, Diagnostic
from atc_py.ir import ConstData, DenseConst
from atc_py.onnx_graph.folding.bind import bind_inputs, input_faults, observe_inputs
from atc_py.onnx_graph.folding.fold import fold_graph
from atc_py.onnx_graph.folding.folded import FoldedModel, fold_with_branches
from atc_py.onnx_graph.folding.translation import translate
from atc_py.onnx_graph.graph import FoldedGraph, OnnxGraph, OnnxNode, ValueType
from atc_py.onnx_graph.reading.attributes import ASCEND_OPERATORS
from atc_py.onnx_graph.reading.contents import Contents, DeclaredInput
from atc_py.onnx_graph.reading.nodes import nodes_within
from atc_py.onnx_graph.reading.tensors import TensorReader, dtype_of_element, known_type
from atc_py.onnx_graph.rewriting.qdq import import_quantized
from atc_py.onnx_graph.source import BiasConvention, BiasSource, QuantizedNode, SourceModel, form_of
from atc_py.onnx_graph.source.model import FOLD_LIMIT
from atc_py.options.compile_options import QuantBias
from atc_py.options.input_shapes import ShapeAdvice
from atc_py.system.structs import replace
from atc_py.tensor.shapes import MAX_RANK, Dims, Shape, is_addressable

if TYPE_CHECKING:
    from atc_py.onnx_graph.folding.evaluate import FoldMemo


class OnnxFile(msgspec.Struct, frozen=True):
    """A file's graph by names; folding does not change it, so it can be folded again."""

    path: Path  # the file, as the user gave it
    name: str
    opsets: Mapping[str, int]  # imported version of each domain; "" is ONNX's own
    nodes: tuple[OnnxNode, ...]  # producers first
    inputs: tuple[DeclaredInput, ...]  # what is fed at run time; initializers are not among them
    outputs: tuple[str, ...]  # names of the graph's outputs
    declared: Mapping[str, ValueType]  # types that the file states for results of its nodes
    contents: Contents
    tensors: TensorReader  # reads the tensors of its nodes' attributes
    file_nodes: int  # number of nodes in the file's graph
    proto: ModelProto  # the file's message without its large data, its functions inlined
    deployed: bool = False  # whether it is in the deploy form
    faults: tuple[Diagnostic, ...] = ()  # what breaks ONNX's structural rules
    # the nodes among `nodes` that break their operator's definition
    unsound: frozenset[OnnxNode] = frozenset()
    # of results that are values of the user's file in another form, the names of those
    held: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    # the domains that the file imports, as it spells them, each once; the first alone where every
    # node of its graph states a domain and calls of functions are among them
    imports: tuple[str, ...] = ("",)
    # the functions of the file that its graph calls, `domain::name`
    functions: tuple[str, ...] = ()

    @property
    def node_outputs(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The nodes' names, possibly empty, with the names of their outputs."""
        return ((node.name, tuple(node.output_names)) for node in self.nodes)

    def refuse_faults(self) -> None:
        if self.faults:
            raise AtcError(*self.faults)

    def bias_convention(self, asked: QuantBias | None) -> BiasConvention | None:
        """The convention of biases of int8 layers; None if the model has no deploy form."""
        return bias_convention(self.proto, asked) if self.deployed else None

    def fold(
        self,
        input_shapes: Mapping[str, Shape],
        limit: int = FOLD_LIMIT,
        quant_bias: QuantBias | None = None,
        suggest: Callable[[], ShapeAdvice] | None = None,
        memo: FoldMemo | None = None,
        opened: Mapping[str, Dims] | None = None,
    ) -> FoldedModel:
        """The model with static inputs, inferred types and folded constants.

        `input_shapes` are dims of inputs that the model leaves open, and `suggest` finds some to
        propose where they are missing or do not fit; `limit` is the bytes that folding one node may
        make; `quant_bias` is the convention of biases of int8 layers, None to use the file's;
        `memo` has results of nodes in earlier folds of this file, and of later ones; `opened` are
        inputs with dims that each run decides, None for these.

        An AtcError has BAD_INPUT_SHAPE, FREE_DIMENSION, BAD_MODEL, BAD_NODE, BAD_TENSOR or
        FOLD_TOO_LARGE.
        """
        self.refuse_faults()
        convention = self.bias_convention(quant_bias)
        inputs = bind_inputs(self.path, self.inputs, input_shapes, suggest, self.nodes, opened)
        graph = self.graph(inputs, convention)
        quantized = import_quantized(graph, self.tensors, limit)
        fold_graph(graph, self.tensors, limit, memo=memo, strict=True)
        folded = FoldedGraph(graph)
        if any(node.is_if for node in graph.nodes):
            folded = fold_with_branches(graph, self.tensors, limit)
        if folded.faults:
            raise AtcError(*dict.fromkeys(folded.faults))
        return self.translated(folded, quantized, convention)

    def types_in_branches(self, graph: OnnxGraph) -> dict[str, ValueType]:
        found = {name: known for name in graph.consts if (known := known_type(graph, name))}
        waiting = [fold_with_branches(graph.copied(), self.tensors, FOLD_LIMIT)]
        while waiting:
            folded = waiting.pop()
            inner = folded.graph
            names = {*inner.types, *inner.inputs, *inner.consts}
            found |= {name: known for name in names if (known := known_type(inner, name))}
            waiting += [branch.folded for own in folded.branches.values() for branch in own]
        return found

    def translated(
        self,
        folded: FoldedGraph,
        quantized: Sequence[QuantizedNode],
        convention: BiasConvention | None,
    ) -> FoldedModel:
        """The file's model, given its graph after folding.

        `quantized` is what became of the quantized layers outside of branches, `convention` how
        biases of int8 layers are read.
        """
        empty = SourceModel(
            path=self.path,
            name=self.name,
            opsets=dict(folded.graph.opsets),
            inputs=(),
            outputs=(),
            nodes=(),
            file_nodes=self.file_nodes,
            weight_bytes=self.contents.weight_bytes,
            faults=self.faults,
            quantized=(*quantized, *folded.quantized),
            bias_convention=convention,
        )
        return translate(empty, folded, self.tensors)

    def graph(
        self, inputs: dict[str, ValueType], convention: BiasConvention | None = None
    ) -> OnnxGraph:
        """A working graph of the file; `convention` says how biases of int8 layers are read."""
        return OnnxGraph(
            path=self.path,
            opsets=self.opsets,
            nodes=list(self.nodes),
            inputs=inputs,
            outputs=self.outputs,
            consts={**self.contents.weights, **_empty_inputs(inputs)},
            foreign=dict(self.contents.foreign),
            declared=dict(self.declared),
            kinds={declared.name: declared.kind for declared in self.inputs if declared.kind},
            unsound=self.unsound,
            quant_bias=form_of(convention),
            held=dict(self.held),
        )


def _empty_inputs(inputs: Mapping[str, ValueType]) -> dict[str, ConstData]:
    """The inputs without any element: their data is known, though they are still inputs."""
    empty: dict[str, ConstData] = {}
    for name, known in inputs.items():
        dtype, shape = dtype_of_element(known.element), known.shape
        if dtype is None or shape is None or 0 not in shape:
            continue
        if len(shape) <= MAX_RANK and is_addressable(shape):
            empty[name] = DenseConst(np.empty(shape, dtype.numpy))
    return empty


def surveyed(
    file: OnnxFile,
    input_shapes: Mapping[str, Shape],
    quant_bias: QuantBias | None = None,
    suggest: Callable[[], ShapeAdvice] | None = None,
) -> FoldedModel:
    """The survey of the model in `file`; dims that the model leaves open stay open.

    `file` is read leniently, so that a model that breaks ONNX's rules can be looked at, too. Other
    arguments are those of `OnnxFile.fold`; BAD_INPUT_SHAPE for shapes that fit no input.
    """
    inputs = observe_inputs(file.path, file.inputs, input_shapes, suggest, file.nodes)
    convention = file.bias_convention(quant_bias)
    graph = file.graph(inputs, convention)
    quantized = import_quantized(graph, file.tensors, FOLD_LIMIT)
    folded = fold_with_branches(graph, file.tensors, FOLD_LIMIT)
    model = file.translated(folded, quantized, convention)
    faults = tuple(input_faults(file.path, file.inputs, input_shapes))
    return replace(model, input_faults=faults)


MARK = "atc_py.quant_bias"
"""The key among the model's metadata whose value is the convention's name."""

PRODUCER = "atc-py"
"""The producer of files that atc-py writes."""

_FORMS = {form.value: form for form in QuantBias}


def in_deploy_form(nodes: Iterable[NodeProto]) -> bool:
    """True if operators of Ascend's family are among nodes or in graphs within them."""
    return any(node.op_type in ASCEND_OPERATORS for node in nodes_within(nodes))


def bias_convention(proto: ModelProto, asked: QuantBias | None = None) -> BiasConvention | None:
    """The convention of the biases in a model; None if it is not in the deploy form.

    `asked` is what the user says; None leaves it to the file.
    """
    if not in_deploy_form(proto.graph.node):
        return None
    if asked is not None:
        return BiasConvention(asked, BiasSource.OPTION)
    marks = (entry.value for entry in proto.metadata_props if entry.key == MARK)
    marked = _FORMS.get(next(marks, ""))
    if marked is not None:
        return BiasConvention(marked, BiasSource.MARK)
    if proto.producer_name == PRODUCER:
        return BiasConvention(QuantBias.FOLDED, BiasSource.PRODUCER)
    return BiasConvention(QuantBias.UNFOLDED, BiasSource.ASSUMED)


_KEY = "atc_py.balanced_values"
"""The key among the model's metadata whose value is a list of names, as JSON."""


def balance_mark(names: Iterable[str]) -> dict[str, str | None]:
    """The metadata that name values; none where there are no values."""
    unique = sorted(set(names))
    return {_KEY: json.dumps(unique, ensure_ascii=False) if unique else None}


def balanced_values(proto: ModelProto) -> frozenset[str]:
    """The values that a model's metadata name; none for metadata that are something else."""
    texts = [entry.value for entry in proto.metadata_props if entry.key == _KEY]
    try:
        content = json.loads(texts[0]) if texts else []
    except ValueError:
        content = []
    names = content if isinstance(content, list) else []
    return frozenset(name for name in names if isinstance(name, str))
