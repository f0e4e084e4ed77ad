"""Files that users hand in: opened, read up to a bound, decoded; each fault with its own way out."""

from __future__ import annotations

from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from atc_py.diag import Place
from atc_py.diag.codes import FILE_NOT_FOUND, FILE_NOT_TEXT, FILE_TOO_LARGE, FILE_UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["opened", "read_bytes", "read_text"]


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file at `path`, to read bytes from.

    Raises:
        AtcError: FILE_NOT_FOUND or FILE_UNREADABLE, also for reads in the block.
    """
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        missing = isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError)
        code = FILE_NOT_FOUND if missing else FILE_UNREADABLE
        raise code.error(
            f"cannot read {path}: {error.strerror or error}", place=Place(str(path))
        ) from None


def read_bytes(path: Path, most: int) -> bytes:
    """All bytes of a file, a pipe or a device, of which no more than `most` are read.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE, or FILE_TOO_LARGE.
    """
    with opened(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise FILE_TOO_LARGE.error(
            f"{path} has more than {most} bytes, the most that such a file may have",
            place=Place(str(path)),
        )
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
        # The decoder counts from behind a byte order mark where there is one.
        raise FILE_NOT_TEXT.error(
            f"{path} is not UTF-8 text: byte 0x{error.object[error.start]:02x}",
            place=Place(str(path), line=error.object.count(b"\n", 0, error.start) + 1),
        ) from None
