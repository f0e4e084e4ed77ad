"""Shape inference by onnx, on a graph that holds types and small constants but no weights.

It has more than 400 lines: runs over the whole graph and runs node by node, which share most.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from sys import intern
from typing import TypeAlias

import msgspec
from onnx.onnx_cpp2py_export import checker, shape_inference
from onnx.onnx_pb import GraphProto, TensorProto, TypeProto

from atc_py.diag import BAD_MODEL, AtcError, Diagnostic, Place
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode, ValueType
from atc_py.onnx_graph.reading.contents import type_of_proto
from atc_py.onnx_graph.reading.tensors import known_type
from atc_py.onnx_graph.typing.inference_model import (
    SMALL,
    dims_below_zero,
    doubtful_values,
    fill_tensor,
    has_long_vectors,
    infer_shapes,
    inference_model,
    refuse_negative_dims,
    type_proto,
)
from atc_py.onnx_graph.typing.type_rules import (
    Contradiction,
    Negative,
    Override,
    Question,
    Refinement,
    Shown,
    Withheld,
    has_rules,
    verdicts,
)
from atc_py.system.process import MANY_NODES, release_to_system
from atc_py.system.structs import replace
from atc_py.tensor.shapes import element_count
from atc_py.text import Text

_FAILURES = (
    shape_inference.InferenceError,
    checker.ValidationError,
    RuntimeError,
    ValueError,
    TypeError,
    IndexError,
    OverflowError,
    MemoryError,
)
"""What onnx raises for models that it cannot make sense of."""


def infer_types(
    graph: OnnxGraph, fold: Callable[[], bool] | None = None, *, strict: bool = False
) -> list[Diagnostic]:
    """Work out `graph.types` for what its nodes compute, from inputs and constants alone.

    Types that the file states itself are used only for operators that ONNX does not define: they
    describe the shapes that the model was exported with, which need not be the ones bound.

    What onnx gets wrong or leaves open is worked out by type rules, and inference runs again with
    the right types in their place, from the inputs on until all are right. What the rules withhold
    from onnx, since it would end the process or take one thing for another, is kept from it until
    enough is known of the inputs.

    Chains of such nodes take a run each. Where the runs of a graph come to VISITS nodes, and where
    onnx refuses the graph, it is inferred node by node, without what onnx knows of the values of
    computed shapes; results of a node that contradicts itself stay unknown.

    `fold` folds the graph by the types known so far, and returns True if that changed it. It is
    called before each run that would find more: nodes that it takes out need no types.

    The faults are BAD_MODEL for every node that contradicts itself; where none alone does,
    BAD_MODEL for what onnx says of the graph, or BAD_NODE for results that would have a negative
    dim. If `strict`, the first are raised, in the words of the whole graph's inference.
    """
    try:
        faults = _infer_whole(graph, fold)
    except AtcError as error:
        if strict:
            raise
        faults = list(error.diagnostics)
    if faults is None:
        faults = _infer_one_by_one(graph)
    elif faults and not strict:
        faults = _infer_one_by_one(graph) or faults
    if faults and strict:
        raise AtcError(*faults)
    return faults


def _infer_whole(graph: OnnxGraph, fold: Callable[[], bool] | None) -> list[Diagnostic] | None:
    """Infer the whole graph again and again until nothing more comes of it.

    Returned is what is wrong with nodes although onnx infers them; None where the runs that the
    graph may have are used up.
    """
    pinned = dict(graph.pinned)
    hints = _hints(graph)
    left = len(graph.nodes) + 1  # each run settles a node at least, or nothing more settles
    while graph.may_run:
        graph.runs += 1
        left -= 1
        graph.types = _inferred(graph, pinned, hints)
        overrides, refinements, contradictions = _corrected_types(graph)
        if not left:
            return contradictions
        if overrides:
            pinned.update(overrides)
            continue
        ready = hints.ready()
        if not ready and not refinements:
            return contradictions
        if fold is not None and fold():
            pinned, hints = dict(graph.pinned), _hints(graph)
            hints.release()  # what is known of inputs still holds
            left = len(graph.nodes) + 1
            continue
        if refinements:
            pinned.update(refinements)
            continue
        hints.release()
        # What was found in part, after one of these, may be found whole now.
        pinned = {
            name: known
            for name, known in pinned.items()
            if name in graph.pinned
            or not (known.dims is None or len({dim is None for dim in known.dims}) > 1)
        }
    return None


class _Hints(msgspec.Struct):
    """Verdicts on a graph that count before onnx is asked about it."""

    # the nodes that onnx must not see yet
    withheld: dict[OnnxNode, Question] = msgspec.field(default_factory=dict)
    # what it is shown in place of others
    shown: dict[OnnxNode, Shown] = msgspec.field(default_factory=dict)
    # dims of results that it passes over, by name
    negative: dict[str, tuple[int, ...]] = msgspec.field(default_factory=dict)

    def ready(self) -> list[OnnxNode]:
        """The withheld nodes of whose inputs enough is known now."""
        return [asked.node for asked in self.withheld.values() if not _is_withheld(asked)]

    def release(self) -> None:
        for node in self.ready():
            del self.withheld[node]


def _hints(graph: OnnxGraph) -> _Hints:
    """Consult the rules about a graph of which nothing has been inferred."""
    hints = _Hints()
    doubtful = doubtful_values(graph)
    for node in graph.nodes:
        if not has_rules(node, before=True):
            continue
        asked = Question(graph, node, doubtful=doubtful)
        for verdict in verdicts(replace(asked, blind=True), before=True):
            if isinstance(verdict, Withheld):
                hints.withheld[node] = asked
            elif isinstance(verdict, Shown):
                hints.shown[node] = verdict
            elif isinstance(verdict, Negative):
                hints.negative.update(dict.fromkeys(node.writes, verdict.dims))
    return hints


def _is_withheld(asked: Question) -> bool:
    """True if a rule still keeps a node from onnx."""
    return any(isinstance(verdict, Withheld) for verdict in verdicts(asked, before=True))


_Types: TypeAlias = dict[str, ValueType]


def _corrected_types(graph: OnnxGraph) -> tuple[_Types, _Types, list[Diagnostic]]:
    """The types that rules put in the place of wrong ones and of open ones, and contradictions.

    Nodes that depend on another one whose type is wrong are not judged.
    """
    overrides: _Types = {}
    refinements: _Types = {}
    contradictions: dict[OnnxNode, Diagnostic] = {}  # of a node the first
    behind: set[str] = set()
    for node in graph.nodes:
        if behind and not behind.isdisjoint(node.reads):
            behind.update(node.writes)
            continue
        if not has_rules(node, before=False):
            continue
        for verdict in verdicts(Question(graph, node), before=False):
            # Inference leaves out a node with a pinned result, so all of its results are pinned.
            if isinstance(verdict, Override) and _differ(graph, verdict.types):
                overrides.update(verdict.types)
                behind.update(node.writes)
            elif isinstance(verdict, Refinement) and _differ(graph, verdict.types):
                refinements.update(verdict.types)
            elif isinstance(verdict, Contradiction) and node not in contradictions:
                contradictions[node] = BAD_MODEL.diagnostic(verdict.reason, place=node.place)
    return overrides, refinements, list(contradictions.values())


def _differ(graph: OnnxGraph, types: Mapping[str, ValueType]) -> bool:
    return any(graph.types.get(name) != known for name, known in types.items())


def _contradiction(asked: Question) -> Text | None:
    """The contradiction in a node that onnx infers nonetheless, or None."""
    answers = verdicts(asked, before=False)
    return next((item.reason for item in answers if isinstance(item, Contradiction)), None)


def infer_between(graph: OnnxGraph, nodes: Iterable[OnnxNode]) -> None:
    """Update the types of what `nodes` compute to what is now known of their inputs.

    Producers come first among these nodes of the graph.
    """
    for node in nodes:
        for name in node.writes:
            graph.types.pop(name, None)
        if node not in graph.unsound:
            _infer_next(graph, node)


def _infer_next(graph: OnnxGraph, node: OnnxNode) -> None:
    """Update the types of what one node computes, all before it being inferred."""
    graph.types.update(infer_node(graph, node))
    for verdict in verdicts(Question(graph, node, alone=True), before=False):
        if isinstance(verdict, Override | Refinement):
            graph.types.update(verdict.types)


def _infer_one_by_one(graph: OnnxGraph) -> list[Diagnostic]:
    """Work out `graph.types` in one walk; BAD_MODEL for every node that contradicts itself."""
    graph.types = {**graph.inputs, **graph.foreign, **graph.pinned}
    faults: list[Diagnostic] = []
    for node in graph.nodes:
        if node in graph.unsound:
            continue
        complaint = own_complaint(graph, node)
        if complaint is not None:
            faults.append(BAD_MODEL.diagnostic(complaint, place=node.place))
            continue
        _infer_next(graph, node)
    return faults


def _inferred(
    graph: OnnxGraph, pinned: Mapping[str, ValueType], hints: _Hints
) -> dict[str, ValueType]:
    """The types that onnx infers of all values, given the types of some and without some nodes."""
    is_hinted = pinned or hints.withheld or hints.shown or hints.negative
    is_odd = graph.unsound or graph.foreign or graph.kinds
    if len(graph.nodes) >= MANY_NODES and not (is_hinted or is_odd):
        from atc_py.onnx_graph.typing.inference_by_kind import infer_by_kind  # few are as large

        types = infer_by_kind(graph, lambda piece: _inferred(piece, {}, _Hints()))
        if types is not None:
            return types
    try:
        model = inference_model(graph, pinned, hints.withheld, hints.shown)
        follow = not has_long_vectors(model, graph.types)
        # A model takes six times the memory of its bytes, which are all that onnx reads.
        written = model.SerializeToString()
        del model
        inferred = infer_shapes(written, data_prop=follow)
    except _FAILURES as error:
        place = Place(file=str(graph.path))
        raise BAD_MODEL.error(_sentence(error), place=place) from error
    types = {**graph.inputs, **graph.foreign, **pinned}
    negative: dict[str, Sequence[int]] = dict(hints.negative)
    _read_types(inferred.graph, types, negative)
    if negative:
        refuse_negative_dims(graph, negative)
    if len(graph.nodes) >= MANY_NODES:  # some 3 KiB a node
        del inferred
        release_to_system()
    return types


def _read_types(
    graph: GraphProto, types: dict[str, ValueType], negative: dict[str, Sequence[int]]
) -> None:
    seen: dict[bytes, tuple[ValueType | None, list[int]]] = {}
    for value in chain(graph.value_info, graph.output):
        # Many values are of few types, and one look-up takes less than reading a type's fields.
        key = value.type.SerializeToString()
        entry = seen.get(key)
        if entry is None:
            entry = seen[key] = type_of_proto(value.type), dims_below_zero(value.type)
        if entry[0] is not None:
            types[intern(value.name)] = entry[0]
        if entry[1]:
            negative[value.name] = entry[1]


def infer_node(graph: OnnxGraph, node: OnnxNode) -> dict[str, ValueType]:
    """Types of one node's outputs from what is known of its inputs.

    Inference on the whole graph knows more of operators that are functions of others; what it
    found, if it has run, completes the types. Outputs that nothing is known of are left out.
    """
    try:
        types = _infer_node(graph, node)
    except _FAILURES:
        return {}
    for name in node.writes:
        if name in graph.types and (name not in types or types[name].shape is None):
            types[name] = graph.types[name]
    return types


def inference_complaint(graph: OnnxGraph, node: OnnxNode) -> Text | None:
    """The contradiction in one node, in a sentence, or None."""
    asked = Question(graph, node, alone=True)
    try:
        _infer_node(graph, node)
    except _FAILURES as error:
        return _contradiction(asked) or _sentence(error)
    return _contradiction(asked)


def own_complaint(graph: OnnxGraph, node: OnnxNode) -> Text | None:
    """The contradiction in one node; None where its inputs may be to blame."""
    inputs = (known_type(graph, name) for name in node.reads)
    if any(known is None or not known.element for known in inputs):
        return None
    return inference_complaint(graph, node)


def _infer_node(graph: OnnxGraph, node: OnnxNode) -> dict[str, ValueType]:
    """Types of one node's outputs, by onnx or in place of it; raises what onnx raises."""
    shown = Shown((node.plain,))
    for verdict in verdicts(Question(graph, node, alone=True), before=True):
        if isinstance(verdict, Withheld):
            return {}
        if isinstance(verdict, Override):
            return verdict.types
        if isinstance(verdict, Shown):
            shown = verdict
    schema = node.schema
    if schema is None or node.holds_graphs:
        return {}
    types: dict[str, bytes] = {}
    data: dict[str, bytes] = {}
    for name in node.reads:
        const = graph.consts.get(name)
        known = known_type(graph, name) or ValueType(0, None)
        proto = type_proto(ValueType(shown.reads or known.element, known.dims))
        types[name] = proto.SerializeToString()
        if const is not None and element_count(const.shape) <= SMALL and not shown.reads:
            tensor = TensorProto()
            fill_tensor(tensor, name, const)
            data[name] = tensor.SerializeToString()
    # As onnx.shape_inference calls it, which cannot be imported without all of onnx.
    outputs = schema._infer_node_outputs(  # type: ignore[call-arg]  # noqa: SLF001
        shown.nodes[0].SerializeToString(), types, data, {}, _own_opsets(graph, node)
    )
    inferred = (
        (name, type_of_proto(TypeProto.FromString(proto))) for name, proto in outputs.items()
    )
    return {
        name: ValueType(shown.gives or known.element, known.dims)
        for name, known in inferred
        if known is not None
    }


def _own_opsets(graph: OnnxGraph, node: OnnxNode) -> dict[str, int]:
    """The operator sets that matter to a node; a file may import any number."""
    own = dict.fromkeys(("", node.domain))
    return {domain: graph.opsets[domain] for domain in own if domain in graph.opsets}


def _sentence(error: BaseException) -> Text:
    text = " ".join(str(error).split()) or type(error).__name__
    text = text.removeprefix("[ShapeInferenceError] ").removeprefix("[TypeInferenceError] ")
    return Text("shapes or types contradict each other: {text}", text=text[:400])
