"""Errors of results beside those in floats, as sums that grow sample by sample."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.system.structs import Ratio, Result, Share


class ErrorFigures(Result, frozen=True):
    """The error of a tensor: cosine, signal to noise in dB, and the share of rows with the same top.

    Attributes:
        cosine: of the two as vectors; 1 where both are 0.
        snr: 10 log10(sum of x^2 / sum of (x' - x)^2) in dB; inf where they are equal.
        top1: share of rows, along the last axis, with the same largest element; None where it
            has one element or is not known.
    """

    cosine: float
    snr: Ratio
    top1: Share | None = None


class ErrorSums:
    """Sums over samples."""

    def __init__(self) -> None:
        self._signal = self._noise = self._power = 0.0
        self._rows = self._same = 0

    def add(self, found: NDArray[Any], wanted: NDArray[Any]) -> None:
        """Add the arrays of a sample; NaN or other dims make the error infinite."""
        x, y = wanted.astype(np.float64), found.astype(np.float64)
        if x.shape != y.shape:
            self.add_sums(0.0, math.inf, math.inf)
            return
        self.add_sums(float(np.sum(x * x)), float(np.sum((y - x) ** 2)), float(np.sum(y * y)))
        if x.ndim and x.shape[-1] > 1:
            self._rows += x.size // x.shape[-1]
            self._same += int(np.count_nonzero(x.argmax(-1) == y.argmax(-1)))

    def add_sums(self, signal: float, noise: float, power: float) -> None:
        """Add the sums of squares of x, of x' - x, and of x'."""
        self._signal += signal
        self._noise += noise if math.isfinite(noise) else math.inf
        self._power += power if math.isfinite(power) else math.inf

    @property
    def noise(self) -> float:
        """Sum of squares of the differences as a share of that of the values."""
        if not self._noise:
            return 0.0
        return self._noise / self._signal if self._signal else math.inf

    def figures(self) -> ErrorFigures:
        snr = math.inf if not self.noise else -10 * math.log10(self.noise or 1.0)
        if math.isinf(self.noise):
            snr = -math.inf
        top1 = self._same / self._rows if self._rows else None
        return ErrorFigures(self._cosine(), snr, top1)

    def _cosine(self) -> float:
        """The cosine; 0 for values that are not finite."""
        if not math.isfinite(self._noise + self._power):
            return 0.0
        if not self._noise:
            return 1.0
        length = math.sqrt(self._signal * self._power)
        return (self._signal + self._power - self._noise) / 2 / length if length else 0.0
