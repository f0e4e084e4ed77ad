"""Data of atc-py's own specification files, kept between runs: reading YAML takes longer than using it.

What is kept has the texts that it was made from beside it. It counts as long as the files have
these texts and the modules that read them are the same; else the files are read anew.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from atc_py import __version__
from atc_py.diag import AtcError
from atc_py.system.cache_folders import cache_folder
from atc_py.system.resources import op_specs_dir
from atc_py.system.struct_types import ready_for_threads


class _Entry(msgspec.Struct, frozen=True):
    """Data that is kept.

    Attributes:
        reader: stamp of the modules that read it.
        texts: contents of the files that it was read from, by path.
        data: the data.
    """

    reader: int
    texts: dict[str, bytes]
    data: Any


ready_for_threads(_Entry)


def kept_data(path: Path, read: Callable[[], tuple[Any, tuple[Path, ...]]]) -> Any:
    """The data of the file at `path`, from an earlier run if it still counts.

    Args:
        path: a file of atc-py's own; those of users are read each time, for they change.
        read: returns the data and the files that it comes from.
    """
    folder = cache_folder(f"specs-{__version__}") if op_specs_dir() in path.parents else None
    if folder is None:
        return read()[0]
    place = folder / f"{path.stem}-{crc32(os.fsencode(path)):08x}.msgpack"
    entry = _entry(place, path)
    if entry is not None:
        return entry.data
    data, files = read()
    _keep(place, data, files)
    return data


def kept_document(path: Path) -> Any:
    """The data of the file at `path`, one of atc-py's own, as it stands there."""

    def read() -> tuple[Any, tuple[Path, ...]]:
        from atc_py.spec.yaml_reader import read_document

        return read_document(path.read_text(encoding="utf-8"), str(path)).data, (path,)

    return kept_data(path, read)


def _entry(place: Path, path: Path) -> _Entry | None:
    """The entry at `place` if there is one, of the file at `path`, that counts."""
    try:
        entry = msgspec.msgpack.decode(place.read_bytes(), type=_Entry)
        current = all(Path(file).read_bytes() == text for file, text in entry.texts.items())
    except (OSError, ValueError, msgspec.MsgspecError):  # paths raise ValueErrors
        return None
    sound = current and str(path) in entry.texts and entry.reader == _reader()
    return entry if sound else None


def _keep(place: Path, data: Any, files: tuple[Path, ...]) -> None:
    """Write an entry if there is room; numbers and paths may be such that it cannot be written."""
    from atc_py.system.atomic_files import atomic_write

    with suppress(OSError, ValueError, OverflowError, AtcError):
        texts = {str(file): file.read_bytes() for file in files}
        written = msgspec.msgpack.encode(_Entry(_reader(), texts, data))
        with atomic_write(place, durable=False) as file:
            file.write(written)


@cache
def _reader() -> int:
    """A stamp of the modules of this folder, which changes when one of them does."""
    with os.scandir(Path(__file__).parent) as found:
        modules = sorted(
            (each for each in found if each.name.endswith(".py")), key=lambda each: each.name
        )
    facts = [(each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in modules]
    return crc32(repr(facts).encode())
