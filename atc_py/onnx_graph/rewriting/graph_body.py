"""New nodes, and graphs inside of nodes.

These are the bodies of If, Loop, Scan and SequenceMap, and of operators that ONNX defines as functions of
others, which onnx's own inliner expands.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import onnx
from onnx import helper, inliner

from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode, ValueType
from atc_py.onnx_graph.reading.attributes import constant_of
from atc_py.onnx_graph.reading.contents import locate_contents, type_of_proto
from atc_py.onnx_graph.reading.nodes import captured_names, inner_nodes, subgraphs, with_proto
from atc_py.onnx_graph.reading.tensors import TensorReader


def function_body(
    node: OnnxNode, attributes: Mapping[str, Any], tensors: TensorReader
) -> OnnxGraph | None:
    """The graph that ONNX defines `node` as; None where it has no body.

    Nor has it one where an input is absent before another and the body depends on the inputs'
    types. Inputs and outputs of the node keep their names, absent outputs get one.

    `node` is of ONNX's own domain, all present inputs of known dtype and rank; `attributes` are its
    own, and the defaults of the others; `tensors` reads the body's constants.
    """
    inputs = [tensor.name if tensor is not None else "" for tensor in node.inputs]
    while inputs and not inputs[-1]:
        inputs.pop()
    outputs = [
        tensor.name if tensor is not None else f"{node.op_type}:absent:{position}"
        for position, tensor in enumerate(node.outputs)
    ]
    given = {tensor.name: tensor for tensor in node.inputs if tensor is not None}
    infos = [
        helper.make_tensor_value_info(
            name,
            onnx.TensorProto.DataType.Value(
                {"float32": "FLOAT", "float64": "DOUBLE"}.get(
                    tensor.element, tensor.element.upper()
                )
            ),
            tensor.dims,
        )
        for name, tensor in given.items()
    ]
    call = helper.make_node(node.op_type, inputs, outputs)
    call.attribute.extend(attribute_protos(attributes))
    graph = helper.make_graph(
        [call], "body", infos, [onnx.ValueInfoProto(name=name) for name in outputs]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", node.opset)])
    try:
        inlined = inliner.inline_selected_functions(
            model, [("", node.op_type)], inline_schema_functions=True
        )
    except RuntimeError:
        if "" not in inputs:
            raise
        return None  # onnx's inliner knows no type of an absent input before another
    if any(inner.op_type == node.op_type for inner in inlined.graph.node):
        return None
    return inner_graph(node, inlined.graph, {"": node.opset}, tensors)


def inner_graph(
    node: OnnxNode, proto: onnx.GraphProto, opsets: Mapping[str, int], tensors: TensorReader
) -> OnnxGraph:
    """A graph inside of a node, or one that stands for it; values of Constant are its constants.

    An AtcError tells tensors that cannot be held or whose data is damaged, a ValueError other
    constants than plain tensors.
    """
    path = Path(node.place.file or "")
    read = inner_nodes(proto, node, opsets)
    contents = locate_contents(proto, read, tensors, path)
    nodes, consts = list[OnnxNode](), {**contents.weights}
    for inner in read:
        if inner.domain or inner.op_type != "Constant":
            nodes.append(inner)
            continue
        const = constant_of(inner, tensors)
        if const is None:
            raise ValueError("a constant has no plain form")
        consts[inner.output_names[0]] = const
    if contents.foreign:
        raise ValueError("an initializer has no plain form")
    types = {value.name: type_of_proto(value.type) for value in (*proto.input, *proto.output)}
    names = (value.name for value in proto.input if value.name not in contents.weights)
    return OnnxGraph(
        path=path,
        opsets=opsets,
        nodes=nodes,
        inputs={name: types[name] or ValueType(0, None) for name in names},
        outputs=tuple(value.name for value in proto.output),
        consts=consts,
        declared={name: known for name, known in types.items() if known is not None},
        always_runs=False,
    )


def new_node(  # noqa: PLR0913  (the parts of a node)
    origin: OnnxNode,
    opset: int,
    op_type: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, Any],
    own: Iterable[onnx.AttributeProto] = (),
) -> OnnxNode:
    """A node of ONNX's own domain in place of another one.

    Index, name, place and what `origin` replaced are copied; `own` are messages of further
    attributes.
    """
    proto = helper.make_node(op_type, inputs, outputs, name=origin.name)
    proto.attribute.extend(attribute_protos(attributes))
    proto.attribute.extend(own)
    return OnnxNode(
        index=origin.index,
        proto=proto,
        name=origin.name,
        op_type=op_type,
        domain="",
        opset=opset,
        input_names=tuple(inputs),
        output_names=tuple(outputs),
        captured=captured_names(proto, origin.place),
        origin=origin.place,
        replaces=origin.replaces,
    )


def attribute_protos(attributes: Mapping[str, Any]) -> Iterator[onnx.AttributeProto]:
    """Yield the messages of attributes by name; those that are None are left out.

    An empty list does not show what it is a list of: it is one of integers, as every list of ONNX's
    operators that may be empty.
    """
    for name, value in sorted(attributes.items()):
        if value is not None:
            is_empty = isinstance(value, list | tuple) and not value
            of = onnx.AttributeProto.INTS if is_empty else None
            yield helper.make_attribute(name, value, attr_type=of)


def nodes_written_out(graph: onnx.GraphProto, trips: Mapping[str, int]) -> int:
    """The number of nodes that a graph becomes once loops with trip counts in `trips` are gone.

    `trips` are integer constants around it, by name; those of the graph itself count, too.
    """
    known = {**trips, **_whole_numbers(graph)}
    total = 0
    for node in graph.node:
        repeated = node.op_type == "Loop" and node.input and node.input[0] in known
        times = max(known[node.input[0]], 1) if repeated else 1
        total += 1 + times * sum(nodes_written_out(inner, known) for inner in subgraphs(node))
    return total


def _whole_numbers(graph: onnx.GraphProto) -> dict[str, int]:
    """The constants of a graph that are one int64 each."""
    tensors = {initializer.name: initializer for initializer in graph.initializer}
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "value":
                tensors[node.output[0]] = attribute.t
    return {
        name: int(onnx.numpy_helper.to_array(tensor).reshape(-1)[0])
        for name, tensor in tensors.items()
        if tensor.data_type == onnx.TensorProto.INT64 and list(tensor.dims) in ([], [1])
    }


def has_message(value: object) -> bool:
    """True for the value of an attribute that a message holds; constants of a model have none."""
    plain = int, float, str, bytes, list, tuple, onnx.TensorProto, onnx.GraphProto
    return isinstance(value, (*plain, onnx.SparseTensorProto))


def inner_attributes(
    node: OnnxNode, names: Mapping[str, str], fresh: Callable[[str], str]
) -> dict[str, Any]:
    """The attributes of a node of a body as it is written elsewhere; see `renamed_graph`."""
    values = {each.name: helper.get_attribute_value(each) for each in node.proto.attribute}
    # Of an empty list ONNX's messages do not keep the type; it means what an absent one does.
    return {
        name: renamed_graph(value, names, fresh) if isinstance(value, onnx.GraphProto) else value
        for name, value in values.items()
        if value not in ([], ())
    }


def renamed(node: OnnxNode, names: Mapping[str, str]) -> OnnxNode:
    """A node on values of other names, in the graphs that it holds, too."""
    if names.keys().isdisjoint((*node.reads, *node.writes)):
        return node
    proto = deepcopy(node.proto)
    proto.input[:] = [names.get(name, name) for name in proto.input]
    proto.output[:] = [names.get(name, name) for name in proto.output]
    for inner in subgraphs(proto):
        inner.CopyFrom(renamed_graph(inner, names, lambda name: name))
    return with_proto(node, proto)


def renamed_graph(
    graph: onnx.GraphProto, names: Mapping[str, str], fresh: Callable[[str], str]
) -> onnx.GraphProto:
    """A copy of a graph in which every value that it defines has a name of its own.

    `names` are new names of values around it, by the old ones, and others keep theirs; `fresh`
    returns an unused name, given a base.
    """
    copy = deepcopy(graph)
    scope = dict(names)
    own = dict.fromkeys(
        name
        for name in (
            *(item.name for item in (*copy.input, *copy.initializer)),
            *(item.values.name for item in copy.sparse_initializer),
            *(name for node in copy.node for name in node.output),
        )
        if name
    )
    scope.update((name, fresh(name)) for name in own)
    for value in (*copy.input, *copy.output, *copy.value_info, *copy.initializer):
        value.name = scope.get(value.name, value.name)
    for sparse in copy.sparse_initializer:
        sparse.values.name = scope[sparse.values.name]
    for node in copy.node:
        node.input[:] = [scope.get(name, name) for name in node.input]
        node.output[:] = [scope.get(name, name) for name in node.output]
        for inner in subgraphs(node):
            inner.CopyFrom(renamed_graph(inner, scope, fresh))
    return copy


def levels_of(node: onnx.NodeProto) -> int:
    inner = (other for graph in subgraphs(node) for other in graph.node)
    return max((1 + levels_of(branch) for branch in inner), default=0)
