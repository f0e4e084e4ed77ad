"""Files mapped into memory, constants that are a byte range of one, and weights beside the model."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from atc_py.diag import BAD_TENSOR, EXTERNAL_DATA_MISSING, EXTERNAL_DATA_OUTSIDE, Place
from atc_py.system.input_files import check_name, map_regular, read_refusal
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape, element_count
from atc_py.text import Text, os_reason


class MappedFile:
    """A regular file mapped for reading; it stays mapped as long as anything views it."""

    __slots__ = ("data", "size")

    def __init__(self, path: Path) -> None:
        """Map the file; OSError if it is not there, not regular, or must not be read."""
        self.data = map_regular(path)  # empty for an empty file, which cannot be mapped
        self.size = len(self.data)

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
        self._file.release(self._start, element_count(self.shape) * self.dtype.itemsize)

    def reshaped(self, shape: Shape) -> MappedConst:
        """The same data under another shape of as many elements."""
        return MappedConst(self._file, self._start, self.dtype, shape)


def open_model_file(path: Path) -> MappedFile:
    """The file, mapped; FILE_NOT_FOUND, or FILE_UNREADABLE for pipes and devices, too."""
    check_name(path)
    try:
        return MappedFile(path)
    except OSError as error:
        raise read_refusal(path, error) from error


_MAX_DIGITS = 18
"""Offsets and lengths of more digits are refused; no file is that long."""


class ByteRange(NamedTuple):
    """Bytes of a mapped file."""

    file: MappedFile
    start: int
    size: int


class ExternalFiles:
    """The weight files of one model; each is mapped once, however many tensors it holds."""

    def __init__(self, model: Path) -> None:
        self._folder = model.parent
        self.files: dict[Path, MappedFile] = {}

    def locate(self, entries: Mapping[str, str], wanted: int, place: Place) -> ByteRange:
        """The place of a tensor of `wanted` bytes, by its external_data entries.

        EXTERNAL_DATA_OUTSIDE for a file that is not in the model's folder, EXTERNAL_DATA_MISSING
        for one that is not there or too short, BAD_TENSOR for entries that make no sense or a
        length other than `wanted`.
        """
        location = entries.get("location", "")
        if not location:
            raise BAD_TENSOR.error(Text("external data without a location"), place=place)
        start = number_entry(entries, "offset", 0, place)
        size = number_entry(entries, "length", wanted, place)
        if size != wanted:
            message = Text(
                "{size} bytes of external data, but dtype and shape ask for {wanted}",
                size=size,
                wanted=wanted,
            )
            raise BAD_TENSOR.error(message, place=place)
        file = self._file(location, place)
        if start + size > file.size:
            message = Text(
                "bytes {start} to {start_2} of {location}, which has {size}",
                start=start,
                start_2=start + size,
                location=repr(location),
                size=file.size,
            )
            raise EXTERNAL_DATA_MISSING.error(message, place=place)
        return ByteRange(file, start, size)

    def _file(self, location: str, place: Place) -> MappedFile:
        path = self._path_inside(location, place)
        if path not in self.files:
            try:
                self.files[path] = MappedFile(path)
            except OSError as error:
                message = Text(
                    "the weight file {location} cannot be read: {strerror}",
                    location=repr(location),
                    strerror=os_reason(error),
                )
                raise EXTERNAL_DATA_MISSING.error(message, place=place) from error
        return self.files[path]

    def _path_inside(self, location: str, place: Place) -> Path:
        """The path of `location`, which must be in the model's folder, links followed."""
        if "\0" in location:
            raise BAD_TENSOR.error(
                Text("the location of external data holds a NUL byte"), place=place
            )
        path = self._folder / location
        # Windows' rules include POSIX' ones, so a model is refused on all systems or on none.
        windows = PureWindowsPath(location)
        rooted = bool(windows.anchor) or Path(location).is_absolute()
        try:
            real = path.resolve()
            inside = not rooted and ".." not in windows.parts
            inside = inside and real.is_relative_to(self._folder.resolve())
        except (OSError, RuntimeError) as error:
            message = Text(
                "the weight file {location} cannot be found: {error}",
                location=repr(location),
                error=error,
            )
            raise EXTERNAL_DATA_MISSING.error(message, place=place) from error
        if not inside:
            message = Text(
                "the weight file {location} is not in the model's folder", location=repr(location)
            )
            raise EXTERNAL_DATA_OUTSIDE.error(message, place=place)
        return real


def number_entry(entries: Mapping[str, str], key: str, default: int, place: Place) -> int:
    text = entries.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        message = Text(
            "{key} of external data must be a whole number, found {text}",
            key=key,
            text=repr(text[:40]),
        )
        raise BAD_TENSOR.error(message, place=place)
    return int(text)
