"""Histograms as bytes: a header, numbers and counts of the bins that have values, a check sum."""

from __future__ import annotations

import math
import struct
import zlib

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.diag import Place
from atc_py.diag.codes import BAD_HISTOGRAM
from atc_py.text import Text

_MAGIC = b"ATCH1\n"
_HEADER = struct.Struct("<ddQQiI")
_CHECK = struct.Struct("<I")
_BYTES_A_BIN = 4 + 8
_LARGEST_EXPONENT = 128


class StoredHistogram(msgspec.Struct, frozen=True, eq=False):
    """The parts of a histogram.

    Attributes:
        low: the lowest value.
        high: the highest value.
        count: how many values there are.
        zeros: how many of them are 0.
        exponent: log2 of the width of the bins.
        bins: numbers of the bins that have values, ascending.
        counts: how many each of them has.
    """

    low: float
    high: float
    count: int
    zeros: int
    exponent: int
    bins: NDArray[np.int64]
    counts: NDArray[np.int64]

    def as_bytes(self) -> bytes:
        """Return the parts as bytes; equal parts are equal bytes."""
        head = _MAGIC + _HEADER.pack(
            self.low, self.high, self.count, self.zeros, self.exponent, self.counts.size
        )
        body = head + self.bins.astype("<i4").tobytes() + self.counts.astype("<i8").tobytes()
        return body + _CHECK.pack(zlib.crc32(body))

    @classmethod
    def from_bytes(
        cls, data: bytes, least_exponent: int, side: int, place: Place | None = None
    ) -> StoredHistogram:
        """Return the parts of `as_bytes`, with `side` bins of each sign at most.

        Raises:
            AtcError: BAD_HISTOGRAM if the bytes are not those of such a histogram.
        """
        start = len(_MAGIC) + _HEADER.size
        if data[: len(_MAGIC)] != _MAGIC or len(data) < start + _CHECK.size:
            raise BAD_HISTOGRAM.error("the bytes do not begin as a histogram does", place=place)
        low, high, count, zeros, exponent, size = _HEADER.unpack_from(data, len(_MAGIC))
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
            raise BAD_HISTOGRAM.error("the check sum of a histogram is wrong", place=place)
        bins = np.frombuffer(data, "<i4", size, start).astype(np.int64)
        counts = np.frombuffer(data, "<i8", size, start + 4 * size).astype(np.int64)
        made = cls(low, high, count, zeros, exponent, bins, counts)
        if not made._is_sound(least_exponent, side):
            raise BAD_HISTOGRAM.error("the parts of a histogram contradict each other", place=place)
        return made

    def _is_sound(self, least_exponent: int, side: int) -> bool:
        """Tell whether the parts fit together."""
        return (
            math.isfinite(self.low)
            and math.isfinite(self.high)
            and self.low <= self.high
            and least_exponent <= self.exponent <= _LARGEST_EXPONENT
            and bool((np.diff(self.bins) > 0).all())
            and bool((np.abs(self.bins) < side).all())
            and bool((self.counts > 0).all())
            and int(self.counts.sum()) == self.count
            and self.zeros <= self.count
        )
