"""Reading .npy and .npz files that may be damaged or hostile, whole or row by row."""

import math
import os
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy_format

from atc_py.diag import BAD_DATA_FILE, AtcError, Place
from atc_py.system.input_files import opened
from atc_py.system.memory_limit import require_memory
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

Array = npt.NDArray[np.generic]


_LONGEST_HEADER = 10_000
"""Bytes; numpy reads no longer ones either, but only says so once it has them in memory."""

_REASON = 200
"""Characters of a reason that are shown; numpy quotes whole headers."""


def read_npy(path: Path, most: int | None = None) -> Array:
    """The array of an .npy file of which an input accepts `most` bytes.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE, MEMORY_LIMIT, or BAD_DATA_FILE for a file that is
            not .npy, is cut short, or has elements that no tensor has.
    """
    with opened(path) as file, reporting_damage(path):
        if file.read(2) == b"PK":
            raise ValueError("it is an archive of arrays; give it the suffix .npz")
        size = file.seek(0, os.SEEK_END)
        require_memory(size, Text("its array"), Place(str(path)))
        file.seek(0)
        return _array(file, size, most)


def read_npz(path: Path, most: int | None = None) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    with opened(path) as file, reporting_damage(path), zipfile.ZipFile(file) as archive:
        claimed = sum(member.file_size for member in archive.infolist())
        require_memory(claimed, Text("its arrays"), Place(str(path)))
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name == member.filename:
                raise ValueError(Text("its member {name} is not a .npy array", name=repr(name)))
            if name in arrays:
                raise ValueError(Text("it holds {name} twice", name=repr(name)))
            with archive.open(member) as data:
                arrays[name] = _array(data, member.file_size, most)
        if not arrays:
            raise ValueError("it holds no arrays")
    return arrays


def is_raw_pair(dtype: np.dtype[Any]) -> bool:
    """True if elements are two raw bytes, which is how numpy stores bfloat16."""
    return dtype.kind == "V" and dtype.names is None and dtype.str[1:] == "V2"


def broken_file(path: Path, reason: str) -> AtcError:
    """The diagnostic for a data file whose content contradicts its name."""
    text = reason if len(reason) <= _REASON else f"{reason[:_REASON]}..."
    return BAD_DATA_FILE.error(
        Text("{path} cannot be read: {text}", path=path, text=text), place=Place(str(path))
    )


@contextmanager
def reporting_damage(path: Path) -> Iterator[None]:
    """Turn errors about the file's content in the block into BAD_DATA_FILE."""
    try:
        with warnings.catch_warnings():
            # Damaged headers are parsed as Python, which may emit warnings.
            warnings.simplefilter("ignore")
            yield
    except AtcError:
        raise
    except Exception as error:  # noqa: BLE001  (numpy and zipfile pass on any error of their parsers)
        raise broken_file(path, str(error) or type(error).__name__) from None


def _check_header(file: IO[bytes], width: int) -> None:
    """Refuse a header whose length, a number of `width` bytes that comes next, is not plausible."""
    start = file.tell()
    length = int.from_bytes(file.read(width), "little")
    if length > _LONGEST_HEADER:
        raise ValueError(
            Text(
                "its header has {length} bytes, at most {longest_header} are allowed",
                length=length,
                longest_header=_LONGEST_HEADER,
            )
        )
    file.seek(start)


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether the first axis varies fastest, and dtype, of an .npy file.

    Raises:
        ValueError: the header is not one of an array that a tensor can have.
    """
    version = npy_format.read_magic(file)
    first = version == (1, 0)
    _check_header(file, 2 if first else 4)
    read = npy_format.read_array_header_1_0 if first else npy_format.read_array_header_2_0
    shape, is_fortran, dtype = read(file)
    if not is_raw_pair(dtype):
        DType.from_numpy(dtype)
    return shape, is_fortran, dtype


def _array(file: IO[bytes], size: int, most: int | None) -> Array:
    """The array in a file of `size` bytes; the header's claim is checked first."""
    shape, _, dtype = read_header(file)
    wanted, left = math.prod(shape) * dtype.itemsize, size - file.tell()
    if min(shape, default=0) < 0 or wanted > left:
        raise ValueError(
            Text(
                "its header claims {wanted} bytes of data, there are {left}",
                wanted=wanted,
                left=left,
            )
        )
    if most is not None and wanted > most:
        raise ValueError(
            Text(
                "its header claims {wanted} bytes of data, no input accepts more than {most}",
                wanted=wanted,
                most=most,
            )
        )
    file.seek(0)
    array: Array = npy_format.read_array(file, allow_pickle=False)
    return array


class ArrayHeader(msgspec.Struct, frozen=True):
    """Type of a stored array."""

    name: str  # its name in an .npz; "" for that of an .npy
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class ArrayRows:
    """An array of which some rows are in memory at a time."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        shape, is_fortran, self.dtype = _stored_header(file)
        if is_fortran and len(shape) > 1:
            raise ValueError("its elements are stored in column order; save it in C order")
        self.shape = shape

    def read(self, count: int) -> npt.NDArray[Any]:
        """The next rows.

        Raises:
            AtcError: BAD_DATA_FILE where the file ends before them.
        """
        shape = (count, *self.shape[1:])
        size = math.prod(shape) * self.dtype.itemsize
        with reporting_damage(self._path):
            data = self._file.read(size)
            if len(data) != size:
                raise ValueError(
                    Text(
                        "it ends within its rows: {size} bytes expected, {count} found",
                        size=size,
                        count=len(data),
                    )
                )
        return np.frombuffer(data, self.dtype).reshape(shape)


def array_headers(path: Path) -> list[ArrayHeader]:
    with opened(path) as file, reporting_damage(path):
        if path.suffix != ".npz":
            shape, _, dtype = _stored_header(file)
            return [ArrayHeader("", shape, dtype)]
        found = []
        with zipfile.ZipFile(file) as archive:
            for member in archive.namelist():
                with archive.open(member) as data:
                    shape, _, dtype = _stored_header(data)
                found.append(ArrayHeader(member.removesuffix(".npy"), shape, dtype))
        if not found:
            raise ValueError("it holds no arrays")
        return found


@contextmanager
def open_rows(path: Path) -> Iterator[dict[str, ArrayRows]]:
    """Open the arrays of an .npy or .npz file, to be read by rows."""
    with ExitStack() as stack:
        file = stack.enter_context(opened(path))
        with reporting_damage(path):
            if path.suffix == ".npz":
                archive = stack.enter_context(zipfile.ZipFile(file))
                found = {
                    name.removesuffix(".npy"): ArrayRows(
                        path, stack.enter_context(archive.open(name))
                    )
                    for name in archive.namelist()
                }
            else:
                found = {"": ArrayRows(path, file)}
        yield found


def _stored_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """A header of an array whose elements numpy can name."""
    shape, is_fortran, dtype = read_header(file)
    if is_raw_pair(dtype) or min(shape, default=0) < 0:
        raise ValueError(
            Text(
                "its elements are {dtype} of the shape {shape}", dtype=dtype.name, shape=list(shape)
            )
        )
    return shape, is_fortran, dtype
