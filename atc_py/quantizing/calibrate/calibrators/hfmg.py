"""The calibrator `hfmg`: AMCT's search over a histogram, which clips both ends.

1. Values are counted in hfmg_bins equal bins from the lowest to the highest.
2. Candidates: while more than a quarter of the bins are left, a pointer moves inward from each end
   until n / 100000 values have passed, at least one; the end whose pointer moved over more bins is
   given up, the upper one if both moved as far. What is left each time is a candidate, so the whole
   range is not among them.
3. The loss of a candidate is the squared distance of all values, evenly spread in their bins, to the
   middles of 256 equal parts of it. The first candidate with the least loss is taken.

Of a histogram, bins are divided as AMCT divides the bins of earlier batches: by even density. Source:
`hfmg_impl.py` and `hfmg.py` of AMCT.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.quantizing.calibrate.float_values import finite_floats
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.pieces import grid_integral, pieces_of
from atc_py.quantizing.calibrate.scales import EPSILON
from atc_py.quantizing.calibrate.value_range import (
    RangeOptions,
    ValueRange,
    require_values,
)

_CODES = 256
_MOST_STEPS = 100_000


class Hfmg:
    """AMCT's search of both clips on a histogram."""

    def range_of(self, histogram: Histogram, settings: RangeOptions) -> ValueRange:
        """The range for values that were counted."""
        require_values(histogram.count)
        low, high = histogram.low, histogram.high
        if low == high:
            return ValueRange(low, high)
        edges = np.linspace(low, high, settings.hfmg_bins + 1)
        counts = np.diff(np.rint(np.cumsum(pieces_of(histogram).in_bins(edges))), prepend=0)
        if histogram.zeros:
            at = np.searchsorted(edges, 0, "right") - 1
            counts[min(max(int(at), 0), counts.size - 1)] += histogram.zeros
        return _searched(low, high, counts.astype(np.int64))

    def range_of_array(self, array: NDArray[Any], settings: RangeOptions) -> ValueRange:
        """The range for the values of an array, as AMCT computes it of one batch."""
        values, low, high = finite_floats(array)
        require_values(values.size)
        if low == high:
            return ValueRange(low, high)
        wide = values.astype(np.float64)  # of float32, bins can be too narrow to tell apart
        counts, _edges = np.histogram(wide, settings.hfmg_bins, (low, high))
        return _searched(low, high, counts.astype(np.int64))


def candidate_ranges(counts: NDArray[np.int64]) -> list[tuple[int, int]]:
    """The first and the last bin of each candidate, widest first."""
    total = int(counts.sum())
    step = max(-(-total // _MOST_STEPS), 1)
    least = -(-counts.size // 4)
    passed = np.concatenate([[0], np.cumsum(counts)])
    left, right, found = 0, counts.size - 1, []
    while right - left > least:
        after = int(np.searchsorted(passed, passed[left] + step))
        before = int(np.searchsorted(passed, passed[right + 1] - step, "right")) - 2
        if after - left > right - before:
            left = min(after, right)
        else:
            right = max(before, left)
        found.append((left, right))
    return found


def _searched(low: float, high: float, counts: NDArray[np.int64]) -> ValueRange:
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
