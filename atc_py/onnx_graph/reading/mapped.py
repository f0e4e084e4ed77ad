"""Files mapped into memory, and constants that are a byte range of one."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from atc_py.system.input_files import check_name, check_regular, note_read, read_refusal
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape, element_count

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Without O_NONBLOCK, opening a pipe would wait for a writer that may never come."""


class MappedFile:
    """A regular file mapped for reading; it stays mapped as long as anything views it.

    Attributes:
        size: bytes of the file when it was opened.
        data: the mapped bytes; empty for an empty file, which cannot be mapped.
    """

    __slots__ = ("data", "size")

    def __init__(self, path: Path) -> None:
        """Map the file at `path`.

        Raises:
            OSError: it is not there, not a regular file, or must not be read.
        """
        handle = os.open(path, _READ)
        try:
            status = os.fstat(handle)
            check_regular(status.st_mode)
            note_read(path, status)
            self.size = status.st_size
            self.data: mmap.mmap | bytes = b""
            if self.size:
                self.data = mmap.mmap(handle, self.size, access=mmap.ACCESS_READ)
        finally:
            os.close(handle)

    @classmethod
    def holding(cls, data: bytes) -> Self:
        """Bytes that are in memory already, as if they were a file."""
        made = cls.__new__(cls)
        made.data, made.size = data, len(data)
        return made

    def release(self, start: int, size: int) -> None:
        """Let the system take back the pages of a range; they are read again on access."""
        advise = getattr(self.data, "madvise", None)
        if advise is None or not hasattr(mmap, "MADV_DONTNEED") or not size:
            return
        first = start - start % mmap.PAGESIZE
        advise(mmap.MADV_DONTNEED, first, start + size - first)


class MappedConst:
    """A constant whose data is a range of a mapped file, little-endian and dense."""

    __slots__ = ("_file", "_start", "dtype", "shape")

    def __init__(self, file: MappedFile, start: int, dtype: DType, shape: Shape) -> None:
        self._file = file
        self._start = start
        self.dtype = dtype
        self.shape = shape

    def numpy(self) -> npt.NDArray[np.generic]:
        """A read-only view of the file; bool is copied, since any byte but 0 means true."""
        count = element_count(self.shape)
        if self.dtype is DType.BOOL:
            flags = np.frombuffer(self._file.data, np.uint8, count, self._start)
            return np.not_equal(flags, 0).reshape(self.shape)
        dtype = self.dtype.numpy
        return np.frombuffer(self._file.data, dtype, count, self._start).reshape(self.shape)

    def release(self) -> None:
        """Give the pages back to the system."""
        self._file.release(self._start, element_count(self.shape) * self.dtype.itemsize)

    def reshaped(self, shape: Shape) -> MappedConst:
        """The same data under another shape of as many elements."""
        return MappedConst(self._file, self._start, self.dtype, shape)


def open_model_file(path: Path) -> MappedFile:
    """The file at `path`, mapped.

    Raises:
        AtcError: FILE_NOT_FOUND if it does not exist, FILE_UNREADABLE if it must not be read
            or is a pipe or a device.
    """
    check_name(path)
    with reading_errors(path):
        return MappedFile(path)


@contextmanager
def reading_errors(path: Path) -> Iterator[None]:
    """Turn the system's errors while reading the file at `path` into coded errors.

    Raises:
        AtcError: FILE_NOT_FOUND if it does not exist, FILE_UNREADABLE if it must not be read.
    """
    try:
        yield
    except OSError as error:
        raise read_refusal(path, error) from error
