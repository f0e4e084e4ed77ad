"""Nodes and graphs inside of nodes as plain values.

These are the bodies of If, Loop, Scan and SequenceMap, and of operators that ONNX defines as functions of
others, which onnx's own inliner expands.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, inliner, numpy_helper

from atc_py.diag import Place
from atc_py.onnx_graph.graph import OnnxNode, ValueType
from atc_py.onnx_graph.reading.contents import type_of_proto
from atc_py.onnx_graph.reading.nodes import subgraphs
from atc_py.onnx_graph.reading.tensors import TensorReader, dense_array
from atc_py.onnx_graph.source import SourceNode
from atc_py.system.structs import replace


class PlainNode(msgspec.Struct, frozen=True):
    """A node outside of a graph: one of a body, or one that a rule writes.

    Attributes:
        inputs: names by position; "" for one that is absent.
        outputs: names by position.
        attributes: by name; tensors and graphs are messages, or constants of the model.
        domain: "" for ONNX's own.
        value: the data of a Constant; None for other operators.
    """

    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    domain: str = ""
    value: NDArray[Any] | None = None

    @property
    def new_attributes(self) -> dict[str, Any]:
        """The attributes; constants among them stay in the form of the node that is replaced."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self.attributes.items()
            if isinstance(value, int | float | str | list | tuple) or is_message(value)
        }

    def renamed(self, names: Mapping[str, str]) -> "PlainNode":
        """The same on values of other names, in the graphs that it holds, too."""
        return replace(
            self,
            inputs=tuple(names.get(name, name) for name in self.inputs),
            outputs=tuple(names.get(name, name) for name in self.outputs),
            attributes=renamed_attributes(self.attributes, names, lambda name: name),
        )


def function_body(node: SourceNode, attributes: Mapping[str, Any]) -> Sequence[PlainNode] | None:
    """The nodes that ONNX defines `node` as, producers first; None where it has no body.

    Nor has it one where an input is absent before another and the body depends on the inputs' types.
    Inputs and outputs of the node keep their names, absent outputs get one.

    Args:
        node: a node of ONNX's own domain, all present inputs of known dtype and rank.
        attributes: those of the node, and the defaults of the others.
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
    opset = helper.make_opsetid("", node.opset)
    model = helper.make_model(graph, opset_imports=[opset])
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
    return [body_node(inner) for inner in inlined.graph.node]


def body_node(
    node: onnx.NodeProto, tensors: TensorReader | None = None, place: Place | None = None
) -> PlainNode:
    """One node as plain values; `tensors` reads the data of a Constant elsewhere in the file."""
    if (
        node.op_type == "Constant"
        and tensors
        and node.attribute
        and node.attribute[0].HasField("t")
    ):
        data = tensors.const(node.attribute[0].t, place or Place()).numpy()
        return PlainNode("Constant", (), tuple(node.output), {}, "", data)
    values = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    values = {name: v.decode() if isinstance(v, bytes) else v for name, v in values.items()}
    # Of an empty list ONNX's messages do not keep the type; it means what an absent one does.
    attributes = {name: value for name, value in values.items() if value not in ([], ())}
    value = None
    if node.op_type == "Constant":
        value = _constant(values)
        attributes = {}
    domain = "" if node.domain == "ai.onnx" else node.domain
    return PlainNode(node.op_type, tuple(node.input), tuple(node.output), attributes, domain, value)


def _constant(attributes: Mapping[str, Any]) -> NDArray[Any]:
    ((name, value),) = attributes.items()
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, onnx.SparseTensorProto):
        return dense_array(value)
    return np.asarray(value, np.float32 if name.startswith("value_float") else np.int64)


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


class GraphBody(msgspec.Struct, frozen=True):
    """A graph inside of a node.

    Attributes:
        types: types that the file states for its outputs; None where it states none.
        nodes: producers first; graphs that they hold are among their attributes.
        constants: data of its initializers by name.
        size: number of nodes, those of the graphs inside included as often as they run, if that is
            known.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    types: tuple[ValueType | None, ...]
    nodes: tuple[PlainNode, ...]
    constants: Mapping[str, NDArray[Any]]
    size: int


def graph_bodies(
    node: OnnxNode, tensors: TensorReader, trips: Mapping[str, int]
) -> dict[str, GraphBody]:
    """The graphs that a node holds, by the names of their attributes.

    Args:
        node: the node.
        tensors: reads the tensors of its graphs.
        trips: integer constants around it, by name.

    Raises:
        AtcError: for tensors that cannot be held or whose data is damaged.
        ValueError: a graph has sparse initializers.
    """
    bodies: dict[str, GraphBody] = {}
    for name, graph in node.graphs.items():
        if graph.sparse_initializer:
            raise ValueError("sparse initializers have no plain form")
        constants = {
            initializer.name: tensors.const(initializer, node.place).numpy()
            for initializer in graph.initializer
        }
        bodies[name] = GraphBody(
            tuple(value.name for value in graph.input if value.name not in constants),
            tuple(value.name for value in graph.output),
            tuple(type_of_proto(value.type) for value in graph.output),
            tuple(body_node(inner, tensors, node.place) for inner in graph.node),
            constants,
            _size(graph, trips),
        )
    return bodies


def _size(graph: onnx.GraphProto, trips: Mapping[str, int]) -> int:
    """The number of nodes that a graph becomes once loops with trip counts in `trips` are gone."""
    known = {**trips, **_whole_numbers(graph)}
    total = 0
    for node in graph.node:
        repeated = node.op_type == "Loop" and node.input and node.input[0] in known
        times = max(known[node.input[0]], 1) if repeated else 1
        total += 1 + times * sum(_size(inner, known) for inner in subgraphs(node))
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


def is_message(value: object) -> bool:
    """True if an attribute's value is a tensor or a graph as the file has it."""
    return isinstance(value, onnx.TensorProto | onnx.GraphProto | onnx.SparseTensorProto)


def renamed_attributes(
    attributes: Mapping[str, Any], names: Mapping[str, str], fresh: Callable[[str], str]
) -> dict[str, Any]:
    """Attributes whose graphs define names of their own; see `renamed_graph`."""
    return {
        name: renamed_graph(value, names, fresh) if isinstance(value, onnx.GraphProto) else value
        for name, value in attributes.items()
    }


def renamed_graph(
    graph: onnx.GraphProto, names: Mapping[str, str], fresh: Callable[[str], str]
) -> onnx.GraphProto:
    """A copy of a graph in which every value that it defines has a name of its own.

    Args:
        graph: the graph.
        names: new names of values around it, by the old ones; others keep theirs.
        fresh: returns an unused name, given a base.
    """
    copy = onnx.GraphProto()
    copy.CopyFrom(graph)
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
