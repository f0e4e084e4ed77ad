"""Histograms of all values of a tensor, in bins whose width is a power of two.

A bin is found by multiplying with a power of two, which is exact, and cutting off toward zero. So
two bins become one bin of twice the width without an error, and a histogram depends on its values
alone: neither on their order nor on how they came in batches.

Bin i > 0 has the values in [i * width, (i + 1) * width), bin -i the same values negated, and bin 0
those in (-width, width). The width is the least one at which all values are in 2^13 bins a side.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.calibration.float_values import finite_floats
from atc_py.calibration.stored_histogram import StoredHistogram
from atc_py.diag import Place

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
        """Return the histogram of arrays.

        Raises:
            AtcError: as `add`.
        """
        made = cls()
        for array in arrays:
            made.add(array)
        return made

    @property
    def width(self) -> float:
        """Width of the bins, a power of two; bin 0 has this width on both sides of 0."""
        return math.ldexp(1.0, self._exponent)

    @property
    def nbytes(self) -> int:
        """Bytes of the counts: the same for any number of values."""
        return self._counts.nbytes

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
        """Return the number of the first bin that has values, and the counts to the last such bin."""
        filled = np.flatnonzero(self._counts)
        if not filled.size:
            return 0, self._counts[:0]
        first, last = int(filled[0]), int(filled[-1])
        return first - (BINS_A_SIDE - 1), self._counts[first : last + 1].copy()

    def as_bytes(self) -> bytes:
        """Return the histogram as bytes that `from_bytes` reads."""
        filled = np.flatnonzero(self._counts)
        return StoredHistogram(
            self.low,
            self.high,
            self.count,
            self.zeros,
            self._exponent,
            filled - (BINS_A_SIDE - 1),
            self._counts[filled],
        ).as_bytes()

    @classmethod
    def from_bytes(cls, data: bytes, place: Place | None = None) -> Histogram:
        """Return the histogram of `as_bytes`.

        Raises:
            AtcError: BAD_HISTOGRAM if the bytes are not those of a histogram.
        """
        stored = StoredHistogram.from_bytes(data, _LEAST_EXPONENT, BINS_A_SIDE, place)
        made = cls()
        made.low, made.high = stored.low, stored.high
        made.count, made.zeros, made._exponent = stored.count, stored.zeros, stored.exponent
        made._counts[stored.bins + BINS_A_SIDE - 1] = stored.counts
        return made

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
    """Return counts in bins that are wider by `shift` powers of two."""
    if not shift:
        return counts
    bins = np.arange(counts.size, dtype=np.int64) - (BINS_A_SIDE - 1)
    wider = np.sign(bins) * (np.abs(bins) >> min(shift, 63))
    made = np.zeros_like(counts)
    np.add.at(made, wider + BINS_A_SIDE - 1, counts)
    return made
