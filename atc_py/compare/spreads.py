"""The figures of one layer, sample by sample, in constant memory."""

import math

from atc_py.compare.sketch import QuantileSketch
from atc_py.results.layer import Figures
from atc_py.results.sample_spread import QUANTILES, FigureSpread, SampleSpread


class Spread:
    """Accumulated figures of one layer."""

    def __init__(self) -> None:
        self._count = self._noisy = 0
        self._cosines, self._distances = QuantileSketch(), QuantileSketch()
        self._cosine = self._distance = self._snr = 0.0
        self._worst_cosine = (-math.inf, "")
        self._worst_distance = (-math.inf, "")

    def add(self, figures: Figures, name: str) -> None:
        """Add the figures of a sample."""
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
        """Return the figures over all samples."""
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
    """Return the larger error with the name of its sample."""
    return (error, name) if error > known[0] else known


def _cosine(apart: float) -> float:
    """Return the cosine of a distance from 1; NaN for an infinite one."""
    return math.nan if math.isinf(apart) else 1 - apart


def _decibels(distance: float) -> float:
    """Return the signal to noise ratio of a relative distance."""
    if not distance:
        return math.inf
    return 0.0 - 20 * math.log10(distance) if math.isfinite(distance) else -math.inf
