"""Whether the bytes of an offline model are the ones that were written; damage is named.

The chain: the comment's second digest covers directory and comment, the directory gives every
other header byte for byte, the comment's first digest covers `model.json`, and that holds the
digests of all other members. No byte is outside the chain.
"""

import hashlib
import os
import shlex
import struct
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from mmap import mmap

from atc_py.diag import NOT_OM, OM_MEMBER, AtcError, Diagnostic, Place
from atc_py.package.foreign import is_onnx
from atc_py.package.read_ahead import release_range
from atc_py.package.records import (
    Entry,
    directory,
    directory_offset,
    document_digest,
    is_directory_end,
    local_header,
    parse_directory,
)
from atc_py.text import Text

_TAIL = 1024
"""Bytes at the end that surely hold the end records."""

_WORTH_THREADS = 1 << 22
"""Bytes of data from which starting threads for digests pays."""

_AT_ONCE = 1 << 26
"""Bytes of a member after which the pages that were read are given back; small ones stay mapped."""


def read_directory(data: mmap, file: str) -> tuple[list[Entry], str]:
    """The members in the file's order, and the digest of the description."""
    tail = data[-_TAIL:]
    if data[:4] == b"IMOD":
        raise NOT_OM.error(
            Text("{file} is an offline model of Huawei's own atc, not of atc-py", file=file),
            place=Place(file=file),
            help=Text(
                "`atc-py info {name}` shows what it contains, `atc-py diff` compares it with another; "
                "docs/real-om.md lists all that can be done with it",
                name=shlex.quote(file),
            ),
        )
    if is_onnx(data):
        raise NOT_OM.error(
            Text("{file} is an ONNX model, not an offline model", file=file),
            place=Place(file=file),
            help=Text(
                "compile it with `atc-py convert {name}` and give the .om file that is written; "
                "`atc-py check {name}` looks at the ONNX model itself",
                name=shlex.quote(file),
            ),
        )
    if not is_directory_end(tail):
        if data[:4] == b"PK\x03\x04":
            raise _not_a_model(file, Text("it is another kind of zip archive, or truncated"))
        raise _not_a_model(
            file, Text("it is neither a zip archive, which offline models are, nor an ONNX model")
        )
    block, digest = data[directory_offset(tail) :], document_digest(tail)
    try:
        entries = parse_directory(block)
        sound = directory(entries, digest) == block
    except (ValueError, struct.error):
        sound = False
    if not sound:
        raise OM_MEMBER.error(
            Text(
                "the directory of {file} is damaged: its bytes are not the ones that were written",
                file=file,
            ),
            place=Place(file=file, field="directory"),
            help=Text("copy the file again, or convert the ONNX model again"),
        )
    return entries, digest


def damaged_headers(data: mmap, entries: Iterable[Entry], file: str) -> list[Diagnostic]:
    """OM_MEMBER for each member whose header is not the one that the directory asks for."""
    return [
        _damaged_member(entry.name, file, Text("the header before its data"))
        for entry in entries
        if data[entry.offset : entry.data_offset] != local_header(entry)
    ]


def damaged_members(
    data: mmap, entries: Iterable[Entry], digests: Mapping[str, str], file: str
) -> list[Diagnostic]:
    """OM_MEMBER for each entry in `digests` whose data has another SHA-256."""
    wanted = [entry for entry in entries if entry.name in digests]
    found = _digests(data, wanted)
    return [
        _damaged_member(entry.name, file, Text("its data"))
        for entry in wanted
        if found[entry.name] != digests[entry.name]
    ]


def _digests(data: mmap, entries: list[Entry]) -> dict[str, str]:
    """SHA-256 of members by name; large ones in threads, as hashing needs no interpreter."""
    large_first = sorted(entries, key=lambda entry: -entry.size)
    with memoryview(data) as view:

        def digest(entry: Entry) -> str:
            found = hashlib.sha256()
            for start in range(entry.data_offset, entry.end, _AT_ONCE):
                stop = min(start + _AT_ONCE, entry.end)
                with view[start:stop] as part:
                    found.update(part)
                if entry.size > _AT_ONCE:
                    release_range(data, start, stop)
            return found.hexdigest()

        names = (entry.name for entry in large_first)
        if sum(entry.size for entry in entries) < _WORTH_THREADS:
            return dict(zip(names, map(digest, large_first), strict=True))
        with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
            return dict(zip(names, pool.map(digest, large_first), strict=True))


def _damaged_member(member: str, file: str, part: str) -> Diagnostic:
    return OM_MEMBER.diagnostic(
        Text(
            "{member} in {file} is damaged: {part} does not match its digest",
            member=member,
            file=file,
            part=part,
        ),
        place=Place(file=file, field=member),
        help=Text("copy the file again, or convert the ONNX model again"),
    )


def _not_a_model(file: str, why: str) -> AtcError:
    return NOT_OM.error(
        Text("{file} is not an offline model of atc-py: {why}", file=file, why=why),
        place=Place(file=file),
        help=Text("convert the ONNX model with `atc-py convert`"),
    )
