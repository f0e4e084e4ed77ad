"""The calibrator `ifmr`: AMCT's search over factors of the highest value, its default.

1. high is the k-th highest value, at least 0, k = n - floor(max_percentile * n) and at least 1; low
   likewise, at most 0.
2. A factor r from search_start to search_end by search_step makes the range [low, r * high], or
   [-r * A, r * A] if symmetric, A = max(high, -low). low is not searched.
3. The error of r is the mean of (s * round(clip(x) / s) - x)^2, on a grid through 0; codes are not
   limited. The first r with the least error is taken.

Of a histogram, values are those at the middles of bins, and exact zeros. Source: `ifmr_impl.py` and
`ifmr.py` of AMCT.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.quantizing.calibrate.float_values import finite_floats
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.pieces import pieces_of
from atc_py.quantizing.calibrate.scales import EPSILON
from atc_py.quantizing.calibrate.value_range import (
    RangeOptions,
    ValueRange,
    require_values,
)

_WIDE = 2.0**60
"""Squares of larger numbers can leave float32."""


class Ifmr:
    """AMCT's search of the high clip."""

    def range_of(self, histogram: Histogram, settings: RangeOptions) -> ValueRange:
        """The range for values that were counted."""
        require_values(histogram.count)
        pieces = pieces_of(histogram).with_zeros(histogram.zeros)
        values, counts = (pieces.starts + pieces.ends) / 2, pieces.counts
        largest = _rank(histogram.count, settings.max_percentile)
        least = _rank(histogram.count, settings.min_percentile)
        high, low = histogram.high, histogram.low
        if largest > 1:
            high = float(values[::-1][np.searchsorted(np.cumsum(counts[::-1]), largest)])
        if least > 1:
            low = float(values[np.searchsorted(np.cumsum(counts), least)])
        return _Search(low, high, values, counts).range(settings)

    def range_of_array(self, array: NDArray[Any], settings: RangeOptions) -> ValueRange:
        """The range for the values of an array, as AMCT computes it."""
        values, low, high = finite_floats(array)
        require_values(values.size)
        largest = _rank(values.size, settings.max_percentile)
        least = _rank(values.size, settings.min_percentile)
        if largest > 1:
            high = float(np.partition(values, -largest)[-largest])
        if least > 1:
            low = float(np.partition(values, least - 1)[least - 1])
        return _Search(low, high, values, None).range(settings)


class _Search:
    """The search over factors for some values, each with a count or all with the same."""

    def __init__(
        self,
        low: float,
        high: float,
        values: NDArray[np.floating[Any]],
        counts: NDArray[np.float64] | None,
    ) -> None:
        self._low, self._high = min(low, 0.0), max(high, 0.0)
        self._values, self._counts = values, counts

    def range(self, settings: RangeOptions) -> ValueRange:
        """The range of the first factor with the least error."""
        start, end, step = settings.search_start, settings.search_end, settings.search_step
        largest = max(self._high, -self._low)
        if largest == 0:
            return ValueRange(0.0, 0.0)
        peak = largest if settings.symmetric else self._high
        best, least = ValueRange(self._low, self._high), math.inf
        for factor in np.arange(start, end, step):
            tried, scale = self._candidate(float(factor) * peak, settings)
            error = self._error(tried, scale)
            if error < least:
                best, least = tried, error
        return best

    def _candidate(self, high: float, settings: RangeOptions) -> tuple[ValueRange, float]:
        """The range that ends at `high`, and its scale."""
        if not settings.symmetric:
            return ValueRange(self._low, high), (high - self._low) / 255
        if -self._low > self._high:
            return ValueRange(-high, high * 127 / 128), high / 128
        return ValueRange(-high, high), high / 127

    def _error(self, tried: ValueRange, scale: float) -> float:
        """The mean squared error on a grid through 0 whose codes are not limited."""
        wide = max(-tried.low, tried.high, -self._low, self._high) > _WIDE
        values = self._values.astype(np.float64) if wide else self._values
        kind = values.dtype.type
        step = kind(scale if scale >= EPSILON else 1.0)
        codes = np.clip(values, kind(tried.low), kind(tried.high))
        codes /= step
        np.rint(codes, out=codes)
        codes *= step
        codes -= values
        np.square(codes, out=codes)
        if self._counts is None:
            return float(codes.mean(dtype=np.float64))
        return float(codes @ self._counts)


def _rank(count: int, share: float) -> int:
    if 1 - share < EPSILON:
        return 1
    return max(count - math.floor(share * count), 1)
