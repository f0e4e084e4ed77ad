"""Shape inference by onnx, on a graph that holds types and small constants but no weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import shape_inference

from atc_py.diag import AtcError, Place
from atc_py.diag.codes import BAD_MODEL, BAD_NODE
from atc_py.frontend.folding.fold_views import ints_of
from atc_py.frontend.folding.graph import ValueType
from atc_py.frontend.reading.declared import type_of_proto
from atc_py.frontend.typing.custom_types import (
    custom_complaint,
    custom_type,
    custom_types,
    is_custom,
)
from atc_py.frontend.typing.inference_model import (
    SMALL,
    imports,
    inference_model,
    small_tensor,
    type_proto,
)
from atc_py.frontend.typing.long_vectors import has_long_vectors
from atc_py.frontend.typing.misjudged import as_shown, is_misjudged, postponed_nodes
from atc_py.frontend.typing.quantized_types import (
    as_casts,
    integer_layer_types,
    is_ascend,
    is_integer_layer,
)
from atc_py.frontend.typing.rank_inference import told_type, told_types
from atc_py.frontend.typing.reshaping import reshape_complaint
from atc_py.frontend.typing.type_corrections import (
    corrected_nodes,
    corrected_types,
    corrected_types_of,
    known_type,
)
from atc_py.frontend.typing.withheld_nodes import LOOKED_AT, doubtful_nodes, has_too_many_axes
from atc_py.tensor.shapes import element_count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from atc_py.diag import Diagnostic
    from atc_py.frontend.folding.graph import WorkGraph, WorkNode

__all__ = [
    "infer_between",
    "infer_node",
    "infer_types",
    "infer_what_can_be",
    "inference_complaint",
    "own_complaint",
]

_FAILURES = (
    shape_inference.InferenceError,
    onnx.checker.ValidationError,
    RuntimeError,
    ValueError,
    TypeError,
    IndexError,
    OverflowError,
    MemoryError,
)
"""What onnx raises for models that it cannot make sense of."""


def infer_types(graph: WorkGraph) -> None:
    """Work out `graph.types` for what its nodes compute, from inputs and constants alone.

    Types that the file states itself are used only for operators that ONNX does not define: they
    describe the shapes that the model was exported with, which need not be the ones bound.

    What onnx gets wrong is worked out in `window_types`: inference runs again with the right types
    in their place, from the inputs on until all are right.

    A Slice or GatherND behind a window is kept from onnx until the type of its input is known and
    sound: onnx ends the process where a window larger than its input has left a negative extent.
    So is an Expand whose shape is computed, until it is known to be of a rank that can be, and what
    `misjudged` says, until enough is known of its inputs.

    Ranks that onnx leaves open and inputs tell are told by `ranks`, all at once, round by round.

    Chains of such nodes take a run each. Where the runs of a graph come to VISITS nodes, what is
    left is inferred node by node, without what onnx knows of the values of computed shapes.

    Raises:
        AtcError: BAD_MODEL where onnx refuses the whole graph, or a node contradicts itself;
            BAD_NODE where a node's result would have a negative extent.
    """
    found = _complaints(graph) if _infer_whole(graph) else _infer_one_by_one(graph)
    if found:
        raise AtcError(*found)


def _infer_whole(graph: WorkGraph) -> bool:
    """Infer the whole graph again and again; whether nothing more comes of it.

    It is not so where the runs that the graph may have are used up.
    """
    pinned = dict(graph.pinned)
    unsafe = doubtful_nodes(graph) | postponed_nodes(graph)
    odd = frozenset(corrected_nodes(graph))
    for _ in range(len(graph.nodes) + 1):
        if not graph.may_run:
            return False
        graph.runs += 1
        graph.types = _inferred(graph, pinned, unsafe)
        wrong = _independent_corrections(graph, odd) if odd else {}
        if wrong:
            pinned.update(wrong)
            continue
        told = {**told_types(graph), **integer_layer_types(graph), **custom_types(graph)}
        if told:
            pinned.update(told)
            continue
        ready = {node for node in unsafe if _input_is_sound(graph, node)}
        if not ready:
            break
        unsafe -= ready
        # A type that was told without extents, behind one of these, may be told with them now.
        pinned = {
            name: known
            for name, known in pinned.items()
            if known.dims is not None or name in graph.pinned
        }
    return True


def _complaints(graph: WorkGraph) -> list[Diagnostic]:
    """Return what is wrong with nodes although onnx infers them."""
    complaints = ((node, reshape_complaint(graph, node)) for node in graph.nodes)
    return [BAD_MODEL.diagnostic(text, place=node.place) for node, text in complaints if text]


def infer_what_can_be(graph: WorkGraph) -> list[Diagnostic]:
    """Work out `graph.types` as far as they can be; what contradicts itself stays unknown.

    Returns:
        What is wrong: BAD_MODEL for every node that contradicts itself, or what `infer_types`
        raises where no node alone does.
    """
    try:
        infer_types(graph)
    except AtcError as error:
        refused = list(error.diagnostics)
    else:
        return []
    return _infer_one_by_one(graph) or refused


def infer_between(graph: WorkGraph, nodes: Iterable[WorkNode]) -> None:
    """Update the types of what some nodes compute to what is now known of their inputs.

    Args:
        graph: the graph.
        nodes: those of its nodes whose inputs have become known better, producers first.
    """
    for node in nodes:
        for name in node.writes:
            graph.types.pop(name, None)
        if node not in graph.unsound:
            graph.types.update({**infer_node(graph, node), **corrected_types_of(graph, node)})
            graph.types.update(told_type(graph, node))


def _infer_one_by_one(graph: WorkGraph) -> list[Diagnostic]:
    """Work out `graph.types` in one walk; BAD_MODEL for every node that contradicts itself."""
    graph.types = {**graph.inputs, **graph.foreign, **graph.pinned}
    found: list[Diagnostic] = []
    for node in graph.nodes:
        if node in graph.unsound:
            continue
        complaint = own_complaint(graph, node)
        if complaint is not None:
            found.append(BAD_MODEL.diagnostic(complaint, place=node.place))
            continue
        graph.types.update({**infer_node(graph, node), **corrected_types_of(graph, node)})
        graph.types.update(told_type(graph, node))
    return found


def _independent_corrections(graph: WorkGraph, odd: Collection[WorkNode]) -> dict[str, ValueType]:
    """Return the right types where inference got them wrong, of nodes not after another one."""
    wrong: dict[str, ValueType] = {}
    behind: set[str] = set()
    for node in graph.nodes:
        if not behind.isdisjoint(node.reads):
            behind.update(node.writes)
        elif node in odd and (types := _corrections(graph, node)):
            wrong.update(types)
            behind.update(node.writes)
    return wrong


def _input_is_sound(graph: WorkGraph, node: WorkNode) -> bool:
    """Return True if the dims of the input in question are known, and onnx copes with them.

    Known ones are never negative.
    """
    if node.op_type not in LOOKED_AT:
        return not is_misjudged(graph, node)
    found = _looked_at(graph, node)
    return found is not None and found.dims is not None and not has_too_many_axes(node, found)


def _looked_at(graph: WorkGraph, node: WorkNode) -> ValueType | None:
    """Return the type of the input of a node that onnx must not see before it is known."""
    position = LOOKED_AT[node.op_type]
    return known_type(graph, node.inputs[position]) if position < len(node.inputs) else None


def _corrections(graph: WorkGraph, node: WorkNode) -> dict[str, ValueType]:
    """Return the right types of a node's outputs, where inference got one of them wrong."""
    types = corrected_types(graph, node)
    if is_integer_layer(graph, node):
        sums = onnx.TensorProto.INT32
        types = {name: ValueType(sums, known.dims) for name, known in types.items()}
    right = all(graph.types.get(name) == known for name, known in types.items())
    return {} if right else types


def _inferred(
    graph: WorkGraph, pinned: Mapping[str, ValueType], left_out: set[WorkNode]
) -> dict[str, ValueType]:
    """Return what onnx infers of all values, given the types of some and without some nodes."""
    try:
        model = inference_model(graph, pinned, left_out)
        follow = not has_long_vectors(model, graph.types)
        inferred = shape_inference.infer_shapes(model, data_prop=follow)
    except _FAILURES as error:
        place = Place(file=str(graph.path))
        raise BAD_MODEL.error(_sentence(error), place=place) from error
    types = {**graph.inputs, **graph.foreign, **pinned}
    negative = dict(_negative_expansions(graph))
    for value in (*inferred.graph.value_info, *inferred.graph.output):
        known = type_of_proto(value.type)
        if known is not None:
            types[value.name] = known
        extents = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if min(extents, default=0) < 0:
            negative[value.name] = extents
    _refuse_negative(graph, negative)
    return types


def _negative_expansions(graph: WorkGraph) -> Iterator[tuple[str, list[int]]]:
    """Yield the results of Expand whose constant shape has negative dims; onnx ignores these."""
    for node in graph.nodes:
        if node.op_type == "Expand" and not node.domain and len(node.inputs) > 1:
            extents = ints_of(graph.consts.get(node.inputs[1])) or ()
            if min(extents, default=0) < 0:
                yield from ((name, list(extents)) for name in node.writes)


def _refuse_negative(graph: WorkGraph, negative: Mapping[str, list[int]]) -> None:
    """Refuse the nodes whose results would have negative extents.

    Raises:
        AtcError: BAD_NODE for the first of them; what comes behind it is of no use.
    """
    for node in graph.nodes:
        for name in node.writes:
            if name in negative:
                raise BAD_NODE.error(
                    f"the result of {node.op_type} would have the extents {negative[name]}: "
                    "its window, pads or bounds do not fit its input",
                    place=node.place,
                    help="check --input-shape, the kernel and the pads",
                )


def infer_node(graph: WorkGraph, node: WorkNode) -> dict[str, ValueType]:
    """Return types of one node's outputs from what is known of its inputs.

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


def inference_complaint(graph: WorkGraph, node: WorkNode) -> str | None:
    """Return what contradicts itself in one node, in a sentence, or None."""
    try:
        _infer_node(graph, node)
    except _FAILURES as error:
        return _sentence(error)
    return custom_complaint(graph, node) if is_custom(node) else reshape_complaint(graph, node)


def own_complaint(graph: WorkGraph, node: WorkNode) -> str | None:
    """Return what contradicts itself in one node; None where its inputs may be to blame."""
    inputs = (known_type(graph, name) for name in node.reads)
    if any(known is None or not known.element for known in inputs):
        return None
    return inference_complaint(graph, node)


def _infer_node(graph: WorkGraph, node: WorkNode) -> dict[str, ValueType]:
    """Return types of one node's outputs; raises what onnx raises."""
    if is_ascend(node):
        return _infer_casts(graph, node)
    if is_integer_layer(graph, node):
        return _infer_integer_layer(graph, node)
    if is_custom(node):
        return custom_type(graph, node)
    schema = node.schema
    if schema is None or node.holds_graphs or is_misjudged(graph, node):
        return {}
    if node.op_type in LOOKED_AT and has_too_many_axes(node, _looked_at(graph, node)):
        return {}
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    for name in node.reads:
        const = graph.consts.get(name)
        types[name] = type_proto(known_type(graph, name) or ValueType(0, None))
        if const is not None and element_count(const.shape) <= SMALL:
            data[name] = small_tensor(name, const)
    found = shape_inference.infer_node_outputs(
        schema, as_shown(node), types, data, opset_imports=_own_imports(graph, node)
    )
    known = ((name, type_of_proto(proto)) for name, proto in found.items())
    return {name: type_ for name, type_ in known if type_ is not None}


def _own_imports(graph: WorkGraph, node: WorkNode) -> list[onnx.OperatorSetIdProto]:
    """Return the operator sets that matter to a node; a file may import any number."""
    own = dict.fromkeys(("", node.domain))
    return imports({domain: graph.opsets[domain] for domain in own if domain in graph.opsets})


def _infer_casts(graph: WorkGraph, node: WorkNode) -> dict[str, ValueType]:
    """Return types of what one of Ascend's operators gives: the shape of its input."""
    x = known_type(graph, node.inputs[0]) if node.inputs else None
    dims = None if x is None else x.dims
    return {
        name: ValueType(cast.attribute[0].i, dims)
        for cast in as_casts(node)
        for name in cast.output
    }


def _infer_integer_layer(graph: WorkGraph, node: WorkNode) -> dict[str, ValueType]:
    """Return types of a layer on int8: those of the layer on floats, but for the int32 sums."""
    types = {
        name: type_proto(ValueType(onnx.TensorProto.FLOAT, known.dims if known else None))
        for name in node.reads
        for known in (known_type(graph, name),)
    }
    schema = node.schema
    if schema is None:
        return {}
    found = shape_inference.infer_node_outputs(
        schema, node.plain, types, opset_imports=_own_imports(graph, node)
    )
    known = ((name, type_of_proto(proto)) for name, proto in found.items())
    sums = onnx.TensorProto.INT32
    return {name: ValueType(sums, type_.dims) for name, type_ in known if type_ is not None}


def _sentence(error: BaseException) -> str:
    """Return the useful part of what onnx says."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = text.removeprefix("[ShapeInferenceError] ").removeprefix("[TypeInferenceError] ")
    return f"shapes or types contradict each other: {text[:400]}"
