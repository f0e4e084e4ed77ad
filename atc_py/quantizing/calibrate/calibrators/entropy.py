"""The calibrator `entropy`: the range after whose quantization the distribution differs least.

1. Values other than 0 are counted in entropy_bins equal bins: over [-A, A], A the largest magnitude,
   or over [0, A] or [-A, 0] where all values are on one side. Exact zeros are left out: they have a
   code in every range, and the spike of them that Relu leaves would draw the range to itself.
2. Candidates are windows around 0, from entropy_codes bins to all. P is the window with what is
   outside added to its end bins. Q is the window, its bins in entropy_codes groups, each group's sum
   spread evenly over its bins that P has values in. Both are smoothed: bins without values get
   0.0001, which the others give. The window with the least divergence, sum P log(P / Q), is taken,
   the widest of those with the same.
3. The range of the window is cut off at the bounds of the values.

Sources: TensorRT's entropy calibration as published by S. Migacz in 2017 and in its toolkit for
PyTorch; onnxruntime's `calibrate.py`, from which this differs in points 1 (it counts zeros and has
128 bins, so that one batch leaves a single candidate), and in 2 (it drops fractions of Q and leaves
the bins that no group has out of it).
"""

import numpy as np
from numpy.typing import NDArray

from atc_py.quantizing.calibrate.calibrators.counted import CountedCalibrator
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.pieces import pieces_of
from atc_py.quantizing.calibrate.value_range import (
    RangeOptions,
    ValueRange,
    require_values,
)

_SMOOTH = 1e-4


class Entropy(CountedCalibrator):
    """Range with the least divergence between values and their codes."""

    def range_of(self, histogram: Histogram, settings: RangeOptions) -> ValueRange:
        """The range of the best window."""
        require_values(histogram.count)
        low, high = histogram.low, histogram.high
        largest = max(abs(low), abs(high))
        if low == high:
            return ValueRange(low, high)
        bins, codes = settings.entropy_bins, settings.entropy_codes
        start, end = (-largest if low < 0 else 0.0), (largest if high > 0 else 0.0)
        edges = np.linspace(start, end, bins + 1)
        counts = pieces_of(histogram).in_bins(edges)
        found, least = (0, bins), np.inf
        for first, last in reversed(_windows(bins, codes, start, end)):
            error = divergence(counts, first, last, codes)
            if error < least:
                found, least = (first, last), error
        return ValueRange(max(float(edges[found[0]]), low), min(float(edges[found[1]]), high))


def _windows(bins: int, codes: int, start: float, end: float) -> list[tuple[int, int]]:
    """First bin and end of the windows around 0, narrowest first."""
    if not start:
        return [(0, at) for at in range(codes, bins + 1)]
    if not end:
        return [(bins - at, bins) for at in range(codes, bins + 1)]
    middle = bins // 2
    return [(middle - at, bins - middle + at) for at in range(-(-codes // 2), middle + 1)]


def divergence(counts: NDArray[np.float64], first: int, last: int, codes: int) -> float:
    """The divergence of the bins from `first` up to `last` and what `codes` keep of them."""
    window = counts[first:last]
    reference = window.copy()
    reference[0] += counts[:first].sum()
    reference[-1] += counts[last:].sum()
    groups = np.arange(codes) * window.size // codes
    filled = reference > 0
    sums = np.add.reduceat(window, groups)
    shares = np.add.reduceat(filled.astype(np.float64), groups)
    mean = np.divide(sums, shares, out=np.zeros_like(sums), where=shares > 0)
    sizes = np.diff(np.append(groups, window.size))
    quantized = np.where(filled, np.repeat(mean, sizes), 0)
    p, q = _smoothed(reference), _smoothed(quantized)
    if p is None or q is None:
        return np.inf
    p, q = p / p.sum(), q / q.sum()
    return float((p * np.log(p / q)).sum())


def _smoothed(counts: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Counts without zeros, of the same sum; None where there is too little to give."""
    empty = counts <= 0
    filled = counts.size - int(empty.sum())
    if not filled:
        return None
    given = _SMOOTH * (counts.size - filled) / filled
    made = np.where(empty, _SMOOTH, counts - given)
    return made if (made > 0).all() else None
