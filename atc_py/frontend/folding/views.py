"""From a working graph to views: what is known of its nodes, for checking."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from atc_py.diag import Sink
from atc_py.diag.codes import BAD_MODEL
from atc_py.frontend.folding.vanishing import vanishing
from atc_py.frontend.reading.attributes import seen_attributes
from atc_py.frontend.reading.signatures import is_optional_output, type_contradiction
from atc_py.frontend.reading.tensors import element_name, output_fault
from atc_py.frontend.typing.infer import own_complaint
from atc_py.frontend.typing.type_corrections import known_type
from atc_py.source import NodeView, TensorView, scope_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from atc_py.diag import Diagnostic
    from atc_py.frontend.folding.graph import WorkGraph, WorkNode
    from atc_py.frontend.folding.if_branches import FoldedGraph
    from atc_py.frontend.folding.vanishing import Vanishing
    from atc_py.frontend.reading.tensors import TensorReader

__all__ = ["Views", "view_nodes"]


@dataclass(frozen=True, slots=True)
class Views:
    """Views of the nodes of a graph.

    Attributes:
        nodes: producers first, those of branches after their own.
        faults: what contradicts ONNX, as far as no choice of dims changes that.
        doubts: what contradicts ONNX at nodes that may fold away once every dim is known.
    """

    nodes: tuple[NodeView, ...]
    faults: tuple[Diagnostic, ...]
    doubts: tuple[Diagnostic, ...]


def view_nodes(folded: FoldedGraph, tensors: TensorReader, open_inputs: Sequence[str]) -> Views:
    """What is known of the nodes of a graph and of its branches, and what contradicts ONNX.

    Args:
        folded: the graph, inferred and folded as far as it can be.
        tensors: reads the tensors of attributes.
        open_inputs: names of the model's inputs whose shape is open.
    """
    sink = Sink()
    open_bits = {name: 1 << position for position, name in enumerate(open_inputs)}
    viewer = _Viewer(folded, tensors, open_bits, open_inputs, sink)
    nodes = tuple(viewer.nodes("", vanishing(folded)))
    viewer.look_at_outputs()
    found = _once((*folded.faults, *sink.errors))
    doubtful = _doubtful_places(nodes)
    doubts = tuple(each for each in found if each.place and each.place.node in doubtful)
    return Views(nodes, tuple(each for each in found if each not in doubts), doubts)


def _doubtful_places(nodes: Sequence[NodeView]) -> set[int]:
    """Find positions in the file whose nodes may all fold away once open inputs are fixed."""
    gone = {each.index for each in nodes if each.vanishes and each.open_inputs}
    return gone - {each.index for each in nodes if not (each.vanishes and each.open_inputs)}


def _once(faults: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Keep each fault once: a node can be looked at in several rounds."""
    return tuple(dict.fromkeys(faults))


class _Viewer:
    """Makes the views of one graph.

    Which open inputs a value depends on is kept as a set of bits by the value's name.
    """

    def __init__(
        self,
        folded: FoldedGraph,
        tensors: TensorReader,
        open_bits: Mapping[str, int],
        open_inputs: Sequence[str],
        sink: Sink,
    ) -> None:
        self._folded = folded
        self._graph: WorkGraph = folded.graph
        self._tensors = tensors
        self._open_bits = dict(open_bits)
        self._open_inputs = open_inputs
        self._sink = sink
        self._used = self._graph.used_names()
        self._values: dict[str, TensorView] = {}
        self._sets: dict[int, tuple[str, ...]] = {0: ()}
        self._settling: AbstractSet[str] = frozenset()

    def nodes(self, scope: str, fate: Vanishing, *, all_vanish: bool = False) -> Iterator[NodeView]:
        """The nodes, each followed by those of its branches.

        Args:
            scope: the subgraph that they stand in.
            fate: what of the graph vanishes.
            all_vanish: whether the graph is a branch of an If that does.
        """
        self._settling = fate.settling
        for node in self._graph.nodes:
            vanishes = all_vanish or node in fate.nodes
            yield replace(self._node(node, scope), vanishes=vanishes)
            for branch in self._folded.branches.get(node, ()):
                inner = _Viewer(
                    branch.folded, self._tensors, self._open_bits, self._open_inputs, self._sink
                )
                name = scope_name(branch.name, node.name, node.index, scope)
                known = vanishing(branch.folded, fate.settling)
                yield from inner.nodes(name, known, all_vanish=vanishes)

    def look_at_outputs(self) -> None:
        """Report outputs of the graph that are declared with another dtype than they have."""
        for name in dict.fromkeys(self._graph.outputs):
            dtype = self._value(name).dtype
            fault = None if dtype is None else output_fault(self._graph, name, dtype)
            if fault is not None:
                self._sink.add(fault)

    def _node(self, node: WorkNode, scope: str) -> NodeView:
        """One node."""
        bits = 0
        for name in node.reads:
            bits |= self._open_bits.get(name, 0)
        for name in node.writes:
            self._open_bits[name] = bits
        schema = node.schema
        inputs = tuple(self._value(name) if name else None for name in node.inputs)
        outputs = tuple(
            self._value(name) if name and self._is_asked_for(node, position) else None
            for position, name in enumerate(node.outputs)
        )
        self._look_for_faults(node, inputs, outputs)
        return NodeView(
            index=node.index,
            name=node.name,
            op_type=node.op_type,
            domain=node.domain,
            opset=node.opset,
            since_version=1 if schema is None else schema.since_version,
            inputs=inputs,
            outputs=outputs,
            attributes=seen_attributes(node, self._tensors),
            scope=scope,
            open_inputs=self._names(bits),
        )

    def _is_asked_for(self, node: WorkNode, position: int) -> bool:
        """Whether an output is used, or always there; exporters name optional ones needlessly."""
        return node.outputs[position] in self._used or not is_optional_output(node, position)

    def _look_for_faults(
        self,
        node: WorkNode,
        inputs: Sequence[TensorView | None],
        outputs: Sequence[TensorView | None],
    ) -> None:
        """Report what contradicts ONNX's definition of the operator."""
        if node in self._graph.unsound:
            return
        dtypes = [tensor.dtype if tensor else None for tensor in inputs]
        complaint = type_contradiction(node, dtypes)
        silent = any(tensor and (tensor.dims is None or not tensor.element) for tensor in outputs)
        if complaint is None and silent:
            complaint = own_complaint(self._graph, node)
        if complaint is not None:
            self._sink.add(BAD_MODEL.diagnostic(complaint, place=node.place))

    def _names(self, bits: int) -> tuple[str, ...]:
        """The open inputs that a set of bits stands for."""
        if bits not in self._sets:
            self._sets[bits] = tuple(
                name for position, name in enumerate(self._open_inputs) if bits >> position & 1
            )
        return self._sets[bits]

    def _value(self, name: str) -> TensorView:
        """The value called `name`."""
        if name not in self._values:
            self._values[name] = self._make_value(name)
        return self._values[name]

    def _make_value(self, name: str) -> TensorView:
        """A new value."""
        const = self._graph.consts.get(name)
        if const is not None:
            return TensorView(name, const.dtype.value, const.shape, const)
        known = self._graph.foreign.get(name) or known_type(self._graph, name)
        if name in self._graph.kinds or known is None:
            kind = self._graph.kinds.get(name, "")
            return TensorView(name, kind, None, settles=name in self._settling)
        element = element_name(known.element) if known.element else ""
        return TensorView(name, element, known.dims, settles=name in self._settling)
