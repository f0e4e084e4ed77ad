"""Dumps of a board: one file has the inputs and outputs of an op in the order of its storage.

Version 2 is a length, a protobuf message and the bytes after it; of version 1 the message is the file
and has the bytes in it. Devices without protobuf write blocks of tag and length in its place. The
numbers of fields are those of the writer in CANN's runtime [proven]; no file of a board was at hand.
"""

import struct
from collections.abc import Iterator
from mmap import mmap
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from numpy.typing import NDArray

from atc_py.diag import AtcError
from atc_py.package.ge.dump_statistics import bad_dump, read_statistics
from atc_py.package.ge.dump_tensors import DumpTensor, format_name, unpacked
from atc_py.package.ge.messages import dtype_name
from atc_py.package.ge.schema import DATA_TYPES
from atc_py.package.ge.source import ByteSpan, GeSource, span_of
from atc_py.system.input_files import map_file
from atc_py.system.structs import replace
from atc_py.system.wire import BYTES, WireField
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

STATISTICS = ".csv"
"""Suffix of files with statistics alone."""

_LENGTH = struct.Struct("<Q")
_MOST_TENSORS = 4096
_MOST_RANK = 16
_MOST_TEXT = 4096


class Dump(msgspec.Struct, frozen=True):
    """The content of a file."""

    op: str  # name of the op, unescaped; empty where the file does not say
    inputs: tuple[DumpTensor, ...]
    outputs: tuple[DumpTensor, ...]
    data: mmap | bytes  # the bytes of the file

    def array(self, tensor: DumpTensor) -> NDArray[Any]:
        """The elements in the order and dims of the network, as `unpacked` gives them."""
        return unpacked(tensor, self.data)


class DumpSource(GeSource):
    """The bytes of a dump; a fault is BAD_DUMP."""

    __slots__ = ()

    def fault(self, message: Text, part: str = "") -> AtcError:
        return bad_dump(self.file, message, part or None)


def read_dump(path: Path) -> Dump:
    """The dump in a file, or the table of statistics.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE or BAD_DUMP.
    """
    if path.suffix == STATISTICS:
        rows = (
            DumpTensor(
                row.dtype, row.layout, row.dims, (), 1, "", -1, ByteSpan(0, 0), row.statistics
            )
            for row in read_statistics(path)
        )
        return Dump("", (), tuple(rows), b"")
    data = map_file(path)
    return dump_of(data, str(path))


def dump_of(data: mmap | bytes, file: str) -> Dump:
    source = DumpSource(data, file)
    if len(data) < _LENGTH.size:
        raise source.fault(Text("it has {count} bytes, too few for a dump", count=len(data)))
    (length,) = _LENGTH.unpack_from(data, 0)
    head = ByteSpan(_LENGTH.size, _LENGTH.size + length)
    if head.end > len(data):
        if data[:1] == _VERSION_TAG:  # version 1: the text of the version stands first
            return _Message(source, ByteSpan(0, len(data)), None).dump()
        raise source.fault(
            Text(
                "its header should end at byte {end}, but the file has {size}",
                end=head.end,
                size=len(data),
            )
        )
    if bytes(data[head.start : head.start + 4]) == _NANO_MAGIC:
        return _nano(source, head)
    return _Message(source, head, head.end).dump()


_VERSION_TAG = b"\x0a"


def _nano(source: DumpSource, head: ByteSpan) -> Dump:
    at = head.end
    sides = []
    for tensors in _NanoReader(source, head).sides():
        side = []
        for tensor in tensors:
            span = _placed(source, at, tensor.span.size)
            at = span.end
            side.append(replace(tensor, span=span))
        sides.append(tuple(side))
    return Dump("", sides[0], sides[1], source.data)


def _placed(source: DumpSource, start: int, size: int) -> ByteSpan:
    if start + size > len(source.data):
        raise source.fault(
            Text(
                "a tensor should end at byte {end}, but the file has {size}",
                end=start + size,
                size=len(source.data),
            )
        )
    return ByteSpan(start, start + size)


_NANO_MAGIC = b"ZZZZ"

_NANO_INPUTS, _NANO_OUTPUTS = 4, 5
_DIMS, _ORIGIN_DIMS, _ORIGIN_NAME = 0, 1, 2
_BLOCK, _COUNT = struct.Struct("<II"), struct.Struct("<I")
_NANO_INPUT = struct.Struct("<iiiQQQI")
_NANO_OUTPUT = struct.Struct("<iiiiiiQQQI")
_DTYPES = {dtype.ge: dtype.value for dtype in DType}


class _NanoReader:
    """The header at `span` of a dump by a device without protobuf, read from its start [proven].

    Inputs are a block of tag 4, outputs one of tag 5: a count, then tensors of fixed fields with
    blocks of dims and of the name after them. Numbers of dtypes are GE's.
    """

    def __init__(self, source: DumpSource, span: ByteSpan) -> None:
        self._source, self._end = source, span.end
        self._at = span.start + len(_NANO_MAGIC) + _COUNT.size

    def sides(self) -> list[list[DumpTensor]]:
        """The inputs and the outputs, each at the start of the file."""
        kinds = (_NANO_INPUTS, _NANO_INPUT), (_NANO_OUTPUTS, _NANO_OUTPUT)
        return [list(self._tensors(*kind)) for kind in kinds]

    def _take(self, form: struct.Struct) -> tuple[int, ...]:
        if self._at + form.size > self._end:
            raise self._source.fault(Text("its header ends within a tensor"))
        found = form.unpack_from(self._source.data, self._at)
        self._at += form.size
        return found

    def _tensors(self, tag: int, form: struct.Struct) -> Iterator[DumpTensor]:
        """The tensors of a block; none where another one, or none, stands here."""
        if self._at + _BLOCK.size > self._end:
            return
        found = _BLOCK.unpack_from(self._source.data, self._at)[0]
        if found != tag:
            return
        self._at += _BLOCK.size
        (count,) = self._take(_COUNT)
        if count > _MOST_TENSORS:
            raise self._source.fault(Text("it has more than {most} tensors", most=_MOST_TENSORS))
        for _ in range(count):
            yield self._tensor(form, is_output=tag == _NANO_OUTPUTS)

    def _tensor(self, form: struct.Struct, *, is_output: bool) -> DumpTensor:
        fields = self._take(form)
        size, length = fields[-2:]
        parts = self._parts(self._at + length)
        return DumpTensor(
            dtype=_DTYPES.get(fields[0], f"{fields[0]}"),
            layout=format_name(fields[1]),
            dims=self._dims(parts.get(_DIMS)),
            origin_dims=self._dims(parts.get(_ORIGIN_DIMS)),
            groups=1,
            origin_name=parts.get(_ORIGIN_NAME, b"").decode("utf-8", "replace").rstrip("\0"),
            origin_output=fields[3] if is_output else -1,
            span=ByteSpan(0, size),
        )

    def _parts(self, end: int) -> dict[int, bytes]:
        """The blocks after a tensor by tag."""
        if end > self._end:
            raise self._source.fault(Text("its header ends within a tensor"))
        found: dict[int, bytes] = {}
        while self._at < end:
            tag, length = self._take(_BLOCK)
            if self._at + length > end:
                raise self._source.fault(Text("its header ends within a tensor"))
            found[tag] = bytes(self._source.data[self._at : self._at + min(length, _MOST_TEXT)])
            self._at += length
        return found

    def _dims(self, body: bytes | None) -> Shape:
        count = len(body or b"") // 8
        if count > _MOST_RANK:
            raise self._source.fault(Text("a tensor has dims that no tensor can have"))
        return struct.unpack_from(f"<{count}Q", body or b"")


class _Message:
    """A `DumpData` message; tensors have other numbers of fields in inputs than in outputs."""

    _OUTPUT: ClassVar = {
        "dtype": 1, "format": 2, "shape": 3, "origin": 4, "data": 5, "size": 6, "origin_shape": 7,
        "sub_format": 8,
    }  # fmt: skip
    _INPUT: ClassVar = {
        "dtype": 1, "format": 2, "shape": 3, "data": 4, "size": 5, "origin_shape": 6, "sub_format": 7,
    }  # fmt: skip
    _OUTPUTS, _INPUTS, _NAME = 3, 4, 6

    def __init__(self, source: DumpSource, span: ByteSpan, data_at: int | None) -> None:
        """Prepare a message whose tensors stand from `data_at` on; None where they are within."""
        self._source, self._span, self._at = source, span, data_at

    def dump(self) -> Dump:
        fields = self._source.kept_fields(self._span)
        rows = [
            [field for field in fields.get(number, ()) if field.wire == BYTES]
            for number in (self._INPUTS, self._OUTPUTS)
        ]
        if len(rows[0]) + len(rows[1]) > _MOST_TENSORS:
            raise self._source.fault(Text("it has more than {most} tensors", most=_MOST_TENSORS))
        inputs = tuple(self._tensor(field, self._INPUT) for field in rows[0])
        outputs = tuple(self._tensor(field, self._OUTPUT) for field in rows[1])
        name = self._text(fields.get(self._NAME))
        return Dump(name, inputs, outputs, self._source.data)

    def _tensor(self, field: WireField, numbers: dict[str, int]) -> DumpTensor:
        fields = self._source.kept_fields(span_of(field))

        def number(name: str) -> int:
            found = fields.get(numbers[name])
            return self._source.number(found[-1]) if found else 0

        def dims(name: str) -> Shape:
            return self._dims(fields.get(numbers[name], ()))

        name, output = self._origin(fields.get(numbers.get("origin", 0)))
        kind = number("dtype")
        word = DATA_TYPES[kind] if 0 <= kind < len(DATA_TYPES) else f"DT_{kind}"
        return DumpTensor(
            dtype=dtype_name(word),
            layout=format_name(number("format")),
            dims=dims("shape"),
            origin_dims=dims("origin_shape"),
            groups=max(number("sub_format"), 1),
            origin_name=name,
            origin_output=output,
            span=self._place_of(fields.get(numbers["data"]), number("size")),
        )

    def _place_of(self, data: list[WireField] | None, size: int) -> ByteSpan:
        """The bytes of a tensor: the next ones after the message, or those within it."""
        if self._at is None:
            bodies = [span_of(field) for field in data or () if field.wire == BYTES]
            return bodies[-1] if bodies else ByteSpan(self._span.end, self._span.end)
        if size < 0:
            raise self._source.fault(Text("a tensor has a size beyond 2^63"))
        span = _placed(self._source, self._at, size)
        self._at = span.end
        return span

    def _origin(self, fields: list[WireField] | None) -> tuple[str, int]:
        found = [field for field in fields or () if field.wire == BYTES]
        if not found:
            return "", -1
        inner = self._source.kept_fields(span_of(found[-1]))
        output = inner.get(2)
        index = self._source.number(output[-1]) if output else 0
        is_known = 0 <= index < _MOST_TENSORS  # 2^32 - 1 stands for none
        return self._text(inner.get(1)), index if is_known else -1

    def _dims(self, fields: list[WireField] | tuple[()]) -> Shape:
        dims: list[int] = []
        for field in fields:
            if field.wire != BYTES:
                continue
            for row in self._source.fields(span_of(field)):
                if row.number == 1:
                    dims += self._bounded(row)
        if len(dims) > _MOST_RANK or any(dim < 0 for dim in dims):
            raise self._source.fault(Text("a tensor has dims that no tensor can have"))
        return tuple(dims)

    def _bounded(self, row: WireField) -> Iterator[int]:
        if row.wire == BYTES and row.end - row.body > _MOST_RANK * 10:
            raise self._source.fault(Text("a tensor has dims that no tensor can have"))
        return self._source.numbers(row)

    def _text(self, fields: list[WireField] | None) -> str:
        found = [field for field in fields or () if field.wire == BYTES]
        if not found:
            return ""
        field = found[-1]
        return self._source.text(field._replace(end=min(field.end, field.body + _MOST_TEXT)))
