"""A model's message in parts, which is written part by part; weights are read one at a time.

Nothing is large before it is written: a part knows how many bytes it will have. Above protobuf's
size limit, or if requested, weights go into one file beside the model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Protocol

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from atc_py.diag import Place
from atc_py.ir import ConstData
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.nodes import subgraphs, with_proto
from atc_py.onnx_graph.reading.tensors import Elsewhere, TensorReader, element_of_dtype
from atc_py.onnx_graph.reading.wire import CutField
from atc_py.system.atomic_files import atomic_write
from atc_py.system.wire import bytes_field, opening
from atc_py.tensor.shapes import element_count

_CHUNK = 16 * 2**20
_LOCATED = ("external_data", "data_location")
"""Fields of a tensor that say where else its data is."""

INLINE_LIMIT = 1_800_000_000
"""Size of a model above which weights go into a file beside it; protobuf's limit is 2 GiB."""

LEAST_EXTERNAL = 1024
"""Weights of fewer bytes stay in the model."""

_GRAPH, _NODE, _INITIALIZER = 7, 1, 5
"""Numbers of the fields: of a model, and of a graph."""


class ByteSink(Protocol):
    """Target that bytes are written to."""

    def write(self, data: memoryview | bytes, /) -> object:
        """Take some bytes."""


class Part(Protocol):
    """A message in a file, or the data of a tensor, which stays outside it until it is written."""

    @property
    def size(self) -> int:
        """Number of bytes that `write` will write."""

    def write(self, out: ByteSink) -> None:
        """Write it, without what stands before it in the message around it."""


@dataclass(frozen=True, slots=True)
class TensorPart:
    """A tensor."""

    head: bytes  # the message without its data
    data: Part | None = None  # its data; None where `head` has all
    field: CutField = CutField.RAW_DATA  # the field that the data is

    @property
    def size(self) -> int:
        if self.data is None:
            return len(self.head)
        return len(self.head) + len(self._opening(self.data)) + self.data.size

    def write(self, out: ByteSink) -> None:
        out.write(self.head)
        if self.data is not None:
            out.write(self._opening(self.data))
            self.data.write(out)

    def located(self, location: str, offset: int) -> TensorPart:
        """The tensor whose data is in another file."""
        if self.data is None:
            return self
        tensor = TensorProto(data_location=TensorProto.EXTERNAL)
        entries = {"location": location, "offset": offset, "length": self.data.size}
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=str(value))
        return TensorPart(self.head + tensor.SerializeToString())

    def _opening(self, data: Part) -> bytes:
        return opening(self.field.value, data.size)


@dataclass(frozen=True, slots=True)
class NodePart:
    """A node with tensors whose data is elsewhere; it is made whole each time it is needed."""

    proto: NodeProto
    tensors: TensorReader
    place: Place
    size: int

    def write(self, out: ByteSink) -> None:
        out.write(whole_node(self.proto, self.tensors, self.place).SerializeToString())


@dataclass(frozen=True, slots=True)
class _Stored:
    """Data in a file."""

    found: Elsewhere

    @property
    def size(self) -> int:
        return self.found.span.size

    def write(self, out: ByteSink) -> None:
        file, start, size = self.found.span
        view = memoryview(file.data)
        for at in range(start, start + size, _CHUNK):
            out.write(view[at : min(at + _CHUNK, start + size)])
        view.release()
        file.release(start, size)


@dataclass(frozen=True, slots=True)
class _Made:
    """Data of a constant, which may be computed when it is read."""

    const: ConstData

    @property
    def size(self) -> int:
        return element_count(self.const.shape) * self.const.dtype.itemsize

    def write(self, out: ByteSink) -> None:
        """Write the data; ONNX's order of bytes is the little-endian one."""
        array = np.asarray(self.const.numpy())
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        out.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        self.const.release()


def stored_tensor(tensor: TensorProto, tensors: TensorReader, place: Place) -> TensorPart:
    """A tensor of the file that was read, unchanged."""
    elsewhere = tensors.elsewhere(tensor, place)
    if elsewhere is None:
        return TensorPart(tensor.SerializeToString())
    head = deepcopy(tensor)
    _remove_location(head)
    return TensorPart(head.SerializeToString(), _Stored(elsewhere), elsewhere.field)


def new_tensor(name: str, const: ConstData) -> TensorPart:
    number = element_of_dtype(const.dtype)
    head = TensorProto(name=name, data_type=number, dims=const.shape)
    return TensorPart(head.SerializeToString(), _Made(const))


def node_part(proto: NodeProto, tensors: TensorReader, place: Place) -> Part:
    """A node of the file that was read, or a new one."""
    if not any(tensors.elsewhere(tensor, place) for tensor in _tensors_of(proto)):
        return TensorPart(proto.SerializeToString())
    return NodePart(proto, tensors, place, whole_node(proto, tensors, place).ByteSize())


def whole_node(proto: NodeProto, tensors: TensorReader, place: Place) -> NodeProto:
    """The node with all data inside: `proto` itself, not to be changed, or a copy."""
    if all(tensors.elsewhere(tensor, place) is None for tensor in _tensors_of(proto)):
        return proto
    whole = deepcopy(proto)
    for tensor in _tensors_of(whole):
        _make_whole(tensor, tensors, place)
    return whole


def whole_tensor(proto: TensorProto, tensors: TensorReader, place: Place) -> TensorProto:
    whole = deepcopy(proto)
    _make_whole(whole, tensors, place)
    return whole


def _make_whole(tensor: TensorProto, tensors: TensorReader, place: Place) -> None:
    elsewhere = tensors.elsewhere(tensor, place)
    if elsewhere is not None:
        file, start, size = elsewhere.span
        _remove_location(tensor)
        tensor.MergeFromString(bytes_field(elsewhere.field.value, file.data[start : start + size]))


def _tensors_of(proto: NodeProto) -> Iterator[TensorProto]:
    """Yield all tensors in a node, those of its subgraphs, too."""
    for attribute in proto.attribute:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
    for graph in subgraphs(proto):
        yield from graph.initializer
        for node in graph.node:
            yield from _tensors_of(node)


def _remove_location(tensor: TensorProto) -> None:
    for name in _LOCATED:
        tensor.ClearField(name)


def data_path(model: Path) -> Path:
    """The path of the file beside `model` that takes its weights."""
    return model.with_name(f"{model.name}.data")


@dataclass(slots=True)
class ModelMessage:
    """A model's message."""

    head: bytes  # the model without its graph, serialized
    body: bytes  # the graph without `nodes` and `weights`, serialized
    nodes: Sequence[Part]  # nodes that `body` does not have
    weights: list[TensorPart]  # initializers
    alignment: int  # alignment of weights in the file beside the model, in bytes
    # weights whose data goes beside the model, with the bytes that takes
    moved: list[tuple[TensorPart, int]] = field(default_factory=list)

    @staticmethod
    def of(
        model: ModelProto,
        graph: GraphProto,
        nodes: Sequence[Part],
        weights: list[TensorPart],
        alignment: int,
    ) -> ModelMessage:
        head, body = model.SerializeToString(), graph.SerializeToString()
        return ModelMessage(head, body, nodes, weights, alignment)

    @property
    def size(self) -> int:
        body = self._body_size()
        return len(self.head) + len(opening(_GRAPH, body)) + body

    @property
    def is_large(self) -> bool:
        """True if the model is too large for weights in it."""
        return self.size > INLINE_LIMIT

    def move_weights(self, location: str) -> None:
        offset = 0
        for position, part in enumerate(self.weights):
            if part.data is None or part.data.size < LEAST_EXTERNAL:
                continue
            self.weights[position] = part.located(location, offset)
            size = part.data.size + -part.data.size % self.alignment
            self.moved.append((part, size))
            offset += size

    def write(self, out: ByteSink) -> None:
        out.write(self.head)
        out.write(opening(_GRAPH, self._body_size()))
        out.write(self.body)
        for number, part in self._parts():
            out.write(opening(number, part.size))
            part.write(out)

    def save(self, output: Path, data: Path | None) -> int:
        """Write the model to `output`, and its weights to `data` unless that is None.

        Each file appears whole or not at all, or CANNOT_WRITE is raised. Returned are the bytes
        written.
        """
        if data is not None:
            self.move_weights(data.name)
        with ExitStack() as stack:
            # Neither gets its name before both are written, and the model gets its own last: it
            # must not say where weights are that are not there yet.
            model = stack.enter_context(atomic_write(output))
            if data is not None:
                out = stack.enter_context(atomic_write(data))
                for part, size in self.moved:
                    if part.data is not None:
                        part.data.write(out)
                        out.write(bytes(size - part.data.size))
            self.write(model)
            model.flush()
        return self.size + sum(size for _, size in self.moved)

    def _parts(self) -> Iterator[tuple[int, Part]]:
        yield from ((_NODE, part) for part in self.nodes)
        yield from ((_INITIALIZER, part) for part in self.weights)

    def _body_size(self) -> int:
        sizes = ((number, part.size) for number, part in self._parts())
        return len(self.body) + sum(len(opening(number, size)) + size for number, size in sizes)


def branch_message(
    before: onnx.GraphProto, graph: OnnxGraph, captured: Collection[str]
) -> onnx.GraphProto:
    """A branch in its new form; `captured` are names that the node takes from around it."""
    after = onnx.GraphProto(name=before.name, doc_string=before.doc_string)
    after.node.extend(node.proto for node in graph.nodes)
    after.output.extend(before.output)
    made = {name for node in graph.nodes for name in node.writes}
    after.value_info.extend(value for value in before.value_info if value.name in made)
    own = {initializer.name: initializer for initializer in before.initializer}
    for name in sorted(graph.used_names() - made - {*captured}):
        if name in own:
            after.initializer.append(own[name])
        elif name in graph.consts:
            data = BytesIO()
            new_tensor(name, graph.consts[name]).write(data)
            after.initializer.add().ParseFromString(data.getvalue())
    return after


def with_branches(node: OnnxNode, branches: Mapping[str, onnx.GraphProto]) -> OnnxNode:
    """A node with other graphs, by the names of their attributes."""
    proto = deepcopy(node.proto)
    for attribute in proto.attribute:
        if attribute.name in branches:
            attribute.g.CopyFrom(branches[attribute.name])
    return with_proto(node, proto)
