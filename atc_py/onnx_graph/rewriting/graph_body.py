"""Graphs inside of nodes as plain values: the bodies of If, Loop, Scan and SequenceMap."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import onnx
from numpy.typing import NDArray

from atc_py.diag import Place
from atc_py.onnx_graph.folding.graph import ValueType, WorkNode, subgraphs
from atc_py.onnx_graph.reading.declared import type_of_proto
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.rewriting.function_body import BodyNode, body_node


class GraphBody(msgspec.Struct, frozen=True):
    """A graph inside of a node.

    Attributes:
        inputs: names of its inputs.
        outputs: names of its outputs.
        types: types that the file states for its outputs; None where it states none.
        nodes: producers first; graphs that they hold are among their attributes.
        constants: data of its initializers by name.
        size: number of nodes, those of the graphs inside included as often as they run, if that is
            known.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    types: tuple[ValueType | None, ...]
    nodes: tuple[BodyNode, ...]
    constants: Mapping[str, NDArray[Any]]
    size: int


def graph_bodies(
    node: WorkNode, tensors: TensorReader, trips: Mapping[str, int]
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
    found: dict[str, GraphBody] = {}
    for attribute in node.proto.attribute:
        if not attribute.HasField("g"):
            continue
        graph = attribute.g
        if graph.sparse_initializer:
            raise ValueError("sparse initializers have no plain form")
        constants = {
            each.name: tensors.const(each, node.place).numpy() for each in graph.initializer
        }
        found[attribute.name] = GraphBody(
            tuple(each.name for each in graph.input if each.name not in constants),
            tuple(each.name for each in graph.output),
            tuple(type_of_proto(each.type) for each in graph.output),
            tuple(_body_node(each, tensors, node.place) for each in graph.node),
            constants,
            _size(graph, trips),
        )
    return found


def _body_node(proto: onnx.NodeProto, tensors: TensorReader, place: Place) -> BodyNode:
    """A node; the data of a Constant may be elsewhere in the file."""
    if proto.op_type == "Constant" and proto.attribute and proto.attribute[0].HasField("t"):
        value = tensors.const(proto.attribute[0].t, place).numpy()
        return BodyNode("Constant", (), tuple(proto.output), {}, "", value)
    return body_node(proto)


def _size(graph: onnx.GraphProto, trips: Mapping[str, int]) -> int:
    """The number of nodes that a graph becomes once loops with known trip counts are gone.

    Args:
        graph: the graph.
        trips: integer constants around it, by name.
    """
    known = {**trips, **_whole_numbers(graph)}
    total = 0
    for node in graph.node:
        repeated = node.op_type == "Loop" and node.input and node.input[0] in known
        times = max(known[node.input[0]], 1) if repeated else 1
        total += 1 + times * sum(_size(each, known) for each in subgraphs(node))
    return total


def _whole_numbers(graph: onnx.GraphProto) -> dict[str, int]:
    """The constants of a graph that are one int64 each."""
    tensors = {each.name: each for each in graph.initializer}
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "value":
                tensors[node.output[0]] = attribute.t
    return {
        name: int(onnx.numpy_helper.to_array(each).reshape(-1)[0])
        for name, each in tensors.items()
        if each.data_type == onnx.TensorProto.INT64 and list(each.dims) in ([], [1])
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
            *(each.name for each in (*copy.input, *copy.initializer)),
            *(each.values.name for each in copy.sparse_initializer),
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
        node.input[:] = [scope.get(each, each) for each in node.input]
        node.output[:] = [scope.get(each, each) for each in node.output]
        for inner in subgraphs(node):
            inner.CopyFrom(renamed_graph(inner, scope, fresh))
    return copy
