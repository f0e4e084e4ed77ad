"""The bytes of a file of Huawei's atc, read within bounds; every fault is a coded error."""

import struct
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from mmap import mmap
from typing import NamedTuple

from atc_py.diag import BAD_HUAWEI_MODEL, AtcError, Place
from atc_py.system.wire import WireError, WireField, read_varint, wire_fields
from atc_py.text import Text

MOST_KEPT = 3_000_000
"""Fields of messages whose places are kept, of one file; each takes about 170 bytes."""

MOST_NUMBERS = 4_000_000
"""Numbers and rows of the value of one attribute."""

_SIGN, _WORD = 1 << 63, 1 << 64


class ByteSpan(NamedTuple):
    """A range of bytes of the file, from `start` to before `end`."""

    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


class GeSource:
    """The bytes of a file, mapped or in memory, and the name that messages have for it."""

    __slots__ = ("_left", "data", "file")

    def __init__(self, data: mmap | bytes, file: str) -> None:
        self.data = data
        self.file = file
        self._left = MOST_KEPT

    def fault(self, message: Text, part: str = "") -> AtcError:
        return BAD_HUAWEI_MODEL.error(message, place=Place(file=self.file, field=part or None))

    def fields(self, span: ByteSpan) -> Iterator[WireField]:
        """The fields of a message.

        Raises:
            AtcError: BAD_HUAWEI_MODEL where the bytes break the wire format.
        """
        try:
            yield from wire_fields(self.data, *span)
        except WireError as error:
            raise self._not_protobuf(error) from error

    def kept_fields(self, span: ByteSpan) -> dict[int, list[WireField]]:
        """The fields of a message by number, for as long as the message is there."""
        found: defaultdict[int, list[WireField]] = defaultdict(list)
        try:
            fields = list(islice(wire_fields(self.data, *span), self._left + 1))
        except WireError as error:
            raise self._not_protobuf(error) from error
        self.spend(len(fields))
        for field in fields:
            found[field[1]].append(field)  # by position: the property of a tuple takes longer
        return dict(found)

    def spend(self, fields: int) -> None:
        """Note that so many fields, or what takes as much memory, are kept.

        Raises:
            AtcError: BAD_HUAWEI_MODEL where they are too many.
        """
        self._left -= fields
        if self._left < 0:
            raise self.fault(Text("its messages have more than {most} fields", most=MOST_KEPT))

    def check_count(self, numbers: int) -> None:
        if numbers > MOST_NUMBERS:
            raise self.fault(Text("an attribute has more than {most} numbers", most=MOST_NUMBERS))

    def number(self, field: WireField) -> int:
        """The value of a varint field, signed; 0 for a field of another kind."""
        return 0 if field.wire else _signed(self._varint(field.body, field.end)[0])

    def numbers(self, field: WireField) -> Iterator[int]:
        """The values of a field of a list of integers, packed or one by one."""
        if not field.wire:
            yield self.number(field)
            return
        at = field.body
        while at < field.end:
            value, at = self._varint(at, field.end)
            yield _signed(value)

    def floats(self, field: WireField) -> tuple[float, ...]:
        """The values of a field of a list of floats, packed or one by one."""
        count = (field.end - field.body) // 4
        self.check_count(count)
        return struct.unpack_from(f"<{count}f", self.data, field.body)

    def text(self, field: WireField) -> str:
        """The body of a field as text; bytes that are not UTF-8 are replaced."""
        return self.data[field.body : field.end].decode("utf-8", "replace")

    def _varint(self, pos: int, end: int) -> tuple[int, int]:
        try:
            return read_varint(self.data, pos, end)
        except WireError as error:
            raise self._not_protobuf(error) from error

    def _not_protobuf(self, error: WireError) -> AtcError:
        return self.fault(Text("a message in it is not protobuf: {reason}", reason=error.args[0]))


def span_of(field: WireField) -> ByteSpan:
    return ByteSpan(field.body, field.end)


def _signed(value: int) -> int:
    value %= _WORD
    return value - _WORD if value & _SIGN else value
