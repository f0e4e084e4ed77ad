"""The protobuf wire format: fields of a message one after the other, and how one is written.

It needs no class of any message: who reads knows the numbers of the fields.
"""

from collections.abc import Iterator
from mmap import mmap
from typing import NamedTuple, TypeAlias

from atc_py.text import Text

Buffer: TypeAlias = "bytes | mmap"

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types; groups, 3 and 4, are refused."""

_FIXED_SIZES = {FIXED64: 8, FIXED32: 4}
_ONE_BYTE = 0x7F
"""The largest number that takes one byte; most tags and lengths do."""

_MAX_TAG_BYTES = 5
_MAX_VARINT_BYTES = 10


class WireError(ValueError):
    """The bytes are not a protobuf message; the text says what is wrong and where."""


class WireField(NamedTuple):
    """A field of a message: start, number, wire type, and the offsets of its body."""

    start: int
    number: int
    wire: int
    body: int
    end: int


def wire_fields(buffer: Buffer, start: int, end: int) -> Iterator[WireField]:
    """The fields of the message from `start` to `end`.

    Raises:
        WireError: the bytes break the wire format.
    """
    # Messages have very many fields: numbers of one byte are read here, and the tuple is made
    # without the call of Python that a NamedTuple's own constructor is.
    new = tuple.__new__
    pos = start
    while pos < end:
        tag, body = buffer[pos], pos + 1
        if tag > _ONE_BYTE:
            tag, body = read_varint(buffer, pos, end, _MAX_TAG_BYTES)
        number, wire = tag >> 3, tag & 7
        if wire == BYTES:
            size = buffer[body] if body < end else _ONE_BYTE + 1
            if size > _ONE_BYTE:
                size, body = read_varint(buffer, body, end)
            else:
                body += 1
            stop = body + size
        elif wire == VARINT:
            one = body < end and buffer[body] <= _ONE_BYTE
            stop = body + 1 if one else read_varint(buffer, body, end)[1]
        elif wire in _FIXED_SIZES:
            stop = body + _FIXED_SIZES[wire]
        else:
            text = Text("wire type {wire} at byte {pos}, where 0, 1, 2 or 5 is allowed")
            raise WireError(text.with_values(wire=wire, pos=pos))
        if not number:
            raise WireError(Text("field number 0 at byte {pos}", pos=pos))
        if stop > end:
            text = Text(
                "field {number} at byte {pos} should end at byte {stop}, but what holds it ends at "
                "byte {end}"
            )
            raise WireError(text.with_values(number=number, pos=pos, stop=stop, end=end))
        yield new(WireField, (pos, number, wire, body, stop))
        pos = stop


def read_varint(
    buffer: Buffer, pos: int, end: int, limit: int = _MAX_VARINT_BYTES
) -> tuple[int, int]:
    """The number that starts at `pos`, and where it ends.

    Raises:
        WireError: it does not end before `end`, or within `limit` bytes.
    """
    if pos < end and buffer[pos] <= _ONE_BYTE:
        return buffer[pos], pos + 1
    if pos + 1 < end and buffer[pos + 1] <= _ONE_BYTE < buffer[pos]:
        return buffer[pos] & _ONE_BYTE | buffer[pos + 1] << 7, pos + 2
    value = shift = 0
    for at in range(pos, min(pos + limit, end)):
        byte = buffer[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004  (the highest bit says that more follows)
            return value, at + 1
        shift += 7
    raise WireError(Text("a number that starts at byte {pos} does not end", pos=pos))


def tag(number: int, wire: int) -> bytes:
    return encode_varint(number << 3 | wire)


def bytes_field(number: int, body: bytes) -> bytes:
    return opening(number, len(body)) + body


def opening(number: int, size: int) -> bytes:
    """The bytes before a body of `size` bytes that is field `number` of a message."""
    return tag(number, BYTES) + encode_varint(size)


def encode_varint(value: int) -> bytes:
    """`value` in groups of seven bits, lowest first."""
    out = bytearray()
    while value > _ONE_BYTE:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
