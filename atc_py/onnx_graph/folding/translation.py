"""From a working graph to the nodes and tensors of a source model, and what in them is at fault.

Some parts lowering rejects: values without static type, attributes without form.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from atc_py.diag import BAD_MODEL, BAD_TENSOR, UNKNOWN_SHAPE, Diagnostic, Place, Sink
from atc_py.onnx_graph.folding.folded import FoldedModel
from atc_py.onnx_graph.folding.vanishing import Vanishing, vanishing
from atc_py.onnx_graph.graph import FoldedGraph, OnnxGraph, OnnxNode, ValueType
from atc_py.onnx_graph.reading.attributes import (
    is_optional_output,
    read_attributes,
    type_contradiction,
)
from atc_py.onnx_graph.reading.tensors import (
    TensorReader,
    dtype_of_element,
    element_label,
    element_name,
    output_fault,
    size_complaint,
)
from atc_py.onnx_graph.source import (
    SourceAttr,
    SourceBranch,
    SourceModel,
    SourceTensor,
    scope_name,
)
from atc_py.onnx_graph.typing.infer import inference_complaint, own_complaint
from atc_py.system.structs import replace
from atc_py.tensor.shapes import MAX_RANK
from atc_py.text import Text

_NONE: Mapping[str, Any] = MappingProxyType({})
"""The attributes, or the branches, of the many nodes that have none."""


def translate(model: SourceModel, folded: FoldedGraph, tensors: TensorReader) -> FoldedModel:
    """`model` with the tensors and nodes of a graph, and what in them contradicts ONNX.

    `model` has no inputs, outputs and nodes, and its faults come first; `folded` is inferred and
    folded as far as it can be.
    """
    sink = Sink()
    translator = _Translator(folded, tensors, sink)
    inputs = tuple(translator.value(name) for name in folded.graph.inputs)
    translator.trace([tensor.name for tensor in inputs if tensor.is_open])
    nodes = translator.nodes("", vanishing(folded))
    outputs, rejected_outputs = translator.outputs()
    all_faults = tuple(dict.fromkeys((*folded.faults, *sink.errors)))
    # Places in the file whose nodes may all fold away once inputs are fixed.
    has_open = any(tensor.is_open for tensor in inputs)
    every = [inner for node in nodes for inner in node.with_inner] if has_open else []
    doubtful = {node.index for node in every if node.vanishes and node.open_inputs}
    doubtful -= {node.index for node in every if not (node.vanishes and node.open_inputs)}
    doubts = tuple(fault for fault in all_faults if fault.place and fault.place.node in doubtful)
    faults = [fault for fault in all_faults if fault not in doubts]
    chosen = {*folded.chosen, *translator.chosen}
    sound = (fault for fault in faults if fault not in chosen)
    source = replace(
        model,
        inputs=inputs,
        outputs=outputs,
        nodes=nodes,
        faults=tuple(dict.fromkeys((*model.faults, *sound))),
        doubts=doubts,
        branch_faults=tuple(fault for fault in faults if fault in chosen),
    )
    return FoldedModel(source, folded, translator.rejected, rejected_outputs)


class _Known(NamedTuple):
    """Facts that nodes share which state the same and read the same element types."""

    since_version: int
    attributes: Mapping[str, SourceAttr]
    is_sound: bool  # whether nodes that are alike in that are not to be looked at


class _Translator:
    """A maker of the nodes and tensors of one graph.

    The translator of a branch takes what the branch captures from that of the graph around it. The
    open inputs that a value depends on are kept as a set of bits by the value's name.
    """

    def __init__(
        self,
        folded: FoldedGraph,
        tensors: TensorReader,
        sink: Sink,
        around: tuple[_Translator, OnnxNode] | None = None,
    ) -> None:
        self._folded = folded
        self._graph: OnnxGraph = folded.graph
        self._tensors = tensors
        self._sink = sink
        self._used = self._graph.used_names()
        self.chosen: list[Diagnostic] = []  # faults that show only in runs that take a branch
        self.rejected: dict[int, tuple[Diagnostic, ...]] = {}  # as of `FoldedModel`
        self._rejects = Sink()
        self._untyped: set[str] = set()
        self._typed: set[Hashable] = set()
        self._sound: dict[Hashable, _Known] = {}
        self._values: dict[str, SourceTensor] = {}
        self._open_bits: dict[str, int] = {}
        self._open_inputs: Sequence[str] = ()
        self._sets: dict[int, tuple[str, ...]] = {0: ()}
        self._settling: AbstractSet[str] = frozenset()
        if around is not None:
            outer, holder = around
            self.chosen = outer.chosen
            self._rejects = outer._rejects  # noqa: SLF001  (another of this class)
            self._open_bits.update(outer._open_bits)  # noqa: SLF001
            self._open_inputs = outer._open_inputs  # noqa: SLF001
            # Lowering finds the target value of a captured tensor by the tensor itself. One without
            # a type is never lowered, so of it the branch has what its own graph knows.
            for name in holder.captured:
                tensor = outer.value(name)
                if tensor.is_typed:
                    self._values[name] = tensor

    def trace(self, open_inputs: Sequence[str]) -> None:
        self._open_inputs = open_inputs
        self._open_bits = {name: 1 << position for position, name in enumerate(open_inputs)}

    def nodes(
        self, scope: str, fate: Vanishing, *, all_vanish: bool = False
    ) -> tuple[OnnxNode, ...]:
        """The nodes, of which some vanish, or all in a branch of an If that does."""
        self._settling = fate.settling
        # Values read before are inputs of the graph or captured; none of these settles anew.
        nodes: list[OnnxNode] = []
        for position, node in enumerate(self._graph.nodes):
            vanishes = all_vanish or (bool(fate.nodes) and node in fate.nodes)
            nodes.append(self._node(node, scope, fate, vanishes=vanishes))
            blames_inputs = self._untyped and not self._untyped.isdisjoint(node.reads)
            if not scope and (blames_inputs or self._rejects.diagnostics):
                self.rejected[position] = tuple(self._rejects.errors)
                self._rejects.diagnostics.clear()
        self._graph.nodes = nodes
        return tuple(nodes)

    def outputs(self) -> tuple[tuple[SourceTensor, ...], tuple[Diagnostic, ...]]:
        """The results of the graph, and what lowering rejects in them."""
        tensors = [self.value(name) for name in dict.fromkeys(self._graph.outputs)]
        for tensor in tensors:
            dtype = tensor.dtype
            fault = None if dtype is None else output_fault(self._graph, tensor.name, dtype)
            if fault is not None:
                self._sink.add(fault)
                self._rejects.add(fault)
        self._reject_foreign(self._graph.outputs)
        return tuple(tensors), tuple(self._rejects.errors)

    def value(self, name: str) -> SourceTensor:
        tensor = self._values.get(name)
        if tensor is None:
            tensor = self._values[name] = self._make_value(name)
            type_ = tensor.element, tensor.dims, tensor.const is None
            if type_ in self._typed:
                return tensor
            if tensor.is_typed:
                self._typed.add(type_)
            else:
                self._untyped.add(name)
        return tensor

    def _node(self, node: OnnxNode, scope: str, fate: Vanishing, *, vanishes: bool) -> OnnxNode:
        bits = 0
        if self._open_inputs:
            for name in node.reads:
                bits |= self._open_bits.get(name, 0)
            self._open_bits.update(dict.fromkeys(node.writes, bits))
        values = self._values
        inputs = tuple(
            [(values.get(name) or self.value(name)) if name else None for name in node.input_names]
        )
        outputs = tuple(
            [
                self.value(name)
                if name
                and (
                    node.output_names[position] in self._used
                    or not is_optional_output(node, position)
                )
                else None
                for position, name in enumerate(node.output_names)
            ]
        )
        if self._graph.foreign:
            self._reject_foreign(node.reads)
        alike = node.stated, node.opset, *[tensor and tensor.element for tensor in inputs]
        known = None if self._untyped else self._sound.get(alike)
        if known is None:
            known = self._looked_at(node, inputs, outputs)
            if known.is_sound:
                self._sound[alike] = known
        branches: dict[str, SourceBranch] = {}
        for branch in self._folded.branches.get(node, ()) if node.is_if else ():
            inner = _Translator(branch.folded, self._tensors, self._sink, (self, node))
            own = scope_name(branch.name, node.name, node.index, scope)
            settled = vanishing(branch.folded, fate.settling)
            nodes = inner.nodes(own, settled, all_vanish=vanishes)
            ends = tuple(map(inner.value, branch.folded.graph.outputs))
            inner._reject_foreign(branch.folded.graph.outputs)
            branches[branch.name] = SourceBranch(nodes, ends)
        return msgspec.structs.replace(
            node,
            since_version=known.since_version,
            inputs=inputs,
            outputs=outputs,
            attributes=known.attributes,
            scope=scope,
            open_inputs=self._names(bits),
            vanishes=vanishes,
            branches=branches or _NONE,
        )

    def _looked_at(
        self,
        node: OnnxNode,
        inputs: Sequence[SourceTensor | None],
        outputs: Sequence[SourceTensor | None],
    ) -> _Known:
        schema = node.schema
        attributes = read_attributes(node, self._tensors, self._rejects)
        dtypes = [tensor.dtype if tensor else None for tensor in inputs]
        complaint = type_contradiction(node, dtypes)
        self._look_for_faults(node, complaint, outputs)
        if self._untyped:
            self._look_at_results(node)
        is_plain = not attributes or attributes is node.plain_attributes
        is_sound = bool(node.stated) and complaint is None and is_plain
        return _Known(1 if schema is None else schema.since_version, attributes, is_sound)

    def _look_for_faults(
        self, node: OnnxNode, complaint: Text | None, outputs: Sequence[SourceTensor | None]
    ) -> None:
        if complaint is not None:
            self._rejects.add(BAD_MODEL.diagnostic(complaint, place=node.place))
        untyped = [each for each in outputs if each and (each.dims is None or not each.element)]
        if (complaint is None and not untyped) or node in self._graph.unsound:
            return
        if complaint is None:
            complaint = own_complaint(self._graph, node)
            if complaint is not None and not self._graph.always_runs:
                self.chosen.append(BAD_MODEL.diagnostic(complaint, place=node.place))
        if complaint is not None:
            self._sink.add(BAD_MODEL.diagnostic(complaint, place=node.place))

    def _look_at_results(self, node: OnnxNode) -> None:
        """Reject results without a type of a node whose inputs have one."""
        if self._untyped.isdisjoint(node.writes) or not self._untyped.isdisjoint(node.reads):
            return
        if node in self._graph.unsound or (node.holds_graphs and not node.is_if):
            return  # those have faults, and loops are rejected by their attributes
        for name in node.writes:
            if name in self._untyped and name in self._used:
                self._rejects.add(_untyped_result(self._graph, node, name))

    def _reject_foreign(self, names: Iterable[str]) -> None:
        """Reject constants whose element type atc-py does not have."""
        for name in names:
            foreign = self._graph.foreign.get(name)
            if foreign is not None and name not in self._graph.consts:
                field = Text("initializer {name}", name=repr(name))
                message = Text(
                    "the element type {element} is not supported",
                    element=element_name(foreign.element),
                )
                place = Place(file=str(self._graph.path), field=field)
                self._rejects.add(BAD_TENSOR.diagnostic(message, place=place))

    def _names(self, bits: int) -> tuple[str, ...]:
        if bits not in self._sets:
            self._sets[bits] = tuple(
                name for position, name in enumerate(self._open_inputs) if bits >> position & 1
            )
        return self._sets[bits]

    def _make_value(self, name: str) -> SourceTensor:
        graph = self._graph
        const = graph.consts.get(name)
        if const is not None:
            return SourceTensor(name, element_label(const.dtype), const.shape, const)
        known = graph.foreign.get(name) or graph.types.get(name) or graph.inputs.get(name)
        if known is None or name in graph.kinds:
            kind = graph.kinds.get(name, "")
            return SourceTensor(name, kind, None, settles=name in self._settling)
        element = element_name(known.element) if known.element else ""
        held = graph.held.get(name, ())
        return SourceTensor(name, element, known.dims, None, name in self._settling, held)


def _untyped_result(graph: OnnxGraph, node: OnnxNode, name: str) -> Diagnostic:
    """The reason why a result has no type although the inputs have."""
    place = node.place
    known = graph.types.get(name)
    complaint = inference_complaint(graph, node)
    if complaint is not None:
        return BAD_MODEL.diagnostic(complaint, place=place)
    if known and known.element and dtype_of_element(known.element) is None:
        message = Text(
            "the element type {element} of its output {name} is not supported",
            element=element_name(known.element),
            name=repr(name),
        )
        return BAD_TENSOR.diagnostic(message, place=place)
    if known and len(known.dims or ()) > MAX_RANK:
        rank = len(known.dims or ())
        message = Text(
            "tensors have at most {max_rank} axes, its output {name} has {rank}",
            max_rank=MAX_RANK,
            name=repr(name),
            rank=rank,
        )
        return BAD_TENSOR.diagnostic(message, place=place)
    if known and (too_large := size_complaint(known.element, known.shape)) is not None:
        return BAD_TENSOR.diagnostic(too_large, place=place)
    return _unknown_shape(node, name, known)


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
