"""The calibrators by name: each chooses a range for the values of a tensor."""

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.quantizing.calibrate.amct_calibrators import hfmg, ifmr
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.pieces import Pieces, pieces_of
from atc_py.quantizing.calibrate.value_range import (
    EPSILON,
    ActivationScale,
    RangeOptions,
    ValueRange,
    activation_scale,
    require_values,
)


def min_max(histogram: Histogram, _settings: RangeOptions) -> ValueRange:
    """Nothing is clipped: low is the lowest value, high the highest."""
    require_values(histogram.count)
    return ValueRange(histogram.low, histogram.high)


# `percentile`: a share of the values is kept, the rest is clipped.
#
# With an offset, (100 - p) / 200 of the values are cut off at each side; if symmetric, (100 - p) / 100
# of the magnitudes. Within a bin, values are taken as evenly spread, where onnxruntime takes the lower
# edge of a bin that is 4 to 8 times as wide; the two agree to one of its bins.


def percentile(histogram: Histogram, settings: RangeOptions) -> ValueRange:
    require_values(histogram.count)
    pieces = pieces_of(histogram).with_zeros(histogram.zeros)
    cut = (1 - settings.percentile / 100) * histogram.count
    if settings.symmetric:
        bound = _value_at(pieces.magnitudes(), histogram.count - cut)
        bound = min(bound, max(abs(histogram.low), abs(histogram.high)))
        return ValueRange(-bound, bound)
    low = _value_at(pieces, cut / 2)
    high = _value_at(pieces, histogram.count - cut / 2)
    bounds = histogram.low, histogram.high
    return ValueRange(*(min(max(result, bounds[0]), bounds[1]) for result in (low, high)))


def _value_at(pieces: Pieces, rank: float) -> float:
    total = np.cumsum(pieces.counts)
    at = min(int(np.searchsorted(total, rank)), total.size - 1)
    share = 1 - (total[at] - rank) / pieces.counts[at]
    return float(pieces.starts[at] + min(share, 1.0) * (pieces.ends[at] - pieces.starts[at]))


# `entropy`: the range after whose quantization the distribution differs least.
#
# 1. Values other than 0 are counted in entropy_bins equal bins: over [-A, A], A the largest magnitude,
#    or over [0, A] or [-A, 0] where all values are on one side. Exact zeros are left out: they have a
#    code in every range, and the spike of them that Relu leaves would draw the range to itself.
# 2. Candidates are windows around 0, from entropy_codes bins to all. P is the window with what is
#    outside added to its end bins. Q is the window, its bins in entropy_codes groups, each group's sum
#    spread evenly over its bins that P has values in. Both are smoothed: bins without values get
#    0.0001, which the others give. The window with the least divergence, sum P log(P / Q), is taken,
#    the widest of those with the same.
# 3. The range of the window is cut off at the bounds of the values.
#
# Sources: TensorRT's entropy calibration as published by S. Migacz in 2017 and in its toolkit for
# PyTorch; onnxruntime's `calibrate.py`, from which this differs in points 1 (it counts zeros and has
# 128 bins, so that one batch leaves a single candidate), and in 2 (it drops fractions of Q and leaves
# the bins that no group has out of it).

_SMOOTH = 1e-4


def entropy(histogram: Histogram, settings: RangeOptions) -> ValueRange:
    require_values(histogram.count)
    low, high = histogram.low, histogram.high
    largest = max(abs(low), abs(high))
    if low == high:
        return ValueRange(low, high)
    bins, codes = settings.entropy_bins, settings.entropy_codes
    start, end = (-largest if low < 0 else 0.0), (largest if high > 0 else 0.0)
    edges = np.linspace(start, end, bins + 1)
    counts = pieces_of(histogram).in_bins(edges)
    result, least = (0, bins), np.inf
    for first, last in reversed(_windows(bins, codes, start, end)):
        error = divergence(counts, first, last, codes)
        if error < least:
            result, least = (first, last), error
    return ValueRange(max(float(edges[result[0]]), low), min(float(edges[result[1]]), high))


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


# `mse`: scale and offset are searched for the least squared error.
#
# The error is that of the int8 rule itself, on all values that were counted. First both ends of the
# range are clipped independently, from the whole range to a hundredth of it. Around the best of these,
# scales and offsets are tried on finer and finer grids: the error has many small minima where codes
# meet the values that are most frequent. Ranges up to 1.3 times as wide as the values are tried too,
# since values that are multiples of a step, such as those of pictures, can be on the grid of such a
# range. The whole range is among the candidates and wins a tie. It is taken at once where its error is below
# what bins can tell: then the values are on the grid of its codes already.

_COARSE, _FINE = 1024, 4096
"""Pieces on which clips are searched, and scales and offsets."""

_SHARES = tuple(float(share) for share in np.geomspace(1, 0.01, 25))
_WIDER = tuple(1 + at / 100 for at in range(1, 31))
_WIDEST = 254 / EPSILON
"""Highest less lowest value of ranges that have a scale, symmetric ones as well."""

_CODES = range(-128, 128)
_GRIDS = ((8, 2, 0.1, 20), (2, 1, 0.015, 15), (1, 1, 0.001, 10))
"""Offsets on either side of the best and their step, share of the scale on either side and count."""


def mse(histogram: Histogram, settings: RangeOptions) -> ValueRange:
    require_values(histogram.count)
    low, high = histogram.low, histogram.high
    if low == high or max(high, 0) - min(low, 0) < 255 * EPSILON:
        return ValueRange(low, high)
    return _Search(histogram, symmetric=settings.symmetric).best()


def range_error(pieces: Pieces, bounds: ValueRange, *, symmetric: bool = False) -> float:
    """The sum of squared errors of values on the codes of a range.

    Raises:
        AtcError: SCALE_OUT_OF_RANGE if the range has no scale.
    """
    return _error(pieces, activation_scale(bounds, symmetric=symmetric))


class _Search:
    def __init__(self, histogram: Histogram, *, symmetric: bool) -> None:
        self._symmetric = symmetric
        self._whole = ValueRange(histogram.low, histogram.high)
        self._pieces = pieces_of(histogram)
        self._resolution = float(self._pieces.counts.sum()) * histogram.width**2 / 2
        largest = max(abs(histogram.low), abs(histogram.high))
        self._low = -largest if symmetric else min(histogram.low, 0.0)
        self._high = largest if symmetric else max(histogram.high, 0.0)

    def best(self) -> ValueRange:
        whole = activation_scale(self._whole, symmetric=self._symmetric)
        if _error(self._pieces, whole) <= self._resolution:
            return self._whole
        result = _least(self._pieces.joined(_COARSE), self._clipped())
        fine = self._pieces.joined(_FINE)
        for offsets, step, reach, count in _GRIDS:
            around = range(result.offset - offsets, result.offset + offsets + 1, step)
            shares = 1 + np.linspace(-reach, reach, 2 * count + 1)
            result = _least(fine, [result, *self._near(result, around, shares.tolist())])
        result = _least(self._pieces, [whole, result, *self._wider()])
        return self._whole if result == whole else ValueRange(result.low, result.high)

    def _clipped(self) -> Iterable[ActivationScale]:
        if self._symmetric:
            pairs = list(zip(_SHARES, _SHARES, strict=True))
        else:
            lows, highs = (_SHARES if end else (1.0,) for end in (self._low, self._high))
            pairs = list(product(lows, highs))
        return (self._scale(low, high) for low, high in pairs)

    def _near(
        self, found: ActivationScale, offsets: Iterable[int], shares: list[float]
    ) -> Iterable[ActivationScale]:
        one_sided = self._symmetric or not (self._low and self._high)
        tried = [found.offset] if one_sided else [at for at in offsets if at in _CODES]
        for offset, share in product(tried, shares):
            scale = float(np.float32(found.scale * share))
            if EPSILON <= scale <= 1 / EPSILON:
                yield ActivationScale(scale, offset)

    def _wider(self) -> Iterable[ActivationScale]:
        for share in _WIDER:
            if (self._high - self._low) * share > _WIDEST:
                return
            yield self._scale(share, share)
            if self._low and self._high and not self._symmetric:
                yield self._scale(1.0, share)
                yield self._scale(share, 1.0)

    def _scale(self, low: float, high: float) -> ActivationScale:
        result = ValueRange(self._low * low, self._high * high)
        return activation_scale(result, symmetric=self._symmetric)


def _least(pieces: Pieces, tried: Iterable[ActivationScale]) -> ActivationScale:
    return min(tried, key=lambda scale: _error(pieces, scale))


def _error(pieces: Pieces, scale: ActivationScale) -> float:
    return pieces.error(scale.scale, -128 - scale.offset, 127 - scale.offset)


Calibrator: TypeAlias = Callable[[Histogram, RangeOptions], ValueRange]
"""The choice of a range for values that were counted; NO_VALUES if there are none."""

CALIBRATORS: Mapping[str, Calibrator] = MappingProxyType(
    {
        "min-max": min_max,
        "percentile": percentile,
        "entropy": entropy,
        "ifmr": ifmr,
        "hfmg": hfmg,
        "mse": mse,
    }
)
"""Calibrators by the name that an option gives them."""
