"""The calibrator `mse`: both ends of the range are searched for the least squared error.

The error is that of the int8 rule itself, scale and rounded offset, on all values that were counted.
A grid of both clips, from the whole range to a hundredth of it, is searched first, then the
surroundings of the best on finer and finer grids. Ranges up to 1.3 times as wide are tried too:
values that are multiples of a step, such as those of pictures, can be on the grid of a wider range.
The whole range is among the candidates and wins a tie.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from atc_py.calibration.calibrators.counted import CountedCalibrator
from atc_py.calibration.pieces import pieces_of
from atc_py.calibration.scales import activation_scale
from atc_py.calibration.value_range import ValueRange, require_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from atc_py.calibration.histogram import Histogram
    from atc_py.calibration.pieces import Pieces
    from atc_py.calibration.value_range import RangeSettings

__all__ = ["Mse", "range_error"]

_COARSE, _FINE = 1024, 4096
"""Pieces on which the first grid is searched, and the finer ones."""

_LEAST_SHARE, _SHARES = 0.01, 25
_WIDER = tuple(1 + at / 100 for at in range(1, 31))
_NEAR, _ROUNDS = 4, 4
"""Candidates on each side of the best one, and how often the grid is made finer by that factor."""

_WHOLE = (1.0, 1.0)


class Mse(CountedCalibrator):
    """Range whose codes err least."""

    def range_of(self, histogram: Histogram, settings: RangeSettings) -> ValueRange:
        """Return the range with the least squared error."""
        require_values(histogram.count)
        if histogram.low == histogram.high:
            return ValueRange(histogram.low, histogram.high)
        return _Search(histogram, symmetric=settings.symmetric).best()


def range_error(pieces: Pieces, found: ValueRange, *, symmetric: bool = False) -> float:
    """Return the sum of squared errors of values on the codes of a range.

    Raises:
        AtcError: SCALE_OUT_OF_RANGE if the range has no scale.
    """
    scale = activation_scale(found, symmetric=symmetric)
    return pieces.error(scale.scale, -128 - scale.offset, 127 - scale.offset)


class _Search:
    """A search over pairs of shares, of the lowest and of the highest value."""

    def __init__(self, histogram: Histogram, *, symmetric: bool) -> None:
        self._symmetric = symmetric
        self._whole = ValueRange(histogram.low, histogram.high)
        self._pieces = pieces_of(histogram)
        largest = max(abs(histogram.low), abs(histogram.high))
        self._low = -largest if symmetric else min(histogram.low, 0.0)
        self._high = largest if symmetric else max(histogram.high, 0.0)

    def best(self) -> ValueRange:
        """Return the range with the least error."""
        shares = [float(share) for share in np.geomspace(1, _LEAST_SHARE, _SHARES)]
        found = self._least(self._pieces.joined(_COARSE), self._pairs(shares, shares))
        fine, reach = self._pieces.joined(_FINE), shares[0] / shares[1]
        for _ in range(_ROUNDS):
            near = [reach ** (at / _NEAR) for at in range(-_NEAR, _NEAR + 1)]
            pairs = self._pairs([found[0] * x for x in near], [found[1] * x for x in near])
            found = self._least(fine, [found, *pairs])
            reach **= 1 / _NEAR
        wider = [pair for share in _WIDER for pair in ((share, share), (1.0, share), (share, 1.0))]
        found = self._least(self._pieces, [_WHOLE, found, *wider])
        return self._whole if found == _WHOLE else self._range(found)

    def _pairs(
        self, lows: Sequence[float], highs: Sequence[float]
    ) -> Iterable[tuple[float, float]]:
        """Return the pairs of shares to try; an end that is 0 has one."""
        if self._symmetric:
            return zip(highs, highs, strict=True)
        return product(lows if self._low < 0 else [1.0], highs if self._high > 0 else [1.0])

    def _least(self, pieces: Pieces, pairs: Iterable[tuple[float, float]]) -> tuple[float, float]:
        """Return the first of the pairs with the least error."""
        return min(pairs, key=lambda pair: self._error(pieces, pair))

    def _error(self, pieces: Pieces, pair: tuple[float, float]) -> float:
        """Return the error of a pair of shares."""
        return range_error(pieces, self._range(pair), symmetric=self._symmetric)

    def _range(self, pair: tuple[float, float]) -> ValueRange:
        """Return the range of a pair of shares."""
        return ValueRange(self._low * pair[0], self._high * pair[1])
