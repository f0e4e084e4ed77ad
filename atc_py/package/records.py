"""The zip records of an offline model: the one form in which its directory can be written.

Everything in the file that is not data of a member follows from the members' names, sizes and
CRCs and from the digest of `model.json`. The writer writes what these functions give; the reader
compares the file with what they give, so that a changed byte shows wherever it is. Sizes and
positions beyond 32 bits take zip64 records, as in any zip (APPNOTE 4.3 to 4.5).
"""

import hashlib
import struct
from itertools import pairwise
from mmap import mmap

import msgspec

ALIGNMENT = 64
"""Data of each member starts at a multiple of this many bytes."""

ZIP64_FROM = 0xFFFFFFFF
MANY_ENTRIES = 0xFFFF

_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_END = struct.Struct("<4s4H2LH")
_PADDING = struct.Struct("<3H")
_CENTRAL_MAGIC, _END_MAGIC = b"PK\x01\x02", b"PK\x05\x06"
_PADDING_ID = 0xD935
"""Extra field of alignment padding: the alignment, then zeros; Android's zipalign uses it too."""

_UNIX = 3 << 8
_VERSION, _VERSION64 = 20, 45
_STAMP = (0, 1 << 5 | 1)
"""DOS time and date of the first moment that a zip can name: 1980-01-01 00:00."""

_MODE = 0o100644 << 16
_LABEL = b"atc-py offline model; model.json sha256 "
"""How the archive's comment begins, whatever the version of the description."""

_COMMENT = _LABEL + b"%s; directory sha256 "
_DIGEST = 64
_COMMENT_SIZE = len(_COMMENT % b"") + 2 * _DIGEST
_END_SIZE = _END.size + _COMMENT_SIZE


class Entry(msgspec.Struct, frozen=True):
    """A member: name, size of its data in bytes, CRC-32, and position of its local header."""

    name: str
    size: int
    crc: int
    offset: int

    @property
    def data_offset(self) -> int:
        return self.offset + len(local_header(self))

    @property
    def end(self) -> int:
        """Position after the data, where the next member's header starts."""
        return self.data_offset + self.size

    def data_in(self, file: mmap) -> bytes:
        return file[self.data_offset : self.end]


def local_header(entry: Entry) -> bytes:
    """The record before a member's data, padded so that the data is aligned."""
    name = entry.name.encode("ascii")
    big = entry.size >= ZIP64_FROM
    extra = _zip64([entry.size, entry.size] if big else [])
    size = _FULL32 if big else entry.size
    unpadded = entry.offset + _LOCAL.size + len(name) + len(extra) + _PADDING.size
    zeros = -unpadded % ALIGNMENT
    extra += _PADDING.pack(_PADDING_ID, zeros + 2, ALIGNMENT) + bytes(zeros)
    version = _VERSION64 if big else _VERSION
    fields = (version, 0, 0, *_STAMP, entry.crc, size, size, len(name), len(extra))
    return _LOCAL.pack(b"PK\x03\x04", *fields) + name + extra


def directory(entries: list[Entry], digest: str) -> bytes:
    """All after the last member: directory, end records, comment with two digests.

    The first is `digest`, the SHA-256 of `model.json`, which in turn holds those of the other
    members; the second is that of all these bytes up to itself.
    """
    records = b"".join(_central_record(entry) for entry in entries)
    start, count = entries[-1].end, len(entries)
    if start >= ZIP64_FROM or count >= MANY_ENTRIES:
        records += _zip64_end(start, len(records), count)
        fields = (_FULL16, _FULL16, _FULL32, _FULL32)
    else:
        fields = (count, count, len(records), start)
    records += _END.pack(_END_MAGIC, 0, 0, *fields, _COMMENT_SIZE)
    records += _COMMENT % digest.encode("ascii")
    return records + hashlib.sha256(records).hexdigest().encode("ascii")


def _central_record(entry: Entry) -> bytes:
    name = entry.name.encode("ascii")
    big, far = entry.size >= ZIP64_FROM, entry.offset >= ZIP64_FROM
    extra = _zip64([entry.size, entry.size] * big + [entry.offset] * far)
    version = _VERSION64 if big or far else _VERSION
    size = _FULL32 if big else entry.size
    fields = (_UNIX | version, version, 0, 0, *_STAMP, entry.crc, size, size, len(name), len(extra))
    offset = _FULL32 if far else entry.offset
    return _CENTRAL.pack(_CENTRAL_MAGIC, *fields, 0, 0, 0, _MODE, offset) + name + extra


def _zip64(numbers: list[int]) -> bytes:
    """The extra field with numbers beyond 32 bits; empty where there are none."""
    if not numbers:
        return b""
    return struct.pack(f"<2H{len(numbers)}Q", 1, 8 * len(numbers), *numbers)


def _zip64_end(start: int, size: int, count: int) -> bytes:
    """The zip64 end record of a directory at `start`, and the locator that leads to it."""
    versions = (_UNIX | _VERSION64, _VERSION64)
    fields = (_END64.size - 12, *versions, 0, 0, count, count, size, start)
    locator = _LOCATOR.pack(b"PK\x06\x07", 0, start + size, 1)
    return _END64.pack(b"PK\x06\x06", *fields) + locator


def is_directory_end(tail: bytes) -> bool:
    """True if `tail`, the last kilobyte of a file, ends as an offline model does.

    Either of two signs is enough, so that damage to one is seen as damage.
    """
    end = tail[-_END_SIZE:]
    if len(end) < _END_SIZE:
        return False
    signature = end.startswith(_END_MAGIC) and end[20:22] == struct.pack("<H", _COMMENT_SIZE)
    return signature or end[_END.size :].startswith(_LABEL)


def directory_offset(tail: bytes) -> int:
    """The directory's offset as the end records state it; any number if damaged."""
    fields = _END.unpack_from(tail, len(tail) - _END_SIZE)
    offset: int = fields[6]
    before = _END_SIZE + _LOCATOR.size + _END64.size
    if offset == _FULL32 and len(tail) >= before:
        offset = _END64.unpack_from(tail, len(tail) - before)[-1]
    return offset


def document_digest(tail: bytes) -> str:
    end = tail[-_END_SIZE:]
    start = _END.size + len(_LABEL)
    return end[start : start + _DIGEST].decode("ascii", "replace")


def parse_directory(block: bytes) -> list[Entry]:
    """The members that a directory names; positions are the offsets of such members.

    Only names, sizes and CRCs are read: `directory` of the result must equal `block`.

    Raises:
        ValueError: the records are not those of a directory.
    """
    entries: list[Entry] = []
    position = offset = 0
    while block.startswith(_CENTRAL_MAGIC, position):
        name, size, crc, position = _parse_record(block, position)
        entries.append(Entry(name, size, crc, offset))
        offset = entries[-1].end
    if not entries:
        raise ValueError("no members")
    return entries


def _parse_record(block: bytes, position: int) -> tuple[str, int, int, int]:
    """Name, size and CRC of the record at `position`, and the position after it."""
    try:
        fields = _CENTRAL.unpack_from(block, position)
        marks = [position + _CENTRAL.size, *fields[10:13]]
        starts = [sum(marks[: count + 1]) for count in range(len(marks))]
        name, extra, _ = (block[start:end] for start, end in pairwise(starts))
        size = struct.unpack_from("<Q", extra, 4)[0] if fields[9] == _FULL32 else fields[9]
    except struct.error as error:
        raise ValueError(str(error)) from error
    return name.decode("ascii"), size, fields[7], starts[-1]
