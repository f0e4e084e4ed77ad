"""Files that users give: opened, read up to a bound, decoded; each fault with its own hint."""

import errno
import hashlib
import mmap
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import islice
from pathlib import Path
from typing import IO

from atc_py.diag import (
    BAD_OPTION,
    FILE_NOT_FOUND,
    FILE_NOT_TEXT,
    FILE_TOO_LARGE,
    FILE_UNREADABLE,
    AtcError,
    Place,
    nearest,
)
from atc_py.system.memory_limit import exhausted
from atc_py.text import Text, os_reason

WORK = "atc-py-work-"
"""How the names of folders of temporary files begin, which this program writes and reads."""

_LISTED = 1000
"""Files of a folder that are looked at for a name like a missing one."""

_NO_FILE = "it is a pipe, a device or a socket, not a file"


_STREAM = re.compile(r"/dev/(stdin|fd/\d+)|/proc/(self|thread-self|\d+(/task/\d+)?)/fd/\d+")
"""Names of what this process has open already, where the shell put a pipe's end, say."""

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Without O_NONBLOCK, opening a pipe would wait for a writer that may never come."""


class _Run:
    def __init__(self) -> None:
        self.read: dict[tuple[int, int], Path] = {}
        self.claimed: dict[tuple[int, int], Path] = {}


_RUN: ContextVar[_Run | None] = ContextVar("run", default=None)


_PIECE = 1 << 20


@contextmanager
def guarded_run() -> Iterator[None]:
    """Hold the files that the block reads apart from those that it writes; blocks inside are part of it.

    Raises:
        AtcError: BAD_OPTION for a file that is both; MEMORY_LIMIT where memory or threads ran out.
    """
    token = _RUN.set(_RUN.get() or _Run())
    try:
        yield
    except AtcError:
        raise
    except Exception as error:
        refusal = exhausted(error)
        if refusal is None:
            raise
        raise refusal from error
    finally:
        _RUN.reset(token)


def note_read(path: Path, status: os.stat_result) -> None:
    """Note that the run reads a file, which it must not write then; temporary ones do not count.

    Raises:
        AtcError: BAD_OPTION where it is to be written.
    """
    run = _RUN.get()
    if run is None or any(part.removeprefix(".").startswith(WORK) for part in path.parts):
        return
    key = status.st_dev, status.st_ino
    run.read.setdefault(key, path.absolute())
    if _is_still(run.claimed.get(key), key):
        raise read_as_well(run.claimed[key])


def refuse_read(path: Path, *, claim: bool = False) -> None:
    """Refuse to write a file that the run reads; with `claim`, also to read it from now on.

    Raises:
        AtcError: BAD_OPTION.
    """
    run = _RUN.get()
    try:
        status = path.stat() if run is not None else None
    except (OSError, ValueError):
        return  # there is nothing to lose
    if run is None or status is None:
        return
    key = status.st_dev, status.st_ino
    if _is_still(run.read.get(key), key):
        raise read_as_well(path)
    if claim:
        run.claimed[key] = path.absolute()


def _is_still(path: Path | None, key: tuple[int, int]) -> bool:
    """True if a path leads to the file of a number, which the system gives to others later."""
    try:
        status = None if path is None else path.stat()
    except OSError:
        return False
    return status is not None and (status.st_dev, status.st_ino) == key


def read_as_well(output: Path) -> AtcError:
    return BAD_OPTION.error(
        Text("the output {path} is a file that is read", path=output),
        place=Place(str(output)),
        help=Text("give another name for the output; the file would be lost"),
    )


@contextmanager
def opened(path: Path, *, own: bool = False) -> Iterator[IO[bytes]]:
    """Open a regular file or a stream such as /dev/stdin; an `own` one may be written, too.

    Raises:
        AtcError: FILE_NOT_FOUND or FILE_UNREADABLE, also for reads in the block.
    """
    check_name(path)
    try:
        with _handle_of(path) as file:
            if not own:
                note_read(path, os.fstat(file.fileno()))
            yield file
    except OSError as error:
        raise read_refusal(path, error) from None


def _handle_of(path: Path) -> IO[bytes]:
    """Open a file; only a stream of this process may be a pipe or a device."""
    if _STREAM.fullmatch(str(path)):
        return path.open("rb")
    file = os.fdopen(os.open(path, _FLAGS), "rb", closefd=True)
    try:
        check_regular(os.fstat(file.fileno()).st_mode)
    except OSError:
        file.close()
        raise
    return file


def map_regular(path: Path) -> mmap.mmap | bytes:
    """The bytes of a regular file, mapped read-only; none of an empty one, which cannot be mapped.

    Raises:
        OSError: it is not there, not a regular file, or must not be read.
    """
    handle = os.open(path, _FLAGS)
    try:
        status = os.fstat(handle)
        check_regular(status.st_mode)
        note_read(path, status)
        if not status.st_size:
            return b""
        return mmap.mmap(handle, status.st_size, access=mmap.ACCESS_READ)
    finally:
        os.close(handle)


def map_file(path: Path) -> mmap.mmap | bytes:
    """The bytes of the file that a user named, as `map_regular` gives them.

    Raises:
        AtcError: FILE_NOT_FOUND or FILE_UNREADABLE.
    """
    check_name(path)
    try:
        return map_regular(path)
    except OSError as error:
        raise read_refusal(path, error) from error


def unmap(data: mmap.mmap | bytes) -> None:
    """Let a mapped file go; while views of its bytes are alive, they keep it mapped."""
    if isinstance(data, mmap.mmap):
        with suppress(BufferError):
            data.close()


def check_name(path: Path) -> None:
    """Refuse a name that no file can have.

    Raises:
        AtcError: FILE_NOT_FOUND for a NUL byte in it.
    """
    if "\0" in str(path):
        raise FILE_NOT_FOUND.error(Text("a path cannot hold a NUL byte"), place=Place(str(path)))


def check_regular(mode: int) -> None:
    """Refuse what has no bytes that could be mapped into memory.

    Raises:
        OSError: for `read_refusal` to tell.
    """
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if not stat.S_ISREG(mode):
        raise OSError(errno.ENODEV, _NO_FILE)


def read_refusal(path: Path, error: OSError) -> AtcError:
    """Make the error for a file that cannot be read: FILE_NOT_FOUND or FILE_UNREADABLE."""
    code, help_ = FILE_UNREADABLE, Text("check what the path leads to and its permissions")
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        code = FILE_NOT_FOUND
        help_ = Text("check the path; a relative one starts at the current folder")
        near = _nearest_file(path)
        help_ = Text("did you mean {near}? {listing}", near=near, listing=help_) if near else help_
    if isinstance(error, IsADirectoryError):
        code, help_ = FILE_NOT_FOUND, Text("give the name of a file")
    if error.errno == errno.ENODEV:
        help_ = Text("save its content as a file, and give that file")
    return code.error(
        Text("cannot read {path}: {strerror}", path=path, strerror=os_reason(error)),
        place=Place(str(path)),
        help=help_,
    )


def read_bytes(path: Path, most: int, *, own: bool = False) -> bytes:
    """All bytes of a file or a stream, of which no more than `most` are read.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE, or FILE_TOO_LARGE.
    """
    with opened(path, own=own) as file:
        data = file.read(most + 1)
    if len(data) > most:
        text = Text("{path} has more than {most} bytes, the limit for such a file")
        raise FILE_TOO_LARGE.error(text.with_values(path=path, most=most), place=Place(str(path)))
    return data


def read_text(path: Path, most: int) -> str:
    """The text of a UTF-8 file of at most `most` bytes, without a byte order mark.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE, FILE_TOO_LARGE, or FILE_NOT_TEXT with the line of
            the first byte that is wrong.
    """
    data = read_bytes(path, most)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts from the end of a byte order mark if there is one.
        text = Text("{path} is not UTF-8 text: byte 0x{object}")
        raise FILE_NOT_TEXT.error(
            text.with_values(path=path, object=f"{error.object[error.start]:02x}"),
            place=Place(str(path), line=error.object.count(b"\n", 0, error.start) + 1),
        ) from None


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal digits, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _nearest_file(path: Path) -> str:
    """The path of the file whose name is spelled like that of a missing one; "" for none."""
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in islice(entries, _LISTED)]
    except (OSError, ValueError):
        return ""
    near = nearest(path.name, names, 1, 0.75)
    return str(path.with_name(near[0])) if near else ""
