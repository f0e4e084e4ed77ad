"""Writing a zip archive of stored, aligned members in one pass, with digests on the way."""

import hashlib
import re
import zlib
from collections.abc import Iterable
from typing import BinaryIO

from atc_py.package.records import Entry, directory, local_header
from atc_py.package.schema import OmMember
from atc_py.system.structs import replace

MODEL = "model.json"
REPORT = "report.json"
WEIGHTS = "weights/"
KERNELS = "kernels/"
GEARS = "gears/"

_LONGEST = 255
_LONGEST_STEM = 80
_FOREIGN = re.compile(r"[^A-Za-z0-9_.-]+")
_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.+-]*")


def weight_member(index: int, name: str) -> str:
    """The member of constant `index`; the number identifies it, `name` is for readers."""
    stem = _FOREIGN.sub("_", name)[:_LONGEST_STEM]
    return f"{WEIGHTS}{index:04d}_{stem}.npy"


def kernel_member(name: str) -> str:
    return f"{KERNELS}{name}"


def is_safe_member(name: str) -> bool:
    """True if unpacking `name` stays below the folder it is unpacked in, on every system.

    Safe are relative paths of ASCII letters, digits and `_.+-`, no part of which is empty or
    starts with a dot or a plus.
    """
    return len(name) <= _LONGEST and all(_PART.fullmatch(part) for part in name.split("/"))


def gear_member(gear: int, name: str) -> str:
    """The member of gear `gear` that stands for member `name` of a model of one shape."""
    return f"{GEARS}{gear:03d}/{name}"


_AT_ONCE = 1 << 16
"""Bytes up to which a member is put together before its header: going back takes two calls."""


class ArchiveWriter:
    """An archive that is being written; members stand in the order in which they are added.

    Attributes:
        members: size and digest of each member so far.
    """

    def __init__(self, file: BinaryIO) -> None:
        """Start an empty archive at the start of `file`, which must be seekable."""
        self.members: dict[str, OmMember] = {}
        self._file = file
        self._entries: list[Entry] = []
        self._end = 0

    def add(self, name: str, size: int, pieces: Iterable[bytes | memoryview]) -> OmMember:
        """Add a member of `size` bytes; a piece may be freed when the next one is requested."""
        if not is_safe_member(name) or name in self.members:
            raise ValueError(f"{name!r} cannot be a member's name, or is one already")
        digests = _Digests()
        if size <= _AT_ONCE:
            data = bytearray()
            for piece in pieces:
                data += piece
            digests.update(data)
            entry = Entry(name, size, digests.crc, self._end)
            header = local_header(entry)
            self._file.write(header + data)
        else:
            entry = Entry(name, size, 0, self._end)
            header = local_header(entry)
            self._file.write(header)
            for piece in pieces:
                digests.update(piece)
                self._file.write(piece)
            entry = replace(entry, crc=digests.crc)
            # The CRC, known only now, goes into the header that stands before the data.
            self._file.seek(entry.offset)
            self._file.write(local_header(entry))
            self._file.seek(entry.end)
        if digests.size != size:
            raise ValueError(f"{name} has {digests.size} bytes, promised {size}")
        self._end += len(header) + size
        self._entries.append(entry)
        member = self.members[name] = OmMember(size, digests.sha256.hexdigest())
        return member

    def add_bytes(self, name: str, data: bytes) -> OmMember:
        return self.add(name, len(data), (data,))

    def take_back(self) -> None:
        """Take the last member out again; the next one stands in its place."""
        entry = self._entries.pop()
        del self.members[entry.name]
        self._end = entry.offset
        self._file.seek(self._end)

    def finish(self, digest: str) -> int:
        """Write the directory, with the digest of the description; the size of the archive."""
        tail = directory(self._entries, digest)
        self._file.write(tail)
        self._file.truncate()
        return self._end + len(tail)


class _Digests:
    """Size, CRC-32 and SHA-256 of the pieces so far."""

    __slots__ = ("crc", "sha256", "size")

    def __init__(self) -> None:
        self.size = 0
        self.crc = 0
        self.sha256 = hashlib.sha256()

    def update(self, piece: bytes | bytearray | memoryview) -> None:
        self.size += len(piece)
        self.crc = zlib.crc32(piece, self.crc)
        self.sha256.update(piece)
