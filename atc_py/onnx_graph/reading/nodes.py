"""Nodes of a graph's message: their names as text, and the names that graphs within them take."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from sys import intern
from typing import cast

from onnx.onnx_pb import GraphProto, NodeProto

from atc_py.diag import NOT_ONNX, Place
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.system.structs import replace
from atc_py.text import Text


def text_of(value: str | bytes, place: Place) -> str:
    """`value`, which must be text.

    Raises:
        AtcError: NOT_ONNX where it is not UTF-8; names in ONNX files are.
    """
    if isinstance(value, bytes):
        raise NOT_ONNX.error(
            Text("the name {value} is not UTF-8", value=repr(value[:40])), place=place
        )
    return value


def texts_of(values: Iterable[str | bytes], place: Place) -> tuple[str, ...]:
    """All of `values`, each of which must be text.

    Raises:
        AtcError: NOT_ONNX where one is not UTF-8.
    """
    texts = tuple(values)
    if not are_texts(texts):
        return tuple(text_of(value, place) for value in texts)
    return tuple(map(intern, cast("tuple[str, ...]", texts)))


def are_texts(values: tuple[str | bytes, ...]) -> bool:
    """True if all of `values` are text."""
    return bytes not in map(type, values)


def make_nodes(proto: GraphProto, opsets: Mapping[str, int], path: Path) -> list[OnnxNode]:
    """The nodes of `proto`, in the file's order.

    Raises:
        AtcError: NOT_ONNX for names that are not text.
    """
    file = str(path)
    return [_node(index, node, opsets, file) for index, node in enumerate(proto.node)]


def inner_nodes(proto: GraphProto, outer: OnnxNode, opsets: Mapping[str, int]) -> list[OnnxNode]:
    """The nodes of a subgraph of `outer`; they have the index of `outer`.

    Raises:
        AtcError: NOT_ONNX for names that are not text.
    """
    file = str(Path(outer.place.file or ""))
    return [_node(outer.index, node, opsets, file) for node in proto.node]


def _node(index: int, proto: NodeProto, opsets: Mapping[str, int], file: str) -> OnnxNode:
    name, op_type = proto.name, proto.op_type
    if not are_texts((name, op_type)):
        anywhere = Place(file=file, node=index)
        name, op_type = text_of(name, anywhere), text_of(op_type, anywhere)
    op_type = intern(op_type)
    place = Place(file, index, name, op_type)
    domain = normal_domain(text_of(proto.domain, place))
    return OnnxNode(
        index=index,
        proto=proto,
        name=name,
        op_type=op_type,
        domain=domain,
        opset=opsets.get(domain, 0),
        input_names=texts_of(proto.input, place),
        output_names=texts_of(proto.output, place),
        captured=captured_names(proto, place),
        place=place,
    )


def copied(node: NodeProto) -> NodeProto:
    """A message that may be changed."""
    copy = NodeProto()
    copy.CopyFrom(node)
    return copy


def with_proto(node: OnnxNode, proto: NodeProto) -> OnnxNode:
    """A node with another message, of the same operator."""
    return replace(
        node,
        proto=proto,
        name=proto.name,
        input_names=tuple(proto.input),
        output_names=tuple(proto.output),
        captured=captured_names(proto, node.place),
    )


def normal_domain(domain: str) -> str:
    """`domain`, with "" for both names of ONNX's own."""
    return "" if domain == "ai.onnx" else domain


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """Yield the graphs among a node's attributes."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def nodes_within(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """Yield nodes, each with the nodes of the graphs in it."""
    for node in nodes:
        yield node
        for graph in subgraphs(node):
            yield from nodes_within(graph.node)


def captured_names(node: NodeProto, place: Place) -> tuple[str, ...]:
    """The names that the graphs inside of a node take from around it, each once.

    Raises:
        AtcError: NOT_ONNX for names that are not text.
    """
    if not node.attribute:
        return ()
    names = (name for graph in subgraphs(node) for name in _captured(graph, place))
    return tuple(dict.fromkeys(names))


def inner_names(node: NodeProto) -> Iterator[str]:
    """Yield the names that the graphs inside of a node define."""
    for graph in subgraphs(node):
        yield from (value.name for value in (*graph.input, *graph.initializer))
        for inner in graph.node:
            yield from filter(None, inner.output)
            yield from inner_names(inner)


def _captured(graph: GraphProto, place: Place) -> Iterator[str]:
    """Yield names that `graph` uses and does not define."""
    defined = {value.name for value in (*graph.input, *graph.initializer)}
    for node in graph.node:
        defined.update(node.output)
    for node in graph.node:
        inner = [name for graph in subgraphs(node) for name in _captured(graph, place)]
        for name in (*texts_of(node.input, place), *inner):
            if name and name not in defined:
                yield name
    for output in graph.output:
        if output.name not in defined:
            yield text_of(output.name, place)
