"""From a working graph to the nodes and tensors of a source model, and what of these may vanish.

A value settles if it is a function of shapes and constants alone: Shape and Size are constants as
soon as the shape that they read is known, and so is everything computed from them. A node vanishes
if all its results settle, or if only vanishing nodes need them.

Both sets may be too large, never too small: a node outside them that breaks a rule breaks it
whatever dims are chosen, while a node inside may still stay, for instance because its constant
would be too large.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any

import msgspec

from atc_py.diag import BAD_MODEL, Diagnostic, Sink
from atc_py.onnx_graph.folding.evaluate import can_evaluate
from atc_py.onnx_graph.folding.fold_views import VIEW_FOLDS
from atc_py.onnx_graph.graph import Branch, FoldedGraph, OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.attributes import (
    PLAIN,
    is_optional_output,
    seen_attributes,
    type_contradiction,
)
from atc_py.onnx_graph.reading.tensors import (
    TensorReader,
    element_label,
    element_name,
    known_type,
    output_fault,
)
from atc_py.onnx_graph.source import (
    SourceAttr,
    SourceBranch,
    SourceModel,
    SourceNode,
    SourceTensor,
    scope_name,
)
from atc_py.onnx_graph.typing.infer import own_complaint
from atc_py.system.structs import replace
from atc_py.system.wire import bytes_field

_NONE: Mapping[str, Any] = MappingProxyType({})
"""The attributes, or the branches, of the many nodes that have none."""

_SHAPES = frozenset({"Shape", "Size"})

_OWN_FOLDS = frozenset({"ConstantOfShape", *VIEW_FOLDS})
"""Operators that fold at every opset."""

_UNSIZED = frozenset({"Compress", "NonMaxSuppression", "NonZero", "Unique"})
"""Operators whose results are as large as values say."""

_AS_LARGE = frozenset({"Cast", "Identity", "Neg", "Transpose"})
"""Operators whose result has as many elements along each axis as the first input."""

_NOTHING: frozenset[str] = frozenset()


def translate(model: SourceModel, folded: FoldedGraph, tensors: TensorReader) -> SourceModel:
    """`model` with the tensors and nodes of a graph, and what in them contradicts ONNX.

    Args:
        model: a model without inputs, outputs and nodes; its faults come first.
        folded: the graph, inferred and folded as far as it can be.
        tensors: reads the tensors of attributes.
    """
    sink = Sink()
    translator = _Translator(folded, tensors, sink)
    inputs = tuple(translator.value(name) for name in folded.graph.inputs)
    translator.trace([tensor.name for tensor in inputs if tensor.is_open])
    nodes = translator.nodes("", vanishing(folded))
    outputs = translator.outputs()
    all_faults = tuple(dict.fromkeys((*folded.faults, *sink.errors)))
    every = [inner for node in nodes for inner in node.with_inner]
    # Places in the file whose nodes may all fold away once inputs are fixed.
    doubtful = {node.index for node in every if node.vanishes and node.open_inputs}
    doubtful -= {node.index for node in every if not (node.vanishes and node.open_inputs)}
    doubts = tuple(fault for fault in all_faults if fault.place and fault.place.node in doubtful)
    faults = [fault for fault in all_faults if fault not in doubts]
    chosen = {*folded.chosen, *translator.chosen}
    sound = (fault for fault in faults if fault not in chosen)
    return replace(
        model,
        inputs=inputs,
        outputs=outputs,
        nodes=nodes,
        faults=tuple(dict.fromkeys((*model.faults, *sound))),
        doubts=doubts,
        branch_faults=tuple(fault for fault in faults if fault in chosen),
    )


class _Translator:
    """A maker of the nodes and tensors of one graph.

    The translator of a branch takes what the branch captures from that of the graph around it.
    The open inputs that a value depends on are kept as a set of bits by the value's name.

    Attributes:
        chosen: faults that show only in runs that take a branch.
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
        self.chosen: list[Diagnostic] = []
        self._values: dict[str, SourceTensor] = {}
        self._open_bits: dict[str, int] = {}
        self._open_inputs: Sequence[str] = ()
        self._sets: dict[int, tuple[str, ...]] = {0: ()}
        self._settling: AbstractSet[str] = frozenset()
        self._attributes: dict[bytes, Mapping[str, SourceAttr]] = {}
        if around is not None:
            outer, holder = around
            self.chosen = outer.chosen
            self._open_bits.update(outer._open_bits)  # noqa: SLF001  (another of this class)
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
    ) -> tuple[SourceNode, ...]:
        """The nodes.

        Args:
            scope: the subgraph that they stand in.
            fate: what of the graph vanishes.
            all_vanish: whether the graph is a branch of an If that does.
        """
        self._settling = fate.settling
        # Values read before are inputs of the graph or captured; none of these settles anew.
        return tuple(
            self._node(node, scope, fate, vanishes=all_vanish or node in fate.nodes)
            for node in self._graph.nodes
        )

    def outputs(self) -> tuple[SourceTensor, ...]:
        """The results of the graph; a dtype other than the declared one is reported."""
        tensors = [self.value(name) for name in dict.fromkeys(self._graph.outputs)]
        for tensor in tensors:
            dtype = tensor.dtype
            fault = None if dtype is None else output_fault(self._graph, tensor.name, dtype)
            if fault is not None:
                self._sink.add(fault)
        return tuple(tensors)

    def value(self, name: str) -> SourceTensor:
        """The value called `name`."""
        tensor = self._values.get(name)
        if tensor is None:
            tensor = self._values[name] = self._make_value(name)
        return tensor

    def _node(self, node: OnnxNode, scope: str, fate: Vanishing, *, vanishes: bool) -> SourceNode:
        bits = 0
        if self._open_inputs:
            for name in node.reads:
                bits |= self._open_bits.get(name, 0)
            self._open_bits.update(dict.fromkeys(node.writes, bits))
        schema = node.schema
        inputs = tuple([self.value(name) if name else None for name in node.inputs])
        outputs = tuple(
            [
                self.value(name)
                if name
                and (node.outputs[position] in self._used or not is_optional_output(node, position))
                else None
                for position, name in enumerate(node.outputs)
            ]
        )
        self._look_for_faults(node, inputs, outputs)
        branches: dict[str, SourceBranch] = {}
        for branch in self._folded.branches.get(node, ()):
            inner = _Translator(branch.folded, self._tensors, self._sink, (self, node))
            own = scope_name(branch.name, node.name, node.index, scope)
            settled = vanishing(branch.folded, fate.settling)
            nodes = inner.nodes(own, settled, all_vanish=vanishes)
            ends = tuple(map(inner.value, branch.folded.graph.outputs))
            branches[branch.name] = SourceBranch(nodes, ends)
        return SourceNode(
            index=node.index,
            name=node.name,
            op_type=node.op_type,
            domain=node.domain,
            opset=node.opset,
            since_version=1 if schema is None else schema.since_version,
            inputs=inputs,
            outputs=outputs,
            attributes=self._attributes_of(node),
            scope=scope,
            open_inputs=self._names(bits),
            vanishes=vanishes,
            branches=branches or _NONE,
            replaces=node.replaces,
        )

    def _attributes_of(self, node: OnnxNode) -> Mapping[str, SourceAttr]:
        written = node.proto.attribute
        if not written:
            return _NONE
        if any(attribute.type not in PLAIN for attribute in written):
            return seen_attributes(node, self._tensors)
        key = b"".join(bytes_field(1, attribute.SerializeToString()) for attribute in written)
        if key not in self._attributes:
            self._attributes[key] = MappingProxyType(seen_attributes(node, self._tensors))
        return self._attributes[key]

    def _look_for_faults(
        self,
        node: OnnxNode,
        inputs: Sequence[SourceTensor | None],
        outputs: Sequence[SourceTensor | None],
    ) -> None:
        if node in self._graph.unsound:
            return
        dtypes = [tensor.dtype if tensor else None for tensor in inputs]
        complaint = type_contradiction(node, dtypes)
        silent = any(tensor and (tensor.dims is None or not tensor.element) for tensor in outputs)
        if complaint is None and silent:
            complaint = own_complaint(self._graph, node)
            if complaint is not None and not self._graph.always_runs:
                self.chosen.append(BAD_MODEL.diagnostic(complaint, place=node.place))
        if complaint is not None:
            self._sink.add(BAD_MODEL.diagnostic(complaint, place=node.place))

    def _names(self, bits: int) -> tuple[str, ...]:
        if bits not in self._sets:
            self._sets[bits] = tuple(
                name for position, name in enumerate(self._open_inputs) if bits >> position & 1
            )
        return self._sets[bits]

    def _make_value(self, name: str) -> SourceTensor:
        const = self._graph.consts.get(name)
        if const is not None:
            return SourceTensor(name, element_label(const.dtype), const.shape, const)
        known = self._graph.foreign.get(name) or known_type(self._graph, name)
        if known is None or name in self._graph.kinds:
            kind = self._graph.kinds.get(name, "")
            return SourceTensor(name, kind, None, settles=name in self._settling)
        element = element_name(known.element) if known.element else ""
        held = self._graph.held.get(name, ())
        return SourceTensor(name, element, known.dims, None, name in self._settling, held)


class Vanishing(msgspec.Struct, frozen=True):
    """Parts of one graph that exist only while dims are open.

    Attributes:
        settling: names of values that are not constants yet and may become constants.
        nodes: nodes that may fold away, or that nothing may need then.
        needed: names from around the graph that its nodes or outputs need for certain.
    """

    settling: AbstractSet[str]
    nodes: AbstractSet[OnnxNode]
    needed: AbstractSet[str]


def vanishing(folded: FoldedGraph, around: AbstractSet[str] = _NOTHING) -> Vanishing:
    """Find the parts of a folded graph that may fold away once every dim is known.

    Args:
        folded: the graph.
        around: names of values of the graph around it that settle.
    """
    inner: dict[OnnxNode, list[Vanishing]] = {}
    settling = _settling_values(folded, around, inner)
    return _with_nodes(folded.graph, settling, inner)


def _settling_values(
    folded: FoldedGraph, around: AbstractSet[str], inner: dict[OnnxNode, list[Vanishing]]
) -> set[str]:
    """The values that settle; `inner` is given what becomes of branches."""
    graph = folded.graph
    settling, unsized = set(around), set[str]()
    if not around and not any(
        (not node.domain and (node.op_type in _SHAPES or node.is_if)) for node in graph.nodes
    ):
        return settling  # values settle from shapes on, from around the graph, or by a branch
    for node in graph.nodes:
        if node in graph.unsound or node.domain:
            continue
        branches = folded.branches.get(node, ())
        inner[node] = [vanishing(branch.folded, settling) for branch in branches]
        if node.is_if:
            settling.update(_settled_by_if(graph, node, branches, inner[node], settling))
        elif _node_settles(graph, node, settling, unsized):
            settling.update(node.writes)
        elif _is_unsized(node, unsized):
            unsized.update(node.writes)
    return settling


def _node_settles(
    graph: OnnxGraph, node: OnnxNode, settling: AbstractSet[str], unsized: AbstractSet[str]
) -> bool:
    """True if the results of a node other than If are constants with every dim known."""
    if node.op_type in _SHAPES:
        return bool(node.inputs) and node.inputs[0] not in unsized
    if not (node.op_type in _OWN_FOLDS or can_evaluate(node)):
        return False
    pending = [name for name in node.reads if name not in graph.consts]
    return bool(pending) and all(name in settling for name in pending)


def _is_unsized(node: OnnxNode, unsized: AbstractSet[str]) -> bool:
    """True if the shape of the results depends on values, not only on dims."""
    if node.op_type in _UNSIZED:
        return True
    if node.op_type == "Gather":
        return len(node.inputs) > 1 and node.inputs[1] in unsized
    return node.op_type in _AS_LARGE and bool(node.inputs) and node.inputs[0] in unsized


def _settled_by_if(
    graph: OnnxGraph,
    node: OnnxNode,
    branches: tuple[Branch, ...],
    inner: list[Vanishing],
    settling: AbstractSet[str],
) -> set[str]:
    """The results of an If that are constants if the branch taken returns constants."""
    if not _is_decided(graph, node, settling):
        return set()
    return {
        name
        for branch, fate in zip(branches, inner, strict=True)
        for name, result in zip(node.outputs, branch.folded.graph.outputs, strict=False)
        if name and (result in fate.settling or result in branch.folded.graph.consts)
    }


def _is_decided(graph: OnnxGraph, node: OnnxNode, settling: AbstractSet[str]) -> bool:
    """True if the dims together decide which branch an If takes."""
    condition = node.inputs[0] if node.inputs else ""
    return condition in settling or condition in graph.consts


def _with_nodes(
    graph: OnnxGraph, settling: set[str], inner: dict[OnnxNode, list[Vanishing]]
) -> Vanishing:
    needed = {name for name in graph.outputs if name not in settling}
    gone: set[OnnxNode] = set()
    for node in reversed(graph.nodes):
        if needed.isdisjoint(node.writes):
            gone.add(node)
        elif node.is_if and node in inner and _is_decided(graph, node, settling):
            gone.add(node)
            needs = [branch.needed for branch in inner[node]] or [{*node.captured}]
            needed.update(set(needs[0]).intersection(*needs[1:]))
        else:
            needed.update(node.reads)
        if settling:
            needed.difference_update(settling)
    made = {name for node in graph.nodes for name in node.writes}
    return Vanishing(settling, gone, needed - made)
