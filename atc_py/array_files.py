"""Reading .npy and .npz files that may be damaged or hostile."""

from __future__ import annotations

import math
import os
import warnings
import zipfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from numpy.lib import format as npy_format

from atc_py.diag import AtcError, Place
from atc_py.diag.codes import BAD_DATA_FILE, FILE_NOT_FOUND, FILE_UNREADABLE
from atc_py.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]

__all__ = ["broken_file", "is_raw_pair", "nameable", "opened", "read_npy", "read_npz"]

_REASON = 200
"""Characters of a reason that are shown; numpy quotes whole headers."""


def read_npy(path: Path) -> Array:
    """The array of an .npy file.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE, or BAD_DATA_FILE for what is no .npy file, is
            cut short, or has elements that no tensor has.
    """
    with opened(path) as file, _damage(path):
        if file.read(2) == b"PK":
            raise ValueError("it is an archive of arrays; call it .npz")
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        return _array(file, size)


def read_npz(path: Path) -> dict[str, Array]:
    """All arrays of an .npz file, by name.

    Raises:
        AtcError: as `read_npy` does, and BAD_DATA_FILE for an archive with members that are no
            arrays, two of one name, or none.
    """
    arrays: dict[str, Array] = {}
    with opened(path) as file, _damage(path), zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name == member.filename:
                raise ValueError(f"its member {name!r} is no .npy array")
            if name in arrays:
                raise ValueError(f"it holds {name!r} twice")
            with archive.open(member) as data:
                arrays[name] = _array(data, member.file_size)
        if not arrays:
            raise ValueError("it holds no arrays")
    return arrays


def is_raw_pair(dtype: np.dtype[Any]) -> bool:
    """Whether elements are two bytes without meaning: what numpy makes of bfloat16 in a file."""
    return dtype.kind == "V" and dtype.names is None and dtype.str[1:] == "V2"


def nameable(array: Array) -> Array:
    """`array` as a file can hold it that names the dtypes of numpy alone: int4 as int8."""
    import numpy as np

    return array.astype(np.int8) if array.dtype.name == DType.INT4.value else array


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
        missing = isinstance(error, FileNotFoundError | IsADirectoryError)
        code = FILE_NOT_FOUND if missing else FILE_UNREADABLE
        raise code.error(
            f"cannot read {path}: {error.strerror or error}", place=Place(str(path))
        ) from None


def broken_file(path: Path, reason: str) -> AtcError:
    """The diagnostic for a data file that is not what its name says."""
    text = reason if len(reason) <= _REASON else f"{reason[:_REASON]}..."
    return BAD_DATA_FILE.error(f"{path} cannot be read: {text}", place=Place(str(path)))


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Turn whatever the block raises of the file's content into BAD_DATA_FILE."""
    try:
        with warnings.catch_warnings():
            # Damaged headers are parsed as Python, which warns of what it finds there.
            warnings.simplefilter("ignore")
            yield
    except Exception as error:  # noqa: BLE001  (numpy and zipfile pass on what their parsers raise)
        raise broken_file(path, str(error) or type(error).__name__) from None


def _array(file: IO[bytes], size: int) -> Array:
    """The array in a file of `size` bytes; what the header claims is checked before it is made."""
    version = npy_format.read_magic(file)
    first = version == (1, 0)
    read = npy_format.read_array_header_1_0 if first else npy_format.read_array_header_2_0
    shape, _, dtype = read(file)
    if not is_raw_pair(dtype):
        DType.from_numpy(dtype)
    wanted, left = math.prod(shape) * dtype.itemsize, size - file.tell()
    if min(shape, default=0) < 0 or wanted > left:
        raise ValueError(f"its header claims {wanted} bytes of data, there are {left}")
    file.seek(0)
    array: Array = npy_format.read_array(file, allow_pickle=False)
    return array
