"""Arrays as .npy files, version 1.0: the one header of a dtype and shape, and data in pieces.

bfloat16 has no name in this format; its data is stored as `<V2`, two bytes without meaning, as
numpy.save itself writes it. Nor has int4, whose numbers stand as int8. The dtype in the model's
description says what they mean.
"""

import mmap
import struct
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape, element_count

CHUNK = 1 << 21
"""Bytes in a piece: large enough for system calls, small enough for a core's cache."""

_NAMED = {DType.BFLOAT16: "<V2", DType.INT4: "|i1"}
"""Names in headers of dtypes that numpy has none for."""

_ALIGNMENT = 64
_MAGIC = b"\x93NUMPY\x01\x00"


def npy_header(dtype: DType, shape: Shape) -> bytes:
    """The header of a dense array in C order.

    It is written here rather than by numpy, whose padding differs between versions: the reader
    compares headers as bytes and never evaluates one.
    """
    text = f"{{'descr': {_descr(dtype)!r}, 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    unpadded = len(_MAGIC) + 2 + len(text) + 1
    padded = text + " " * (-unpadded % _ALIGNMENT) + "\n"
    return _MAGIC + struct.pack("<H", len(padded)) + padded.encode("ascii")


def array_chunks(array: npt.NDArray[np.generic]) -> Iterator[memoryview]:
    """Yield the elements in C order, little-endian, in chunks valid until the next one.

    Arrays that are dense already are not copied; others (transposed, broadcast, big-endian) are
    copied piece by piece, never whole.
    """
    dtype = DType.from_numpy(array.dtype)
    target = little_endian(dtype)
    if dtype is DType.BFLOAT16:
        target = np.dtype("<u2")
        array = array.view(np.uint16)
    elif dtype is DType.INT4:
        target = np.dtype(np.int8)
        array = array.astype(np.int8)
    if 0 < array.nbytes <= CHUNK and array.dtype == target and array.flags.c_contiguous:
        yield array.reshape(-1).view(np.uint8).data  # nditer takes ten times as long to make
        return
    pieces = np.nditer(  # type: ignore[call-overload]  # numpy's stub lacks the flag `contig`
        [array],
        flags=["external_loop", "buffered", "zerosize_ok"],
        op_flags=[["readonly", "contig"]],
        op_dtypes=[target],
        order="C",
        casting="equiv",
        buffersize=CHUNK // target.itemsize,
    )
    for piece in pieces:
        yield np.asarray(piece).view(np.uint8).data


def view_array(data: mmap.mmap, offset: int, dtype: DType, shape: Shape) -> npt.NDArray[np.generic]:
    """The array whose elements are stored in `data` at `offset`: read-only, not copied.

    The array holds on to the mapping, so that the file cannot be unmapped under it. (An array
    made by `np.ndarray(buffer=...)` would not.)
    """
    count = element_count(shape)
    if count == 0:
        empty: npt.NDArray[np.generic] = np.empty(shape, little_endian(dtype))
        empty.flags.writeable = False
        return empty
    elements: npt.NDArray[np.generic] = np.frombuffer(data, little_endian(dtype), count, offset)
    return elements.reshape(shape)


def release_pages(array: npt.NDArray[np.generic]) -> None:
    """Let the system take back the pages of a view of a mapped file, which are read again on access.

    Pages that hold other data too stay, and so does an array of another kind.
    """
    root: object = array
    while isinstance(root, np.ndarray | memoryview):
        root = root.base if isinstance(root, np.ndarray) else root.obj
    if not isinstance(root, mmap.mmap):
        return
    start = array.ctypes.data - np.frombuffer(root, np.uint8).ctypes.data
    release_range(root, start, start + array.nbytes)


def release_range(data: mmap.mmap, start: int, end: int) -> None:
    """Let the system take back whole pages between two offsets of a mapped file."""
    if not hasattr(mmap, "MADV_DONTNEED"):
        return
    first, last = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE, end - end % mmap.PAGESIZE
    if first < last:
        data.madvise(mmap.MADV_DONTNEED, first, last - first)


def little_endian(dtype: DType) -> np.dtype[np.generic]:
    """The numpy dtype of stored elements."""
    known = dtype.numpy
    return known if known.kind == "V" else known.newbyteorder("<")


def _descr(dtype: DType) -> str:
    """The name of a dtype in a header: `<f4`, `|b1`, `<V2` for bfloat16, `|i1` for int4."""
    return _NAMED.get(dtype) or little_endian(dtype).str
