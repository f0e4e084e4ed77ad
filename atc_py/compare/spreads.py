"""The figures of one layer, sample by sample, in constant memory."""

from __future__ import annotations

import math
from array import array
from collections import Counter

from atc_py.results.judgment import QUANTILES, FigureSpread, SampleSpread
from atc_py.results.layer import Figures

# Up to EXACT numbers are kept as they are. Beyond, each is counted in the bin of its logarithm: bins
# are as wide as 1 % of the number, so that a quantile is off by half of that at most. The bin of a
# number depends on nothing else, so that sketches of parts of the numbers can be merged.

EXACT = 1024
"""Most numbers that are kept one by one."""

_WIDTH = math.log(1.01)
_ZERO, _INFINITE = -(1 << 30), 1 << 30


class QuantileSketch:
    """Quantiles of errors: numbers of 0 or more, infinity among them."""

    def __init__(self) -> None:
        self.count = 0
        self._kept = array("d")
        self._bins: Counter[int] | None = None

    @property
    def exact(self) -> bool:
        """True if quantiles are numbers that were added."""
        return self._bins is None

    def add(self, number: float) -> None:
        """Add an error; NaN counts as infinite."""
        self.count += 1
        value = math.inf if math.isnan(number) else max(number, 0.0)
        if self._bins is None:
            self._kept.append(value)
            self._spill()
        else:
            self._bins[_bin_of(value)] += 1

    def merge(self, other: QuantileSketch) -> None:
        self.count += other.count
        if self._bins is None and other._bins is None:
            self._kept.extend(other._kept)
            self._spill()
            return
        own = self._counted()
        own.update(other._counted())
        self._bins, self._kept = own, array("d")

    def quantile(self, share: float) -> float:
        """The least number that at least `share` of the numbers do not exceed; NaN of none."""
        if not self.count:
            return math.nan
        rank = min(max(math.ceil(share * self.count), 1), self.count)
        if self._bins is None:
            return sorted(self._kept)[rank - 1]
        before = 0
        for key in sorted(self._bins):
            before += self._bins[key]
            if before >= rank:
                return _value_of(key)
        return math.inf

    def _spill(self) -> None:
        """Go over to bins where there are too many numbers to keep."""
        if len(self._kept) > EXACT:
            self._bins, self._kept = self._counted(), array("d")

    def _counted(self) -> Counter[int]:
        return Counter(map(_bin_of, self._kept)) if self._bins is None else Counter(self._bins)


def _bin_of(value: float) -> int:
    if value == 0:
        return _ZERO
    return _INFINITE if math.isinf(value) else math.ceil(math.log(value) / _WIDTH)


def _value_of(key: int) -> float:
    if key == _ZERO:
        return 0.0
    return math.inf if key == _INFINITE else math.exp((key - 0.5) * _WIDTH)


class Spread:
    """Accumulated figures of one layer."""

    def __init__(self) -> None:
        self._count = self._noisy = 0
        self._cosines, self._distances = QuantileSketch(), QuantileSketch()
        self._cosine = self._distance = self._snr = 0.0
        self._worst_cosine = (-math.inf, "")
        self._worst_distance = (-math.inf, "")

    def add(self, figures: Figures, name: str) -> None:
        judged = figures.judged
        distance = figures.error_of(judged.distance)
        # Cosines are kept as their distance from 1, which has the digits that matter.
        apart = math.inf if math.isnan(judged.cosine) else 1 - judged.cosine
        self._count += 1
        self._cosine += apart
        self._distance += distance
        if distance:
            self._noisy += 1
            self._snr += _decibels(distance)
        self._cosines.add(apart)
        self._distances.add(distance)
        self._worst_cosine = _worse(self._worst_cosine, apart, name)
        self._worst_distance = _worse(self._worst_distance, distance, name)

    def figures(self) -> SampleSpread:
        count = max(self._count, 1)
        apart, at_apart = self._worst_cosine
        distance, at_distance = self._worst_distance
        cosines = tuple(_cosine(self._cosines.quantile(1 - share)) for share in QUANTILES)
        distances = tuple(self._distances.quantile(1 - share) for share in QUANTILES)
        decibels = tuple(map(_decibels, distances))
        mean = self._snr / self._noisy if self._noisy else math.inf
        return SampleSpread(
            samples=self._count,
            exact=self._distances.exact,
            cosine=FigureSpread(_cosine(self._cosine / count), _cosine(apart), at_apart, cosines),
            distance=FigureSpread(self._distance / count, distance, at_distance, distances),
            snr=FigureSpread(mean, _decibels(distance), at_distance, decibels),
        )


def _worse(known: tuple[float, str], error: float, name: str) -> tuple[float, str]:
    return (error, name) if error > known[0] else known


def _cosine(apart: float) -> float:
    """The cosine of a distance from 1; NaN for an infinite one."""
    return math.nan if math.isinf(apart) else 1 - apart


def _decibels(distance: float) -> float:
    if not distance:
        return math.inf
    return 0.0 - 20 * math.log10(distance) if math.isfinite(distance) else -math.inf
