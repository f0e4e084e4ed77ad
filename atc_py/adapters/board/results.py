"""What came back from a board, opened: an archive or its folder, read within bounds.

It comes from another machine: names outside of the archive, links, and members that grow far beyond
what a kit gives are refused before anything is written.
"""

import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TypeVar

import msgspec

from atc_py.adapters.board.layout import RESULTS, RESULTS_VERSION, BoardResults
from atc_py.diag import BAD_RESULTS, AtcError, Code, Place
from atc_py.system.cache_folders import is_folder
from atc_py.system.input_files import opened, read_bytes, read_refusal
from atc_py.system.structs import Result
from atc_py.system.temp_folders import work_folder
from atc_py.text import Text, os_reason

MOST_MEMBERS = 200_000
MOST_BYTES = 16 << 30
"""Bytes of the members of an archive in all."""

_BOMB_BYTES, _BOMB_RATIO = 1 << 30, 100
"""Bytes and factor over the archive's size beyond which members are no results: dumps shrink to a tenth."""

_MOST_DOCUMENT = 64 << 20
_BLOCK = 1 << 20
_MARGIN = 64 << 20
"""Bytes that stay free on the disk."""

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""Errors of an archive that is not whole."""

_Record = TypeVar("_Record", bound=Result)


_HINTS = {BAD_RESULTS: Text("copy results.zip again from the board; run_on_board.py packs it last")}


def refusal(
    path: Path, message: Text, field: str | None = None, code: Code = BAD_RESULTS
) -> AtcError:
    """The error for results that cannot be compared, or for a kit, BAD_KIT."""
    return code.error(message, place=Place(str(path), field=field), help=_HINTS.get(code))


@contextmanager
def opened_archive(path: Path, code: Code = BAD_RESULTS) -> Iterator[Path]:
    """A folder: an archive is unpacked for as long as the block runs.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE or `code`.
    """
    if is_folder(path):
        yield path
        return
    with work_folder() as folder, opened(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                _unpack(path, archive, folder, code)
        except _DAMAGE as error:
            text = Text("it is not a whole archive: {error}", error=error)
            raise refusal(path, text, code=code) from error
        yield folder


def read_results(folder: Path, path: Path) -> BoardResults:
    found = read_record(folder / RESULTS, BoardResults, path)
    if found.version != RESULTS_VERSION:
        text = Text(
            "the results have format version {found}; this atc-py reads {wanted}",
            wanted=RESULTS_VERSION,
            found=found.version,
        )
        raise refusal(path, text)
    return found


def read_record(file: Path, kind: type[_Record], path: Path) -> _Record:
    """A document of the results; `path` is what the user gave.

    Raises:
        AtcError: BAD_RESULTS where it is not there or has another form.
    """
    try:
        return msgspec.json.decode(read_bytes(file, _MOST_DOCUMENT, own=True), type=kind)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise refusal(
            path, Text("{name} cannot be read: {error}", name=file.name, error=error), file.name
        ) from error
    except AtcError as error:
        text = Text("{name} is not in it", name=file.name)
        if file.is_file():
            text = Text("{name} is larger than such a file can be", name=file.name)
        raise refusal(path, text, file.name) from error


def _unpack(path: Path, archive: zipfile.ZipFile, folder: Path, code: Code) -> None:
    members = archive.infolist()
    if len(members) > MOST_MEMBERS:
        text = Text("it has more than {most} members", most=MOST_MEMBERS)
        raise refusal(path, text, code=code)
    _check_sizes(path, sum(member.file_size for member in members), folder, code)
    for member in members:
        target = _target(path, member, folder, code)
        if target is None:
            continue
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, target.open("xb") as file:
                left = member.file_size
                while block := source.read(min(_BLOCK, left + 1)):
                    left -= len(block)
                    if left < 0:
                        raise zipfile.BadZipFile(f"{member.filename!r} is larger than it says")
                    file.write(block)
                if left:
                    raise zipfile.BadZipFile(f"{member.filename!r} is smaller than it says")
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and not isinstance(error, FileExistsError):
                raise read_refusal(path, error) from None
            text = Text(
                "member {name} cannot be unpacked: {error}",
                name=repr(member.filename),
                error=os_reason(error) if isinstance(error, OSError) else str(error),
            )
            raise refusal(path, text, member.filename, code) from error


def _check_sizes(path: Path, total: int, folder: Path, code: Code) -> None:
    """Refuse members that are larger than the disk, or far larger than their archive."""
    room = min(MOST_BYTES, max(shutil.disk_usage(folder).free - _MARGIN, 0))
    if total > room:
        text = Text("its members need {total} bytes; only {room} are free", total=total, room=room)
        raise refusal(path, text, code=code)
    size = path.stat().st_size
    if total > max(_BOMB_BYTES, _BOMB_RATIO * size):
        text = Text(
            "its members claim {total} bytes, but the archive has {size}", total=total, size=size
        )
        raise refusal(path, text, code=code)


def _target(path: Path, member: zipfile.ZipInfo, folder: Path, code: Code) -> Path | None:
    name = member.filename
    pure = PurePosixPath(name)
    mode = member.external_attr >> 16
    is_odd = "\\" in name or "\0" in name or ":" in name or not name.isprintable()
    if is_odd or pure.is_absolute() or ".." in pure.parts or not pure.parts:
        text = Text("member {name} has a path outside the archive", name=repr(name))
        raise refusal(path, text, name, code)
    if mode and stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise refusal(path, Text("member {name} is a link", name=repr(name)), name, code)
    return None if member.is_dir() else folder.joinpath(*pure.parts)
