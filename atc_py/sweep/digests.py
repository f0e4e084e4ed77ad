"""Digests of what rows follow from: models with their weight files, options, the version."""

import hashlib
import json
import mmap
from collections.abc import Iterable, Mapping
from pathlib import Path

from atc_py.diag import AtcError
from atc_py.frontend.reading.file_facts import external_tensors
from atc_py.frontend.reading.read import read_model
from atc_py.system.path_facts import is_file, is_folder

_EXTERNAL = b"location"
"""Key that a model with weights in other files has."""

_CHUNK = 1 << 20


def files_of_model(path: Path) -> tuple[Path, ...]:
    """Return the files of a model, itself first; a file that cannot be read is alone."""
    try:
        if not _mentions(path, _EXTERNAL):
            return (path,)
        names = sorted(external_tensors(read_model(path, lenient=True)))
    except (OSError, ValueError, AtcError):
        return (path,)
    return (path, *(path.parent / name for name in names))


def files_under(path: Path) -> tuple[Path, ...]:
    """Return the files of a folder and the folders in it, sorted, or the file itself."""
    if not is_folder(path):
        return (path,)
    return tuple(sorted(each for each in path.rglob("*") if each.is_file()))


def digest_of_files(paths: Iterable[Path]) -> str:
    """Return a digest of files' contents, in order; of one that cannot be read, that it cannot."""
    whole = hashlib.sha256()
    for path in paths:
        whole.update(_digest(path))
    return whole.hexdigest()


def digest_of_options(options: Mapping[str, object]) -> str:
    """Return a digest of values that JSON can say."""
    text = json.dumps(options, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _digest(path: Path) -> bytes:
    """Return the digest of a file."""
    found = hashlib.sha256()
    try:
        if not is_file(path):  # a pipe would be waited for, and a device may have no end
            return found.digest()
        with path.open("rb") as file:
            while data := file.read(_CHUNK):
                found.update(data)
    except (OSError, ValueError) as error:
        found.update(type(error).__name__.encode())
    return found.digest()


def _mentions(path: Path, text: bytes) -> bool:
    """Return True if a text is in a file."""
    if not is_file(path) or not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.find(text) >= 0
