"""Parts of an ONNX file as bytes to be written, whose tensors are read one at a time.

Nothing here is large before it is written: a part knows how many bytes it will have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto

from atc_py.diag import Place
from atc_py.ir import ConstData
from atc_py.onnx_graph.folding.graph import subgraphs
from atc_py.onnx_graph.reading.tensors import Elsewhere, TensorReader, element_of_dtype
from atc_py.onnx_graph.reading.wire import CutField, bytes_field, opening
from atc_py.tensor.shapes import element_count

_CHUNK = 16 * 2**20
_LOCATED = ("external_data", "data_location")
"""Fields of a tensor that say where else its data is."""


class ByteSink(Protocol):
    """Target that bytes are written to."""

    def write(self, data: memoryview | bytes, /) -> object:
        """Take some bytes."""


class Part(Protocol):
    """A message in a file."""

    @property
    def size(self) -> int:
        """Number of bytes that `write` will write."""

    def write(self, out: ByteSink) -> None:
        """Write the message, without what stands before it in the message around it."""


class Data(Protocol):
    """The data of a tensor, which stays outside the message until it is written."""

    @property
    def size(self) -> int:
        """Number of bytes of the data."""

    def write(self, out: ByteSink) -> None:
        """Write it."""


@dataclass(frozen=True, slots=True)
class TensorPart:
    """A tensor.

    Attributes:
        head: the message without its data.
        data: its data; None where `head` has all.
        field: the field that the data is.
    """

    head: bytes
    data: Data | None = None
    field: CutField = CutField.RAW_DATA

    @property
    def size(self) -> int:
        """Number of bytes that `write` will write."""
        if self.data is None:
            return len(self.head)
        return len(self.head) + len(self._opening(self.data)) + self.data.size

    def write(self, out: ByteSink) -> None:
        """Write the tensor, its data within it."""
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

    def _opening(self, data: Data) -> bytes:
        """The bytes before the data."""
        return opening(self.field.value, data.size)


@dataclass(frozen=True, slots=True)
class NodePart:
    """A node with tensors whose data is elsewhere; it is made whole each time it is needed."""

    proto: NodeProto
    tensors: TensorReader
    place: Place
    size: int

    def write(self, out: ByteSink) -> None:
        """Write the node, its tensors within it."""
        out.write(whole_node(self.proto, self.tensors, self.place).SerializeToString())


@dataclass(frozen=True, slots=True)
class _Stored:
    """Data in a file."""

    found: Elsewhere

    @property
    def size(self) -> int:
        """Number of bytes of the data."""
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
        """Number of bytes of the data."""
        return element_count(self.const.shape) * self.const.dtype.itemsize

    def write(self, out: ByteSink) -> None:
        """Write it; ONNX's order of bytes is the little-endian one."""
        array = np.asarray(self.const.numpy())
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        out.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        self.const.release()


def stored_tensor(tensor: TensorProto, tensors: TensorReader, place: Place) -> TensorPart:
    """A tensor of the file that was read, unchanged.

    Raises:
        AtcError: its data is not where the file says.
    """
    found = tensors.elsewhere(tensor, place)
    if found is None:
        return TensorPart(tensor.SerializeToString())
    head = TensorProto()
    head.CopyFrom(tensor)
    _remove_location(head)
    return TensorPart(head.SerializeToString(), _Stored(found), found.field)


def new_tensor(name: str, const: ConstData) -> TensorPart:
    """A constant as a tensor of the name given."""
    number = element_of_dtype(const.dtype)
    head = TensorProto(name=name, data_type=number, dims=const.shape)
    return TensorPart(head.SerializeToString(), _Made(const))


def node_part(proto: NodeProto, tensors: TensorReader, place: Place) -> Part:
    """A node of the file that was read, or a new one.

    Raises:
        AtcError: the data of a tensor in it is not where the file says.
    """
    if not any(tensors.elsewhere(each, place) for each in _tensors_of(proto)):
        return TensorPart(proto.SerializeToString())
    return NodePart(proto, tensors, place, whole_node(proto, tensors, place).ByteSize())


def whole_node(proto: NodeProto, tensors: TensorReader, place: Place) -> NodeProto:
    """A node with all data of its tensors in it."""
    whole = NodeProto()
    whole.CopyFrom(proto)
    for tensor in _tensors_of(whole):
        found = tensors.elsewhere(tensor, place)
        if found is not None:
            file, start, size = found.span
            _remove_location(tensor)
            tensor.MergeFromString(bytes_field(found.field.value, file.data[start : start + size]))
    return whole


def _tensors_of(proto: NodeProto) -> Iterator[TensorProto]:
    """Yield all tensors in a node, those of its subgraphs, too."""
    for attribute in proto.attribute:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
    for graph in subgraphs(proto):
        yield from _tensors_in(graph)


def _tensors_in(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        yield from _tensors_of(node)


def _remove_location(tensor: TensorProto) -> None:
    for name in _LOCATED:
        tensor.ClearField(name)
