"""Nodes of a graph's message: their names as text, and the names that graphs within them take."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from sys import intern
from typing import cast

from onnx.onnx_pb import GraphProto, NodeProto

from atc_py.diag import NOT_ONNX, Place
from atc_py.onnx_graph.graph import SHARED_BYTES, OnnxNode
from atc_py.system.structs import replace
from atc_py.system.wire import read_varint
from atc_py.text import Text


def text_of(value: str | bytes, place: Place) -> str:
    """`value`, which must be text: names in ONNX files are UTF-8. Else NOT_ONNX is raised."""
    if isinstance(value, bytes):
        raise NOT_ONNX.error(
            Text("the name {value} is not UTF-8", value=repr(value[:40])), place=place
        )
    return value


def texts_of(values: Iterable[str | bytes], place: Place) -> tuple[str, ...]:
    texts = tuple(values)
    if not are_texts(texts):
        return tuple(text_of(value, place) for value in texts)
    return tuple(map(intern, cast("tuple[str, ...]", texts)))


def are_texts(values: tuple[str | bytes, ...]) -> bool:
    return bytes not in map(type, values)


def make_nodes(proto: GraphProto, opsets: Mapping[str, int], path: Path) -> list[OnnxNode]:
    """The nodes of `proto`, in the file's order."""
    reader = _Reader(opsets, str(path))
    return [reader.node(index, node) for index, node in enumerate(proto.node)]


def inner_nodes(proto: GraphProto, outer: OnnxNode, opsets: Mapping[str, int]) -> list[OnnxNode]:
    """The nodes of a subgraph of `outer`; they have the index of `outer`."""
    reader = _Reader(opsets, str(Path(outer.place.file or "")))
    return [reader.node(outer.index, node) for node in proto.node]


def all_inner_nodes(node: OnnxNode, opsets: Mapping[str, int]) -> Iterator[OnnxNode]:
    """Yield the nodes of a node's subgraphs, and of theirs."""
    for graph in subgraphs(node.proto):
        for inner in inner_nodes(graph, node, opsets):
            yield inner
            yield from all_inner_nodes(inner, opsets)


class _Reader:
    """A reader of the nodes of one graph.

    Asking a message for its fields takes several times as long as finding them in its bytes, which
    have the names first, and then what many nodes share.
    """

    def __init__(self, opsets: Mapping[str, int], file: str) -> None:
        self._opsets = opsets
        self._file = file
        self._known: dict[Hashable, OnnxNode] = {}

    def node(self, index: int, proto: NodeProto) -> OnnxNode:
        data = proto.SerializePartialToString()
        try:
            inputs, outputs, name, start = _names(data)
            end = _end_of_attributes(data, start)
        except (IndexError, UnicodeDecodeError):
            return self._checked(index, proto, b"")
        stated = data[start:end]
        key = stated if end == len(data) else (stated, proto.domain)
        alike = self._known.get(key)
        if alike is None:
            alike = self._known[key] = self._checked(index, proto, stated)
            return alike
        return OnnxNode(
            index=index,
            proto=proto,
            name=name,
            op_type=alike.op_type,
            domain=alike.domain,
            opset=alike.opset,
            input_names=inputs,
            output_names=outputs,
            captured=alike.captured,
            origin=self._file,
            stated=alike.stated,
        )

    def _checked(self, index: int, proto: NodeProto, stated: bytes) -> OnnxNode:
        name, op_type = proto.name, proto.op_type
        if not are_texts((name, op_type)):
            anywhere = Place(file=self._file, node=index)
            name, op_type = text_of(name, anywhere), text_of(op_type, anywhere)
        op_type = intern(op_type)
        place = Place(self._file, index, name, op_type)
        domain = normal_domain(text_of(proto.domain, place))
        return OnnxNode(
            index=index,
            proto=proto,
            name=name,
            op_type=op_type,
            domain=domain,
            opset=self._opsets.get(domain, 0),
            input_names=texts_of(proto.input, place),
            output_names=texts_of(proto.output, place),
            captured=captured_names(proto, place),
            origin=self._file,
            stated=b"" if proto.domain or len(stated) > SHARED_BYTES else stated,
        )


_NAMES = (0x0A, 0x12, 0x1A)
"""The bytes that begin inputs, outputs and name; their fields have the lowest numbers."""

_SHARED = b"\x22\x2a"
"""The bytes that begin operator and attributes, whose fields come next."""

_ONE_BYTE = 0x7F
"""The largest size that takes one byte."""


def _names(data: bytes) -> tuple[tuple[str, ...], tuple[str, ...], str, int]:
    """Inputs, outputs and name of a node's message, and the place after them.

    IndexError where the message ends there, UnicodeDecodeError for a name that is not UTF-8.
    """
    at = 0
    names: list[list[str]] = []
    for kind in _NAMES:
        texts: list[str] = []
        while data[at] == kind:
            size, at = data[at + 1], at + 2
            if size > _ONE_BYTE:
                size, at = read_varint(data, at - 1, len(data))
            texts.append(intern(data[at : at + size].decode()))
            at += size
        names.append(texts)
    inputs, outputs, own = names
    return tuple(inputs), tuple(outputs), own[-1] if own else "", at


def _end_of_attributes(data: bytes, at: int) -> int:
    """The end of operator and attributes, which begin at `at`."""
    end = len(data)
    while at < end and data[at] in _SHARED:
        size, at = data[at + 1], at + 2
        if size > _ONE_BYTE:
            size, at = read_varint(data, at - 1, end)
        at += size
    return at


def distinct(nodes: Iterable[OnnxNode]) -> Iterable[OnnxNode]:
    """The first one of nodes that state the same."""
    known: dict[Hashable, OnnxNode] = {}
    for node in nodes:
        known.setdefault(node.stated or node, node)
    return known.values()


def with_proto(node: OnnxNode, proto: NodeProto) -> OnnxNode:
    """A node with another message, of the same operator."""
    return replace(
        node,
        proto=proto,
        name=proto.name,
        input_names=tuple(proto.input),
        output_names=tuple(proto.output),
        captured=captured_names(proto, node.place),
        origin=node.place,
        stated=b"",
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
    """The names that the graphs inside of a node take from around it, each once."""
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
