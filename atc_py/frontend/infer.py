"""Shape inference by onnx, on a graph that holds types and small constants but no weights."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import onnx
from onnx import shape_inference

from atc_py.diag import AtcError, Place
from atc_py.diag.codes import BAD_MODEL, BAD_NODE
from atc_py.frontend.declared import type_of_proto
from atc_py.frontend.doubtful import LOOKED_AT, doubtful_nodes, has_too_many_axes
from atc_py.frontend.graph import ValueType
from atc_py.frontend.quantised_types import (
    as_casts,
    integer_layer_types,
    is_ascend,
    is_integer_layer,
)
from atc_py.frontend.ranks import told_type, told_types
from atc_py.frontend.tensors import element_of_dtype
from atc_py.frontend.window_types import (
    corrected_nodes,
    corrected_types,
    corrected_types_of,
    known_type,
)
from atc_py.shapes import element_count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from atc_py.diag import Diagnostic
    from atc_py.frontend.graph import WorkGraph, WorkNode
    from atc_py.ir import ConstData

__all__ = [
    "infer_node",
    "infer_types",
    "infer_what_can_be",
    "inference_complaint",
    "own_complaint",
]

_SMALL = 256
"""Constants of at most so many elements are shown to inference by value: shapes, axes, scales."""

_IR_VERSION = 8
"""From IR version 4 on initializers need not be inputs too, whatever the file's own version."""

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
    So is an Expand whose shape is computed, until it is known to be of a rank that can be.

    Ranks that onnx leaves open and inputs tell are told by `ranks`, all at once, round by round.

    Raises:
        AtcError: BAD_MODEL where onnx refuses the whole graph; BAD_NODE where a node's result
            would have a negative extent.
    """
    pinned = dict(graph.pinned)
    unsafe = doubtful_nodes(graph)
    odd = corrected_nodes(graph)
    for _ in range(len(graph.nodes) + 1):
        graph.types = _inferred(graph, pinned, unsafe)
        wrong = next((types for types in map(partial(_corrections, graph), odd) if types), None)
        if wrong is not None:
            pinned.update(wrong)
            continue
        told = {**told_types(graph), **integer_layer_types(graph)}
        if told:
            pinned.update(told)
            continue
        ready = {node for node in unsafe if _input_is_sound(graph, node)}
        if not ready:
            return
        unsafe -= ready


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
    return found or refused


def _input_is_sound(graph: WorkGraph, node: WorkNode) -> bool:
    """Whether the extents of the input to look at are known, and such that onnx copes with them.

    Known ones are never negative.
    """
    found = _looked_at(graph, node)
    return found is not None and found.dims is not None and not has_too_many_axes(node, found)


def _looked_at(graph: WorkGraph, node: WorkNode) -> ValueType | None:
    """The type of the input of a node that onnx must not see before it is known."""
    position = LOOKED_AT[node.op_type]
    return known_type(graph, node.inputs[position]) if position < len(node.inputs) else None


def _corrections(graph: WorkGraph, node: WorkNode) -> dict[str, ValueType]:
    """The right types of a node's outputs, where inference got one of them wrong."""
    types = corrected_types(graph, node)
    if is_integer_layer(graph, node):
        sums = onnx.TensorProto.INT32
        types = {name: ValueType(sums, known.dims) for name, known in types.items()}
    right = all(graph.types.get(name) == known for name, known in types.items())
    return {} if right else types


def _inferred(
    graph: WorkGraph, pinned: Mapping[str, ValueType], left_out: set[WorkNode]
) -> dict[str, ValueType]:
    """What onnx infers of all values, given the types of some and without some nodes."""
    try:
        model = _inference_model(graph, pinned, left_out)
        inferred = shape_inference.infer_shapes(model, data_prop=True)
    except _FAILURES as error:
        place = Place(file=str(graph.path))
        raise BAD_MODEL.error(_sentence(error), place=place) from error
    types = {**graph.inputs, **graph.foreign, **pinned}
    negative: dict[str, list[int]] = {}
    for value in (*inferred.graph.value_info, *inferred.graph.output):
        known = type_of_proto(value.type)
        if known is not None:
            types[value.name] = known
        extents = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if min(extents, default=0) < 0:
            negative[value.name] = extents
    _refuse_negative(graph, negative)
    return types


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


def inference_complaint(graph: WorkGraph, node: WorkNode) -> str | None:
    """What contradicts itself in one node, in a sentence, or None."""
    try:
        _infer_node(graph, node)
    except _FAILURES as error:
        return _sentence(error)
    return None


def own_complaint(graph: WorkGraph, node: WorkNode) -> str | None:
    """What contradicts itself in one node; None where that may be what its inputs contradict."""
    inputs = (known_type(graph, name) for name in node.reads)
    if any(known is None or not known.element for known in inputs):
        return None
    return inference_complaint(graph, node)


def _infer_node(graph: WorkGraph, node: WorkNode) -> dict[str, ValueType]:
    """Types of one node's outputs; raises what onnx raises."""
    if is_ascend(node):
        return _infer_casts(graph, node)
    if is_integer_layer(graph, node):
        return _infer_integer_layer(graph, node)
    schema = node.schema
    if schema is None or node.holds_graphs:
        return {}
    if node.op_type in LOOKED_AT and has_too_many_axes(node, _looked_at(graph, node)):
        return {}
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    for name in node.reads:
        const = graph.consts.get(name)
        types[name] = _type_proto(known_type(graph, name) or ValueType(0, None))
        if const is not None and element_count(const.shape) <= _SMALL:
            data[name] = _small_tensor(name, const)
    found = shape_inference.infer_node_outputs(
        schema, node.plain, types, data, opset_imports=_imports(graph.opsets)
    )
    known = ((name, type_of_proto(proto)) for name, proto in found.items())
    return {name: type_ for name, type_ in known if type_ is not None}


def _infer_casts(graph: WorkGraph, node: WorkNode) -> dict[str, ValueType]:
    """Types of what one of Ascend's operators gives: the shape of its input."""
    x = known_type(graph, node.inputs[0]) if node.inputs else None
    dims = None if x is None else x.dims
    return {
        name: ValueType(cast.attribute[0].i, dims)
        for cast in as_casts(node)
        for name in cast.output
    }


def _infer_integer_layer(graph: WorkGraph, node: WorkNode) -> dict[str, ValueType]:
    """Types of a layer on int8: those of the layer on floats, but for the int32 sums."""
    types = {
        name: _type_proto(ValueType(onnx.TensorProto.FLOAT, known.dims if known else None))
        for name in node.reads
        for known in (known_type(graph, name),)
    }
    schema = node.schema
    if schema is None:
        return {}
    found = shape_inference.infer_node_outputs(
        schema, node.plain, types, opset_imports=_imports(graph.opsets)
    )
    known = ((name, type_of_proto(proto)) for name, proto in found.items())
    sums = onnx.TensorProto.INT32
    return {name: ValueType(sums, type_.dims) for name, type_ in known if type_ is not None}


def _inference_model(
    graph: WorkGraph, pinned: Mapping[str, ValueType], left_out: set[WorkNode]
) -> onnx.ModelProto:
    """The graph as a model; large constants are inputs, since only their types matter.

    Nodes whose results are pinned are left out like those in `left_out`, and pinned results are
    inputs, too.
    """
    model = onnx.ModelProto(ir_version=_IR_VERSION)
    model.opset_import.extend(_imports(graph.opsets))
    proto = model.graph
    proto.name = "g"
    for name, known in (*graph.inputs.items(), *graph.foreign.items(), *pinned.items()):
        proto.input.append(_value_info(name, known))
    for name, const in graph.consts.items():
        if element_count(const.shape) <= _SMALL:
            proto.initializer.append(_small_tensor(name, const))
        else:
            known = ValueType(element_of_dtype(const.dtype), const.shape)
            proto.input.append(_value_info(name, known))
    imported = set(graph.opsets)
    for node in graph.nodes:
        # Nobody has looked at the nodes of inner graphs; onnx would infer them along.
        left = node in left_out or node in graph.unsound or node.holds_graphs
        if left or any(name in pinned for name in node.writes):
            continue
        if is_ascend(node):
            proto.node.extend(as_casts(node))
            continue
        proto.node.append(node.plain)
        if node.domain not in imported:
            imported.add(node.domain)
            model.opset_import.append(onnx.OperatorSetIdProto(domain=node.domain, version=1))
        proto.value_info.extend(_declared_values(graph, node))
    taken = {value.name for value in proto.value_info}
    given = (graph.consts, graph.inputs, pinned)
    for name in dict.fromkeys(graph.outputs):
        if name not in taken and not any(name in known for known in given):
            proto.output.append(onnx.ValueInfoProto(name=name))
    return model


def _declared_values(graph: WorkGraph, node: WorkNode) -> list[onnx.ValueInfoProto]:
    """What the file states of the outputs of an operator that ONNX does not define."""
    names = [name for name in node.writes if name in graph.declared]
    if not names or node.schema is not None:
        return []
    return [_value_info(name, graph.declared[name]) for name in names]


def _imports(opsets: Mapping[str, int]) -> list[onnx.OperatorSetIdProto]:
    """The operator sets that a model imports."""
    return [onnx.OperatorSetIdProto(domain=d, version=v) for d, v in opsets.items()]


def _value_info(name: str, known: ValueType) -> onnx.ValueInfoProto:
    """A value with its type."""
    return onnx.ValueInfoProto(name=name, type=_type_proto(known))


def _type_proto(known: ValueType) -> onnx.TypeProto:
    """A tensor type; unknown extents get no name, so that none are taken for equal."""
    proto = onnx.TypeProto()
    proto.tensor_type.elem_type = known.element
    if known.dims is not None:
        shape = proto.tensor_type.shape
        shape.SetInParent()
        for extent in known.dims:
            dim = shape.dim.add()
            if extent is not None:
                dim.dim_value = extent
    return proto


def _small_tensor(name: str, const: ConstData) -> onnx.TensorProto:
    """A constant with its data."""
    return onnx.TensorProto(
        name=name,
        data_type=element_of_dtype(const.dtype),
        dims=const.shape,
        raw_data=const.numpy().tobytes(),
    )


def _sentence(error: BaseException) -> str:
    """The useful part of what onnx says."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = text.removeprefix("[ShapeInferenceError] ").removeprefix("[TypeInferenceError] ")
    return f"shapes or types contradict each other: {text[:400]}"
