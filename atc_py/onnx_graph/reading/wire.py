"""The protobuf wire format of ONNX files, read just far enough to cut large tensor data out.

A model file is walked field by field without being loaded. Only messages long enough to hold
large data are entered: model -> graph -> node -> attribute -> tensor or graph, and initializers.
What remains is the same message without the data; each cut leaves a marker that looks like a
reference to external data whose location starts with a token that the caller makes up afresh for
every file, so no file can hold one of its own.
"""

from enum import Enum

import msgspec

from atc_py.system.wire import BYTES, VARINT, Buffer, WireError, bytes_field, tag, wire_fields
from atc_py.text import Text

THRESHOLD = 4096
"""Data of at least this many bytes is cut out; shorter messages are not entered."""

_MAX_DEPTH = 90
"""Messages inside messages; protobuf's own parser stops at 100."""

_MAX_TENSOR_FIELDS = 65536
"""A tensor of more fields than that holds its numbers one by one and is left as it is."""

MOST_KEPT = 2**28
"""Bytes that a file may have beside the data that is cut out; parsed, they take several times as
many."""

MOST_FIELDS = 500_000
"""Fields of the messages that are entered: nodes, tensors and stated types above all."""


class WireSizeError(WireError):
    """The message is sound as far as it was read, and larger than may be."""


class CutField(Enum):
    """Fields of TensorProto that are cut out, by number."""

    FLOAT_DATA = 4
    RAW_DATA = 9
    DOUBLE_DATA = 10


class Cut(msgspec.Struct, frozen=True):
    """Data that was cut out: `size` bytes of the file from `start`, from `field` of a tensor."""

    field: CutField
    start: int
    size: int


class Slimmed(msgspec.Struct):
    """A message without its large data."""

    data: bytes  # the message, valid protobuf where the original was
    token: str  # what every marker's location starts with; a number follows
    cuts: list[Cut] = msgspec.field(default_factory=list)  # what was cut out, by that number


class _Kind(Enum):
    """Messages that can hold large tensors, by how they are entered."""

    MODEL = "model"
    GRAPH = "graph"
    FUNCTION = "function"
    NODE = "node"
    ATTRIBUTE = "attribute"
    TENSOR = "tensor"


_CHILDREN: dict[_Kind, dict[int, _Kind]] = {
    _Kind.MODEL: {7: _Kind.GRAPH, 25: _Kind.FUNCTION},
    _Kind.GRAPH: {1: _Kind.NODE, 5: _Kind.TENSOR},
    _Kind.FUNCTION: {7: _Kind.NODE},
    _Kind.NODE: {5: _Kind.ATTRIBUTE},
    _Kind.ATTRIBUTE: {5: _Kind.TENSOR, 6: _Kind.GRAPH, 10: _Kind.TENSOR, 11: _Kind.GRAPH},
    _Kind.TENSOR: {},
}
_CUT_FIELDS = {member.value: member for member in CutField}


def cut_large_data(
    buffer: Buffer, token: str, threshold: int = THRESHOLD, most: int = MOST_KEPT
) -> Slimmed:
    """The ModelProto in `buffer` without tensor data of `threshold` bytes or more.

    `token` is what markers start with; `most` bytes may be left. WireSizeError if more are, or if
    there are more than MOST_FIELDS fields; WireError for bytes that break the wire format.
    """
    slimmer = _Slimmer(buffer, token, threshold, most)
    data = slimmer.message(_Kind.MODEL, 0, len(buffer), 0)
    if data is None:
        slimmer.check_size(len(buffer))
    slimmer.result.data = buffer[:] if data is None else data
    return slimmer.result


class _Slimmer:
    """One walk over a file."""

    def __init__(self, buffer: Buffer, token: str, threshold: int, most: int) -> None:
        self._buffer = buffer
        self._threshold = threshold
        self._most = most
        self._cut = 0
        self._left = MOST_FIELDS
        self.result = Slimmed(b"", token)

    def check_size(self, size: int) -> None:
        """Refuse too many bytes beside the data that is cut out."""
        if size > self._most:
            raise WireSizeError(
                Text(
                    "it has {size} bytes beside the raw data of its tensors, the limit is {most}",
                    size=size,
                    most=self._most,
                )
            )

    def message(self, kind: _Kind, start: int, end: int, depth: int) -> bytes | None:
        """The message from `start` to `end` without large data; None if it holds none."""
        if depth > _MAX_DEPTH:
            raise WireError(
                Text(
                    "messages are nested more than {max_depth} deep at byte {start}",
                    max_depth=_MAX_DEPTH,
                    start=start,
                )
            )
        if kind is _Kind.TENSOR:
            return self._tensor(start, end)
        chunks: list[bytes] = []
        kept, before = start, self._cut
        children = _CHILDREN[kind]
        for field in wire_fields(self._buffer, start, end):
            self._left -= 1
            if self._left < 0:
                raise WireSizeError(
                    Text(
                        "its messages have more than {most_fields} fields", most_fields=MOST_FIELDS
                    )
                )
            child = children.get(field.number) if field.wire == BYTES else None
            if child is None or field.end - field.body < self._threshold:
                continue
            slim = self.message(child, field.body, field.end, depth + 1)
            if slim is not None:
                chunks += [self._buffer[kept : field.start], bytes_field(field.number, slim)]
                kept = field.end
                self.check_size(kept - start - (self._cut - before))
        if not chunks:
            return None
        self.check_size(end - start - (self._cut - before))
        return b"".join([*chunks, self._buffer[kept:end]])

    def _tensor(self, start: int, end: int) -> bytes | None:
        """The tensor between `start` and `end` without large data; None if it holds none."""
        chunks: list[bytes] = []
        cuts: list[Cut] = []
        kept, cut_bytes = start, 0
        for count, field in enumerate(wire_fields(self._buffer, start, end)):
            if count >= _MAX_TENSOR_FIELDS:
                return None
            size = field.end - field.body
            cut = _CUT_FIELDS.get(field.number) if field.wire == BYTES else None
            if cut is not None and size >= self._threshold:
                cuts.append(Cut(cut, field.body, size))
                cut_bytes += size
                self.check_size(field.end - start - cut_bytes)
                chunks.append(self._buffer[kept : field.start])
                kept = field.end
        if not cuts:
            return None
        self.check_size(end - start - cut_bytes)
        self._cut += cut_bytes
        return b"".join([*chunks, self._buffer[kept:end], *map(self._marker, cuts)])

    def _marker(self, cut: Cut) -> bytes:
        """Fields external_data and data_location of a tensor, standing for `cut`."""
        location = f"{self.result.token}{len(self.result.cuts)}"
        self.result.cuts.append(cut)
        entry = bytes_field(1, b"location") + bytes_field(2, location.encode())
        return bytes_field(13, entry) + tag(14, VARINT) + b"\x01"
