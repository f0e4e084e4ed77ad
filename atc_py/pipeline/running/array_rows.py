"""Arrays in .npy and .npz files, read row by row along their first axis."""

import math
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.pipeline.running.array_files import is_raw_pair, read_header, reporting_damage
from atc_py.system.input_files import opened
from atc_py.text import Text


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

    def read(self, count: int) -> NDArray[Any]:
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
