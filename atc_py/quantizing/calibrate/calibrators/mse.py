"""The calibrator `mse`: scale and offset are searched for the least squared error.

The error is that of the int8 rule itself, on all values that were counted. First both ends of the
range are clipped independently, from the whole range to a hundredth of it. Around the best of these,
scales and offsets are tried on finer and finer grids: the error has many small minima where codes
meet the values that are most frequent. Ranges up to 1.3 times as wide as the values are tried too,
since values that are multiples of a step, such as those of pictures, can be on the grid of such a
range. The whole range is among the candidates and wins a tie. It is taken at once where its error is below
what bins can tell: then the values are on the grid of its codes already.
"""

from collections.abc import Iterable
from itertools import product

import numpy as np

from atc_py.quantizing.calibrate.calibrators.counted import CountedCalibrator
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.pieces import Pieces, pieces_of
from atc_py.quantizing.calibrate.scales import EPSILON, ActivationScale, activation_scale
from atc_py.quantizing.calibrate.value_range import (
    RangeOptions,
    ValueRange,
    require_values,
)

_COARSE, _FINE = 1024, 4096
"""Pieces on which clips are searched, and scales and offsets."""

_SHARES = tuple(float(share) for share in np.geomspace(1, 0.01, 25))
_WIDER = tuple(1 + at / 100 for at in range(1, 31))
_WIDEST = 254 / EPSILON
"""Highest less lowest value of ranges that have a scale, symmetric ones as well."""

_CODES = range(-128, 128)
_GRIDS = ((8, 2, 0.1, 20), (2, 1, 0.015, 15), (1, 1, 0.001, 10))
"""Offsets on either side of the best and their step, share of the scale on either side and count."""


class Mse(CountedCalibrator):
    """Range whose codes err least."""

    def range_of(self, histogram: Histogram, settings: RangeOptions) -> ValueRange:
        """The range with the least squared error."""
        require_values(histogram.count)
        low, high = histogram.low, histogram.high
        if low == high or max(high, 0) - min(low, 0) < 255 * EPSILON:
            return ValueRange(low, high)
        return _Search(histogram, symmetric=settings.symmetric).best()


def range_error(pieces: Pieces, found: ValueRange, *, symmetric: bool = False) -> float:
    """The sum of squared errors of values on the codes of a range.

    Raises:
        AtcError: SCALE_OUT_OF_RANGE if the range has no scale.
    """
    return _error(pieces, activation_scale(found, symmetric=symmetric))


class _Search:
    """A search over scales and offsets."""

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
        found = _least(self._pieces.joined(_COARSE), self._clipped())
        fine = self._pieces.joined(_FINE)
        for offsets, step, reach, count in _GRIDS:
            around = range(found.offset - offsets, found.offset + offsets + 1, step)
            shares = 1 + np.linspace(-reach, reach, 2 * count + 1)
            found = _least(fine, [found, *self._near(found, around, shares.tolist())])
        found = _least(self._pieces, [whole, found, *self._wider()])
        return self._whole if found == whole else ValueRange(found.low, found.high)

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
        """The scale of the range between shares of both ends."""
        found = ValueRange(self._low * low, self._high * high)
        return activation_scale(found, symmetric=self._symmetric)


def _least(pieces: Pieces, tried: Iterable[ActivationScale]) -> ActivationScale:
    """The first of the scales with the least error."""
    return min(tried, key=lambda scale: _error(pieces, scale))


def _error(pieces: Pieces, scale: ActivationScale) -> float:
    return pieces.error(scale.scale, -128 - scale.offset, 127 - scale.offset)
