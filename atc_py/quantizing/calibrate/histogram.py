"""Histograms of all values of a tensor, in bins whose width is a power of two.

A bin is found by multiplying with a power of two, which is exact, and cutting off toward zero. So
two bins become one bin of twice the width without an error, and a histogram depends on its values
alone: neither on their order nor on how they came in batches.

Bin i > 0 has the values in [i * width, (i + 1) * width), bin -i the same values negated, and bin 0
those in (-width, width). The width is the least one at which all values are in 2^13 bins a side.
"""

from __future__ import annotations

import math
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import BAD_HISTOGRAM, BAD_OPTION, VALUES_NOT_FINITE, Place
from atc_py.text import Text


def finite_floats(
    array: NDArray[Any], place: Place | None = None
) -> tuple[NDArray[np.float32], float, float]:
    """The values of an array as float32, the lowest and the highest, which are 0 if there is none.

    The values are flat, in the order of the array's memory; a view where possible. NaN, infinities
    and larger numbers are refused.
    """
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        raise BAD_OPTION.error(
            Text("values of dtype {dtype} cannot be quantized", dtype=array.dtype),
            place=place,
            help=Text("use float32"),
        )
    flat = array.ravel(order="K")
    with np.errstate(over="ignore"):
        values = flat.astype(np.float32, copy=False)
    if not values.size:
        return values, 0.0, 0.0
    low, high = float(values.min()), float(values.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        wrong = np.flatnonzero(~np.isfinite(values))
        raise VALUES_NOT_FINITE.error(
            Text(
                "{size} of {size_2} values are NaN, infinite or beyond float32; the first is {flat}",
                size=wrong.size,
                size_2=values.size,
                flat=flat[wrong[0]],
            ),
            place=place,
        )
    return values, low, high


_MAGIC = b"ATCH1\n"
_HEADER = struct.Struct("<ddQQiI")
_CHECK = struct.Struct("<I")
_BYTES_A_BIN = 4 + 8
_LARGEST_EXPONENT = 128


BINS_A_SIDE = 2**13
"""Bins of each sign: at least 2^12 of them cover the larger side, 16 or more for each int8 step."""

_SIDE_BITS = 13
_LEAST_EXPONENT = -126
"""Of the width; one over it is still a float32."""

_CHUNK = 2**16
"""Elements that are counted at a time, so that what is computed of them stays in the cache."""


class Histogram:
    """Counts of all values that were added, with their exact lowest and highest.

    Attributes:
        low: the lowest value; 0 while there is none.
        high: the highest value; 0 while there is none.
        count: how many values were added.
        zeros: how many of them are 0.
    """

    __slots__ = ("_counts", "_exponent", "count", "high", "low", "zeros")

    def __init__(self) -> None:
        self.low = 0.0
        self.high = 0.0
        self.count = 0
        self.zeros = 0
        self._exponent = _LEAST_EXPONENT
        self._counts: NDArray[np.int64] = np.zeros(2 * BINS_A_SIDE - 1, np.int64)

    @classmethod
    def of(cls, *arrays: NDArray[Any]) -> Histogram:
        made = cls()
        for array in arrays:
            made.add(array)
        return made

    @property
    def width(self) -> float:
        """Width of the bins, a power of two; bin 0 has this width on both sides of 0."""
        return math.ldexp(1.0, self._exponent)

    def add(self, array: NDArray[Any], place: Place | None = None) -> None:
        """Count the values of an array; one without elements changes nothing.

        Values are compared as float32. After an error the histogram is what it was.

        Raises:
            AtcError: VALUES_NOT_FINITE for NaN, infinities and numbers beyond float32;
                BAD_OPTION for a dtype that has no real numbers.
        """
        values, low, high = finite_floats(array, place)
        if not values.size:
            return
        self._include(low, high, values.size)
        factor = np.float32(math.ldexp(1.0, -self._exponent))
        scaled = np.empty(min(values.size, _CHUNK), np.float32)
        bins = np.empty(scaled.size, np.int32)
        places = np.empty(scaled.size, np.intp)
        for start in range(0, values.size, _CHUNK):
            chunk = values[start : start + _CHUNK]
            size = chunk.size
            np.multiply(chunk, factor, out=scaled[:size])
            np.copyto(bins[:size], scaled[:size], casting="unsafe")
            np.add(bins[:size], BINS_A_SIDE - 1, out=places[:size])
            self._counts += np.bincount(places[:size], minlength=self._counts.size)
            self.zeros += int(np.count_nonzero(chunk == 0))

    def merge(self, other: Histogram) -> None:
        """Count the values of another histogram, which does not change."""
        if not other.count:
            return
        self._include(other.low, other.high, other.count)
        self._counts += _narrowed(other._counts, self._exponent - other._exponent)
        self.zeros += other.zeros

    def counts(self) -> tuple[int, NDArray[np.int64]]:
        """The number of the first bin that has values, and the counts to the last such bin."""
        filled = np.flatnonzero(self._counts)
        if not filled.size:
            return 0, self._counts[:0]
        first, last = int(filled[0]), int(filled[-1])
        return first - (BINS_A_SIDE - 1), self._counts[first : last + 1].copy()

    def as_bytes(self) -> bytes:
        """A header, the numbers of the bins that have values, their counts, and a check sum."""
        filled = np.flatnonzero(self._counts)
        body = _MAGIC + _HEADER.pack(
            self.low, self.high, self.count, self.zeros, self._exponent, filled.size
        )
        body += (filled - (BINS_A_SIDE - 1)).astype("<i4").tobytes()
        body += self._counts[filled].astype("<i8").tobytes()
        return body + _CHECK.pack(zlib.crc32(body))

    @classmethod
    def from_bytes(cls, data: bytes, place: Place | None = None) -> Histogram:
        """The histogram of `as_bytes`.

        Raises:
            AtcError: BAD_HISTOGRAM if the bytes are not those of a histogram.
        """
        start = len(_MAGIC) + _HEADER.size
        if data[: len(_MAGIC)] != _MAGIC or len(data) < start + _CHECK.size:
            raise BAD_HISTOGRAM.error(Text("the bytes do not begin like a histogram"), place=place)
        made = cls()
        *head, size = _HEADER.unpack_from(data, len(_MAGIC))
        made.low, made.high, made.count, made.zeros, made._exponent = head
        length = start + _BYTES_A_BIN * size + _CHECK.size
        if len(data) != length:
            raise BAD_HISTOGRAM.error(
                Text(
                    "a histogram with {size} filled bins has {length} bytes, found {count}",
                    size=size,
                    length=length,
                    count=len(data),
                ),
                place=place,
            )
        if _CHECK.unpack(data[-_CHECK.size :])[0] != zlib.crc32(data[: -_CHECK.size]):
            raise BAD_HISTOGRAM.error(Text("the check sum of a histogram is wrong"), place=place)
        bins = np.frombuffer(data, "<i4", size, start).astype(np.int64)
        counts = np.frombuffer(data, "<i8", size, start + 4 * size).astype(np.int64)
        if not made._has_parts(bins, counts):
            raise BAD_HISTOGRAM.error(
                Text("the parts of a histogram contradict each other"), place=place
            )
        made._counts[bins + BINS_A_SIDE - 1] = counts
        return made

    def _has_parts(self, bins: NDArray[np.int64], counts: NDArray[np.int64]) -> bool:
        """True if numbers of filled bins and their counts can be those of this histogram."""
        return (
            math.isfinite(self.low)
            and math.isfinite(self.high)
            and self.low <= self.high
            and _LEAST_EXPONENT <= self._exponent <= _LARGEST_EXPONENT
            and bool((np.diff(bins) > 0).all())
            and bool((np.abs(bins) < BINS_A_SIDE).all())
            and bool((counts > 0).all())
            and int(counts.sum()) == self.count
            and self.zeros <= self.count
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and self.as_bytes() == other.as_bytes()

    def __hash__(self) -> int:
        return hash(self.as_bytes())

    def _include(self, low: float, high: float, count: int) -> None:
        """Take in the bounds of values, and widen the bins until they hold these."""
        # Adding 0.0 makes 0.0 of -0.0, which compares equal, so that either could be the least.
        self.low = (min(self.low, low) if self.count else low) + 0.0
        self.high = (max(self.high, high) if self.count else high) + 0.0
        self.count += count
        largest = max(abs(low), abs(high))
        bits = math.frexp(largest)[1] if largest else _LEAST_EXPONENT
        needed = max(bits - _SIDE_BITS, _LEAST_EXPONENT)
        if needed > self._exponent:
            self._counts = _narrowed(self._counts, needed - self._exponent)
            self._exponent = needed


def _narrowed(counts: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    """Counts in bins that are wider by `shift` powers of two."""
    if not shift:
        return counts
    bins = np.arange(counts.size, dtype=np.int64) - (BINS_A_SIDE - 1)
    wider = np.sign(bins) * (np.abs(bins) >> min(shift, 63))
    made = np.zeros_like(counts)
    np.add.at(made, wider + BINS_A_SIDE - 1, counts)
    return made
