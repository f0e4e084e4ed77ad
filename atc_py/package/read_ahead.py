"""Data of constants, computed on other threads ahead of what writes it, in pieces where that goes.

Casting to float16 takes about as long as digests and writing, and all of them let other threads run.
A piece stays in a core's cache between being cast and being digested, and a constant of any size
takes no more memory than a few pieces.
"""

from __future__ import annotations

import mmap
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache, partial
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from atc_py.ir import CastConst, ConstData, DeferredConst, RowwiseConst, SplatConst, Value
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape, element_count
from atc_py.text import Text

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_THREADS = 2
"""Threads that compute; one more writes."""

_AHEAD = 4 << 20
"""Bytes that are computed ahead; a larger constant that has no pieces is one ahead alone."""

_SMALL = 1 << 19
"""Bytes below which passing a constant to another thread takes about as long as computing it."""

_FEW = 16 << 20
"""Bytes of all large constants below which starting threads takes longer than they save."""

_RELEASED_AT_ONCE = 4
"""Pieces after which the pages of the source that were read are given back."""


class _Piece(NamedTuple):
    """The data of a constant, or a piece of it."""

    array: npt.NDArray[np.generic]
    memory: npt.NDArray[np.uint8] | None = None  # what holds it, if others may have that afterwards


class _Job(msgspec.Struct, frozen=True):
    """The computation of a constant, or of a piece of one."""

    nbytes: int  # of the result
    # computes it, in the memory of a piece that is written if there is one
    make: Callable[[_Spare], _Piece]


class _Spare:
    """Memory of pieces that are written, for later ones: new memory has a page fault every 4 KiB."""

    def __init__(self) -> None:
        self._free: list[npt.NDArray[np.uint8]] = []

    def take(self) -> npt.NDArray[np.uint8]:
        try:
            return self._free.pop()
        except IndexError:  # and not a question before, since two threads ask
            return np.empty(CHUNK, np.uint8)

    def give(self, piece: _Piece) -> None:
        if piece.memory is not None:
            self._free.append(piece.memory)


class ReadAhead:
    """The data of constants in order; a context, at whose end no thread computes any more."""

    def __init__(self, constants: Iterable[Value]) -> None:
        """Prepare to read `constants`, each once and in this order."""
        self._pool: ThreadPoolExecutor | None = None  # from the first job on
        large = [value for value in constants if value.type.nbytes >= _SMALL]
        self._in_threads = sum(value.type.nbytes for value in large) >= _FEW
        self._jobs = (job for value in large for job in _jobs(value))
        self._coming: deque[tuple[_Job, Future[_Piece]]] = deque()
        self._bytes = 0
        self._spare = _Spare()
        self._written: _Piece | None = None

    def chunks(self, value: Value) -> Iterator[memoryview]:
        """Yield the data of the next constant, which must be `value`, as `array_chunks` does."""
        if value.type.nbytes < _SMALL:
            yield from array_chunks(_whole(value).array)
        else:
            arrays = islice(self._arrays(), _piece_count(value))
            yield from chain.from_iterable(map(array_chunks, arrays))
        if value.const is not None:
            value.const.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _arrays(self) -> Iterator[npt.NDArray[np.generic]]:
        """Yield results of jobs in order; later ones are computed meanwhile.

        An array is valid until the next one, also where that is of another constant.
        """
        while True:
            if self._written is not None:
                self._spare.give(self._written)
                self._written = None
            self._written = self._next_piece()
            yield self._written.array

    def _next_piece(self) -> _Piece:
        if not self._in_threads:
            return next(self._jobs).make(self._spare)
        self._look_ahead()
        job, future = self._coming.popleft()
        self._bytes -= job.nbytes
        self._look_ahead()
        return future.result()

    def _look_ahead(self) -> None:
        """Start jobs while little is coming, and always one."""
        while not self._coming or self._bytes < _AHEAD:
            job = next(self._jobs, None)
            if job is None:
                return
            if self._pool is None:
                from concurrent.futures import ThreadPoolExecutor  # small models need none

                self._pool = ThreadPoolExecutor(_THREADS)
            self._coming.append((job, self._pool.submit(job.make, self._spare)))
            self._bytes += job.nbytes


def _jobs(value: Value) -> Iterator[_Job]:
    """Yield what computes a constant: all of it, or its pieces in order."""
    if _piece_count(value) == 1:
        yield _Job(value.type.nbytes, partial(_whole, value))
        return
    const, dtype = value.const, value.type.dtype
    source = const.source if isinstance(const, CastConst) else const
    if const is None or source is None:
        raise ValueError(Text("{value} has no data", value=value.name))
    _check(value, const.dtype, const.shape)
    if isinstance(source, RowwiseConst):
        yield from _jobs_of_rows(const, source, dtype)
        return
    flat = source.numpy().reshape(-1)
    length = CHUNK // dtype.itemsize
    for number, start in enumerate(range(0, flat.size, length)):
        part = flat[start : start + length]
        job = partial(_piece, const, part, _released(source, number))
        yield _Job(part.size * dtype.itemsize, job)


def _jobs_of_rows(const: ConstData, source: RowwiseConst, dtype: DType) -> Iterator[_Job]:
    row = element_count(source.shape[1:]) * dtype.itemsize
    length = _rows_at_once(source)
    for number, start in enumerate(range(0, source.shape[0], length)):
        end = min(start + length, source.shape[0])
        job = partial(_piece_of_rows, const, source, (start, end), _released(source, number))
        yield _Job(row * (end - start), job)


def _rows_at_once(source: RowwiseConst) -> int:
    """The rows in a piece, which is one of what is computed before the cast."""
    return max(1, CHUNK // (element_count(source.shape[1:]) * source.dtype.itemsize))


def _released(source: ConstData, number: int) -> ConstData | None:
    """The source whose pages are given back at that piece, if any are."""
    return source if number and number % _RELEASED_AT_ONCE == 0 else None


def _piece_count(value: Value) -> int:
    """The pieces that a constant is computed in; 1 where it is small or goes as a whole."""
    const, dtype = value.const, value.type.dtype
    source = const.source if isinstance(const, CastConst) else const
    if source is None or value.type.nbytes <= CHUNK:
        return 1
    if isinstance(source, RowwiseConst):
        return -(-source.shape[0] // _rows_at_once(source))
    if isinstance(source, CastConst | DeferredConst | SplatConst):
        return 1
    if not source.numpy().flags.c_contiguous:
        return 1
    return -(-element_count(source.shape) // (CHUNK // dtype.itemsize))


def _piece(
    const: ConstData, part: npt.NDArray[np.generic], released: ConstData | None, spare: _Spare
) -> _Piece:
    if released is not None:
        released.release()
    if not isinstance(const, CastConst):
        return _Piece(part)
    nbytes = part.size * const.dtype.itemsize
    if nbytes > CHUNK:
        return _Piece(const.cast(part))
    memory = spare.take()
    into = memory[:nbytes].view(const.dtype.numpy).reshape(part.shape)
    return _Piece(const.cast(part, into), memory)


def _piece_of_rows(
    const: ConstData,
    source: RowwiseConst,
    rows: tuple[int, int],
    released: ConstData | None,
    spare: _Spare,
) -> _Piece:
    return _piece(const, source.rows(*rows), released, spare)


def _whole(value: Value, _spare: _Spare | None = None) -> _Piece:
    """The data of a constant, checked against its type."""
    if value.const is None:
        raise ValueError(Text("{value} has no data", value=value.name))
    array = value.const.numpy()
    _check(value, DType.from_numpy(array.dtype), array.shape)
    return _Piece(array)


def _check(value: Value, dtype: DType, shape: Shape) -> None:
    if dtype is not value.type.dtype or shape != value.type.shape:
        raise ValueError(
            f"the data of {value.name} is {dtype.value}{list(shape)}, "
            f"its type {value.type.dtype.value}{list(value.type.shape)}"
        )


CHUNK = 1 << 21
"""Bytes in a piece: large enough for system calls, small enough for a core's cache."""

_NAMED = {DType.BFLOAT16: "<V2", DType.INT4: "|i1"}
"""Names in headers of dtypes that numpy has none for."""

_ALIGNMENT = 64
_MAGIC = b"\x93NUMPY\x01\x00"


@lru_cache(maxsize=1024)
def npy_header(dtype: DType, shape: Shape) -> bytes:
    """The header of a dense array in C order.

    It is written here rather than by numpy, whose padding differs between versions: the reader
    compares headers as bytes and never evaluates one.
    """
    name = _NAMED.get(dtype) or little_endian(dtype).str
    text = f"{{'descr': {name!r}, 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
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


def write_npy(file: IO[bytes], array: npt.NDArray[np.generic]) -> None:
    """Write an array; numpy.save would write past `file`, whose failing writes are diagnostics."""
    file.write(npy_header(DType.from_numpy(array.dtype), array.shape))
    file.writelines(array_chunks(array))


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


@cache
def little_endian(dtype: DType) -> np.dtype[np.generic]:
    known = dtype.numpy
    return known if known.kind == "V" else known.newbyteorder("<")
