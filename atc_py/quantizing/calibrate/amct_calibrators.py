"""The calibrators of AMCT: `ifmr`, its default, and `hfmg`."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.pieces import grid_integral, pieces_of
from atc_py.quantizing.calibrate.value_range import (
    EPSILON,
    RangeOptions,
    ValueRange,
    require_values,
)

# `ifmr`: AMCT's search over factors of the highest value, its default.
#
# 1. high is the k-th highest value, at least 0, k = n - floor(max_percentile * n) and at least 1; low
#    likewise, at most 0.
# 2. A factor r from search_start to search_end by search_step makes the range [low, r * high], or
#    [-r * A, r * A] if symmetric, A = max(high, -low). low is not searched.
# 3. The error of r is the mean of (s * round(clip(x) / s) - x)^2, on a grid through 0; codes are not
#    limited. The first r with the least error is taken.
#
# Of a histogram, values are those at the middles of bins, and exact zeros. Source: `ifmr_impl.py` and
# `ifmr.py` of AMCT.


def ifmr(histogram: Histogram, settings: RangeOptions) -> ValueRange:
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
    return search_high((low, high), values, counts, settings)


def _rank(count: int, share: float) -> int:
    if 1 - share < EPSILON:
        return 1
    return max(count - math.floor(share * count), 1)


def search_high(
    bounds: tuple[float, float],
    values: NDArray[np.floating[Any]],
    counts: NDArray[np.float64],
    settings: RangeOptions,
) -> ValueRange:
    """The range of the first factor with the least error, for values of which there are `counts`."""
    low, high = min(bounds[0], 0.0), max(bounds[1], 0.0)
    largest = max(high, -low)
    if largest == 0:
        return ValueRange(0.0, 0.0)
    peak = largest if settings.symmetric else high
    best, least = ValueRange(low, high), math.inf
    for factor in np.arange(settings.search_start, settings.search_end, settings.search_step):
        reach = float(factor) * peak
        if not settings.symmetric:
            tried, scale = ValueRange(low, reach), (reach - low) / 255
        elif -low > high:
            tried, scale = ValueRange(-reach, reach * 127 / 128), reach / 128
        else:
            tried, scale = ValueRange(-reach, reach), reach / 127
        step = scale if scale >= EPSILON else 1.0
        error = np.rint(np.clip(values, tried.low, tried.high) / step) * step - values
        loss = float(np.square(error) @ counts)
        if loss < least:
            best, least = tried, loss
    return best


# `hfmg`: AMCT's search over a histogram, which clips both ends.
#
# 1. Values are counted in hfmg_bins equal bins from the lowest to the highest.
# 2. Candidates: while more than a quarter of the bins are left, a pointer moves inward from each end
#    until n / 100000 values have passed, at least one, the upper one at most to where the lower one
#    is by then; the end whose pointer moved over more bins is given up, the upper one if both moved as
#    far. What is left each time is a candidate, so the whole range is not among them.
# 3. The loss of a candidate is the squared distance of all values, evenly spread in their bins, to the
#    middles of 256 equal parts of it. The first candidate with the least loss is taken.
#
# Of a histogram, bins are divided as AMCT divides the bins of earlier batches: by even density. Source:
# `hfmg_impl.py` and `hfmg.py` of AMCT.

_CODES = 256
_MOST_STEPS = 100_000


def hfmg(histogram: Histogram, settings: RangeOptions) -> ValueRange:
    require_values(histogram.count)
    low, high = histogram.low, histogram.high
    if low == high:
        return ValueRange(low, high)
    edges = np.linspace(low, high, settings.hfmg_bins + 1)
    counts = np.diff(np.rint(np.cumsum(pieces_of(histogram).in_bins(edges))), prepend=0)
    if histogram.zeros:
        at = np.searchsorted(edges, 0, "right") - 1
        counts[min(max(int(at), 0), counts.size - 1)] += histogram.zeros
    return search_clips(low, high, counts.astype(np.int64))


def candidate_ranges(counts: NDArray[np.int64]) -> list[tuple[int, int]]:
    """The first and the last bin of each candidate, widest first."""
    total = int(counts.sum())
    step = max(-(-total // _MOST_STEPS), 1)
    least = -(-counts.size // 4)
    passed = np.concatenate([[0], np.cumsum(counts)])
    left, right, result = 0, counts.size - 1, []
    while right - left > least:
        after = int(np.searchsorted(passed, passed[left] + step))
        before = int(np.searchsorted(passed, passed[right + 1] - step, "right")) - 2
        before = max(before, min(after, right))
        if after - left > right - before:
            left = min(after, right)
        else:
            right = max(before, left)
        result.append((left, right))
    return result


def search_clips(low: float, high: float, counts: NDArray[np.int64]) -> ValueRange:
    """The candidate with the least loss; the whole range if there is none."""
    width = (high - low) / counts.size
    edges = np.arange(counts.size + 1, dtype=np.float64)
    best, least = (0, counts.size - 1), np.inf
    for left, right in candidate_ranges(counts):
        part = (right - left + 1) / _CODES
        if part * width < EPSILON:
            loss = 0.0
        else:
            # The middles of the parts are codes of a grid whose 0 is the middle of the first part.
            integral = grid_integral(edges - (left + part / 2), part, 0, _CODES - 1)
            loss = float(counts @ np.diff(integral))
        if loss < least:
            best, least = (left, right), loss
    return ValueRange(low + best[0] * width, low + (best[1] + 1) * width)
