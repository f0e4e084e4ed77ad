"""Stating a model at another opset: each node in the form of the version in force there.

A part that moved from an attribute to an input, or back, moves; Softmax and its kin, whose axis means
another thing before opset 13, get the axis as the last one. Forms of the oldest opsets that mean
another thing later (broadcasting by attributes, training, Scatter) are written anew. What has no form
at the opset stays a finding.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from atc_py.check.deviations import certainty_on, parser_opsets
from atc_py.check.evaluate import Checked
from atc_py.check.findings import Standing
from atc_py.check.restating import restated_at
from atc_py.fix.context import RuleContext, splice
from atc_py.fix.parts.windows import SAME
from atc_py.fix.unfit import UnfitError, require, skip_unless
from atc_py.onnx_graph.folding.folded import FoldedModel
from atc_py.onnx_graph.graph import Branch, OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.rewriting.model_message import branch_message, with_branches
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.onnx_graph.source import OperatorSchema, SourceModel, SourceNode
from atc_py.spec import Library, OpSpec
from atc_py.spec.lists import find_release
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

# Opset since which operands are broadcast as numpy does; before, by attributes.
_BROADCAST = 7

# Opset since which Scatter is called ScatterElements.
_SCATTER = 11

_BY_ATTRIBUTES = frozenset(
    {"Add", "And", "Div", "Equal", "Gemm", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor"}
)
# Rank of batch and channels alone.
_ROWS = 2

_OF_TRAINING = frozenset({"BatchNormalization", "Dropout"})
_DROPPED: dict[str, Any] = {"axis": None, "broadcast": None, "consumed_inputs": None}
_DROPPED_OF_TRAINING: dict[str, Any] = {
    "consumed_inputs": None,
    "is_test": None,
    "ratio": None,
    "spatial": None,
}


def is_old_form(node: SourceNode, opset: int) -> bool:
    """True if the node needs a form of its own to mean the same at `opset`."""
    if node.domain:
        return False
    if node.op_type == "Scatter":
        return node.opset < _SCATTER <= opset
    changed = node.op_type in _BY_ATTRIBUTES | _OF_TRAINING or node.op_type == "PRelu"
    return changed and node.opset < _BROADCAST <= opset


def new_form(ctx: RuleContext) -> Sequence[str]:
    """Write a node in the form of the opset of its context."""
    node = ctx.node
    inputs = [ctx.name(at) for at in range(len(node.inputs))]
    if node.op_type == "Scatter":
        return [ctx.op("ScatterElements", *inputs, axis=ctx.integer("axis", 0))]
    if node.op_type in _OF_TRAINING:
        require(ctx.integer("is_test", 0) == 1, "is_test is 1")
        require(ctx.integer("spatial", 1) == 1, "spatial is 1")
        return ctx.again(*inputs, count=len(node.outputs), **_DROPPED_OF_TRAINING)
    if node.op_type == "PRelu":
        inputs[1] = _slope(ctx)
    elif node.op_type != "Gemm" and ctx.integer("broadcast", 0):
        inputs[1] = _align_operand(ctx)
    return ctx.again(*inputs, count=len(node.outputs), **_DROPPED)


def _align_operand(ctx: RuleContext) -> str:
    """The second operand with axes of 1 after its own, up to the last axis of the first."""
    rank, own = len(ctx.dims(0)), len(ctx.dims(1))
    axis = ctx.integer("axis", rank - own)
    after = rank - (axis % rank if rank else 0) - own
    require(after >= 0, "the axes of B are among those of A")
    if not after:
        return ctx.name(1)
    return ctx.unsqueeze(ctx.name(1), list(range(own, own + after)))


def _slope(ctx: RuleContext) -> str:
    """The slopes, which are one for each channel, with axes of 1 after the channel's."""
    rank, slopes = len(ctx.dims(0)), ctx.shape(1)
    if len(slopes) != 1 or slopes == (1,) or rank <= _ROWS:
        return ctx.name(1)
    return ctx.unsqueeze(ctx.name(1), list(range(1, rank - 1)))


_Branches: TypeAlias = "Mapping[OnnxNode, tuple[Branch, ...]]"

PREFERRED = 12
"""Opset at which every operator of the list `base` is listed."""

_APART = 19
"""Opset from which on onnxruntime runs means with SAME pads of windows apart."""

_AXIS_CHANGED = 13
# Operators that, before opset 13, work on all axes from `axis` on as one.
_COERCED = frozenset({"Hardmax", "LogSoftmax", "Softmax"})


def opsets_to_try(model: SourceModel, library: Library, cann: str | None = None) -> list[int]:
    """The opsets at which `model` may be stated, the best one first; PREFERRED at least.

    First come those at which every listed operator is on the list, nearest the model's own. For the
    release `cann` all are opsets that its parser has for every operator; those that the list lacks
    for some follow, since check restates nodes one by one, and those at which the parser reads an
    operator otherwise than ONNX come last.
    """
    own = model.opsets.get("", PREFERRED)
    specs = {node.op_type: library.find(node.op_type, node.domain) for node in model.all_nodes}
    listed = [spec for spec in specs.values() if spec is not None and not spec.custom]
    common = set.intersection(*(set(spec.opsets) for spec in listed)) if listed else {own}
    tiers = [common]
    if cann is not None:
        release = find_release(cann)
        runs = [run for spec in listed if (run := parser_opsets(spec, release))]
        parsed = [{n for first, last in run for n in range(first, last + 1)} for run in runs]
        taken = set.intersection(*parsed) if parsed else {own}
        read = taken - _deviating_opsets(listed, cann)
        tiers = [read & common, read - common, taken - read]
    nearest = [sorted(tier, key=lambda opset: (abs(opset - own), -opset)) for tier in tiers if tier]
    return [opset for tier in nearest for opset in tier] or [PREFERRED]


def _deviating_opsets(specs: Collection[OpSpec], cann: str) -> set[int]:
    """The opsets at which a release of CANN reads operators otherwise, and at others not."""
    release = find_release(cann)
    spans = (
        row.opsets
        for spec in specs
        for row in spec.deviations
        if row.restated and certainty_on(row, release) is not None
    )
    return {n for span in spans if span is not None for n in range(span[0], span[1] + 1)}


def changed_operators(names: Collection[str], before: int, after: int) -> frozenset[str]:
    """The operators whose versions in force at two opsets differ."""
    known = history()
    pairs = ((name, known.at(name, before), known.at(name, after)) for name in set(names))
    return frozenset(
        name
        for name, old, new in pairs
        if old is None or new is None or old.since_version != new.since_version
    )


_SAME_WITHOUT_ATTRIBUTES = frozenset({"Reshape", "Shape", "Size"})
"""Operators whose versions differ in attributes that older ones do not have, and in dtypes."""


def changed_results(nodes: Collection[OnnxNode], before: int, after: int) -> set[str]:
    """The results of nodes whose operators' versions at two opsets differ, but for equal forms."""
    changed = changed_operators([node.op_type for node in nodes], before, after)
    return {
        name
        for node in nodes
        if not node.domain
        and node.op_type in changed
        and (node.proto.attribute or node.op_type not in _SAME_WITHOUT_ATTRIBUTES)
        for name in node.writes
    }


def restate_graph(graph: OnnxGraph, model: FoldedModel, library: Library, opset: int) -> bool:
    """Write the nodes of a folded graph and of its branches in their forms at `opset`.

    False if a node has none; the graph is as before then. `model` is the same with its branches.
    """
    if graph.opsets.get("", opset) == opset:
        return True
    restating = _Restating(Writer(graph).fresh, library, opset)
    try:
        stated = restating.graph(graph, model.folded.branches)
    except UnfitError:
        return False
    graph.nodes = [node if node.domain else replace(node, opset=opset) for node in stated.nodes]
    graph.opsets = {**graph.opsets, "": opset}
    graph.consts.update(stated.consts)
    return True


Look: TypeAlias = Callable[[], tuple[FoldedModel, Checked]]
"""Folds and checks a graph once more."""


def state_at_best(
    graph: OnnxGraph,
    seen: tuple[FoldedModel, Checked],
    look: Look,
    library: Library,
    cann: str | None,
) -> tuple[FoldedModel, Checked]:
    """State a graph at the best of `opsets_to_try`; return it as it is checked there.

    Where a node has no form at an opset, or one with more errors, the next one is tried; the graph,
    of which `seen` was known, stays at its own where none is left.
    """
    (model, checked), nodes, opsets = seen, list(graph.nodes), graph.opsets
    for opset in opsets_to_try(model.source, library, cann):
        if opset == opsets.get("", 0):
            break
        if not restate_graph(graph, model, library, opset):
            continue
        stated = look()
        if _errors(stated[1]) <= _errors(checked):
            return stated
        graph.nodes, graph.opsets = list(nodes), opsets
        seen = look()
    return seen


def _errors(checked: Checked) -> int:
    return checked.check.counts.get(Standing.ERROR, 0)


class _Restating:
    """A walk over a graph and its branches, each node written in its form at one opset.

    UnfitError is raised for a node that has no form there.
    """

    def __init__(self, fresh: Callable[[str], str], library: Library, opset: int) -> None:
        self._fresh = fresh
        self._library = library
        self._opset = opset

    def graph(self, graph: OnnxGraph, branches: _Branches) -> OnnxGraph:
        """A copy of `graph`, with the new forms of its nodes."""
        copy = replace(graph, consts=dict(graph.consts))
        writer = Writer(copy)
        for node in graph.nodes:
            spec = self._library.find(node.op_type, node.domain)
            if node.domain or (spec is not None and spec.custom):
                writer.keep(node)
            elif is_old_form(node, self._opset):
                ctx = RuleContext(node, self._opset, self._fresh)
                ctx.results = new_form(ctx)
                splice(writer, node, ctx)
            else:
                self._of_version(writer, node, spec, branches.get(node, ()))
        writer.finish()
        return copy

    def _of_version(
        self, writer: Writer, node: OnnxNode, spec: OpSpec | None, branches: Sequence[Branch]
    ) -> None:
        before, after = (history().at(node.op_type, at) for at in (node.opset, self._opset))
        if before is None or after is None or after.deprecated:
            raise UnfitError("")
        if before.since_version == after.since_version and not node.holds_graphs:
            writer.keep(node)
        elif spec is None or (node.opset >= _APART > self._opset and _is_apart(node)):
            raise UnfitError("")
        elif node.holds_graphs:
            writer.keep(self._holder(node, branches, spec))
        else:
            self._in_new_form(writer, node, (spec, before, after))

    def _in_new_form(
        self,
        writer: Writer,
        node: OnnxNode,
        known: tuple[OpSpec, OperatorSchema, OperatorSchema],
    ) -> None:
        """Write one node of another version; `known` has its specification and both definitions."""
        (spec, before, after), opset = known, self._opset
        ctx = RuleContext(node, opset, self._fresh)
        if node.op_type in _COERCED and opset < _AXIS_CHANGED <= node.opset:
            ctx.results = _along_last_axis(ctx, before)
        else:
            moved = _attributes_as_inputs(ctx, after)
            result = restated_at(_without_idle_parts(node), spec, history(), opset, moved)
            if isinstance(result, Text):
                raise UnfitError("")
            attributes: dict[str, Any] = {**result.attributes}
            names = [tensor.name if tensor is not None else "" for tensor in result.inputs]
            names += [""] * (max(moved, default=-1) + 1 - len(names))
            for position, name in moved.items():
                names[position] = name
            # ROI and scales of Resize may be absent, and are empty then.
            for position, (name, formal) in enumerate(zip(names, after.inputs, strict=False)):
                if not name and not formal.optional:
                    element = DType.FLOAT32 if "float32" in formal.elements else DType.INT64
                    names[position] = ctx.const([], element, formal.name)
            ctx.results = ctx.ops(node.op_type, *names, count=len(node.outputs), **attributes)
        splice(writer, node, ctx)

    def _holder(self, node: OnnxNode, branches: Sequence[Branch], spec: OpSpec) -> OnnxNode:
        graphs = node.graphs
        readable = graphs.keys() == {branch.name for branch in branches}
        skip_unless(readable and not any(branch.folded.quantized for branch in branches))
        skip_unless(not isinstance(restated_at(node, spec, history(), self._opset, {}), Text))
        stated = {
            branch.name: branch_message(
                graphs[branch.name],
                self.graph(branch.folded.graph, branch.folded.branches),
                node.captured,
            )
            for branch in branches
        }
        return with_branches(node, stated)


def _is_apart(node: OnnxNode) -> bool:
    """True for means with SAME pads of windows apart."""
    taps, strides = node.integers("kernel_shape"), node.integers("strides")
    apart = any(step > tap for step, tap in zip(strides, taps, strict=False))
    return node.op_type == "AveragePool" and apart and node.text("auto_pad", "") in SAME


def _without_idle_parts(node: OnnxNode) -> OnnxNode:
    """The node without an allowzero or a num_outputs that changes nothing."""
    idle = {"Reshape": ("allowzero", _has_no_zero), "Split": ("num_outputs", _is_even)}
    name, is_idle = idle.get(node.op_type, ("", _is_even))
    if name not in node.attributes or not is_idle(node):
        return node
    left = {key: value for key, value in node.attributes.items() if key != name}
    return replace(node, attributes=left)


def _has_no_zero(node: OnnxNode) -> bool:
    data, shape = node.inputs[0], node.inputs[1]
    known = shape is not None and shape.const is not None and 0 not in shape.const.numpy()
    return known or (data is not None and not data.is_open and 0 not in data.required_dims)


def _is_even(node: OnnxNode) -> bool:
    data, axis, parts = node.inputs[0], node.integer("axis"), len(node.outputs)
    dims = () if data is None or data.dims is None else data.dims
    size = dims[axis] if -len(dims) <= axis < len(dims) else None
    return size is not None and size % parts == 0


def _along_last_axis(ctx: RuleContext, before: OperatorSchema) -> Sequence[str]:
    rank = len(ctx.dims(0))
    default = before.attributes["axis"].default
    axis = ctx.axis(default if isinstance(default, int) else -1, rank)
    order = [*(at for at in range(rank) if at != axis), axis]
    x = ctx.transpose(ctx.name(0), order)
    y = ctx.op(ctx.node.op_type, x, axis=rank - 1)
    return [ctx.transpose(y, [int(each) for each in np.argsort(order)])]


def _attributes_as_inputs(ctx: RuleContext, after: OperatorSchema) -> Mapping[int, str]:
    names = [tensor.name for tensor in after.inputs]
    moved: dict[int, str] = {}
    value: Any
    for name, value in ctx.node.attributes.items():
        if name in names and name not in after.attributes:
            skip_unless(not isinstance(value, str))  # an attribute of a function around the node
            position = names.index(name)
            moved[position] = ctx.const(value, _dtype(ctx, after, position, value), name)
    return moved


def _dtype(ctx: RuleContext, after: OperatorSchema, position: int, value: Any) -> DType:
    elements: Collection[str] = after.inputs[position].elements
    if isinstance(value, float) or (
        isinstance(value, tuple) and value and isinstance(value[0], float)
    ):
        return ctx.element if ctx.element.value in elements else DType.FLOAT32
    return DType.INT64
