"""Headers of dumps by devices without protobuf: blocks of tag, length and value [proven].

Inputs are a block of tag 4, outputs one of tag 5: a count, then tensors of fixed fields with blocks
of dims and of the name after them. Numbers of dtypes are GE's.
"""

import struct
from collections.abc import Iterator

import msgspec

from atc_py.package.ge.source import ByteSpan, GeSource
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

NANO_MAGIC = b"ZZZZ"

_INPUTS, _OUTPUTS = 4, 5
_DIMS, _ORIGIN_DIMS, _ORIGIN_NAME = 0, 1, 2
_BLOCK, _COUNT = struct.Struct("<II"), struct.Struct("<I")
_INPUT = struct.Struct("<iiiQQQI")
_OUTPUT = struct.Struct("<iiiiiiQQQI")
_MOST, _MOST_RANK = 4096, 16
_NAMES = {dtype.ge: dtype.value for dtype in DType}


class NanoTensor(msgspec.Struct, frozen=True):
    """A tensor of the header; see `DumpTensor`."""

    dtype: str
    format: int
    dims: Shape
    origin_dims: Shape
    origin_name: str
    origin_output: int
    size: int


class NanoReader:
    """The header at `span`, read from its start."""

    def __init__(self, source: GeSource, span: ByteSpan) -> None:
        self._source, self._end = source, span.end
        self._at = span.start + len(NANO_MAGIC) + _COUNT.size

    def sides(self) -> tuple[list[NanoTensor], list[NanoTensor]]:
        return list(self._tensors(_INPUTS, _INPUT)), list(self._tensors(_OUTPUTS, _OUTPUT))

    def _take(self, form: struct.Struct) -> tuple[int, ...]:
        if self._at + form.size > self._end:
            raise self._source.fault(Text("its header ends within a tensor"))
        found = form.unpack_from(self._source.data, self._at)
        self._at += form.size
        return found

    def _tensors(self, tag: int, form: struct.Struct) -> Iterator[NanoTensor]:
        """The tensors of a block; none where another one, or none, stands here."""
        if self._at + _BLOCK.size > self._end:
            return
        found = _BLOCK.unpack_from(self._source.data, self._at)[0]
        if found != tag:
            return
        self._at += _BLOCK.size
        (count,) = self._take(_COUNT)
        if count > _MOST:
            raise self._source.fault(Text("it has more than {most} tensors", most=_MOST))
        for _ in range(count):
            yield self._tensor(form, is_output=tag == _OUTPUTS)

    def _tensor(self, form: struct.Struct, *, is_output: bool) -> NanoTensor:
        fields = self._take(form)
        size, length = fields[-2:]
        parts = self._parts(self._at + length)
        return NanoTensor(
            dtype=_NAMES.get(fields[0], f"{fields[0]}"),
            format=fields[1],
            dims=self._dims(parts.get(_DIMS)),
            origin_dims=self._dims(parts.get(_ORIGIN_DIMS)),
            origin_name=parts.get(_ORIGIN_NAME, b"").decode("utf-8", "replace").rstrip("\0"),
            origin_output=fields[3] if is_output else -1,
            size=size,
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
            found[tag] = bytes(self._source.data[self._at : self._at + min(length, _MOST)])
            self._at += length
        return found

    def _dims(self, body: bytes | None) -> Shape:
        count = len(body or b"") // 8
        if count > _MOST_RANK:
            raise self._source.fault(Text("a tensor has dims that no tensor can have"))
        return struct.unpack_from(f"<{count}Q", body or b"")
