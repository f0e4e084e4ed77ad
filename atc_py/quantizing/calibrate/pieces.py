"""Values of a histogram as pieces of even density, and their squared error on a grid of codes.

Within a piece [a, b] values are taken as evenly spread, so that its mean squared error on a grid
with step s is an integral in closed form:

    (G(b) - G(a)) / (b - a),    G(x) = s^3 (n / 12 + t^3 / 3),    n = clip(round(x / s)),  t = x / s - n

n is limited to the codes that there are, so G counts what is clipped as well. Exact zeros are left
out: the grids have a code for 0.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.quantizing.calibrate.histogram import Histogram

Floats: TypeAlias = "NDArray[np.float64]"

_THIN = 2.0**-10
"""Share of a bin; what is left of a bin within the bounds of the values is at least that wide."""


class Pieces(NamedTuple):
    """Pieces of even density, ascending and apart."""

    starts: Floats  # lower bounds
    ends: Floats  # upper bounds
    counts: Floats  # values in each; more than 0

    def error(self, step: float, lowest: float, highest: float) -> float:
        """The sum of squared errors of codes from `lowest` to `highest` times `step`."""
        upper = grid_integral(self.ends, step, lowest, highest)
        lower = grid_integral(self.starts, step, lowest, highest)
        return float(self.counts / (self.ends - self.starts) @ (upper - lower))

    def with_zeros(self, count: int) -> Pieces:
        """The pieces with one that has `count` exact zeros alone, if there are any."""
        if not count:
            return self
        at = int(np.searchsorted((self.starts + self.ends) / 2, 0))
        added = ((self.starts, 0.0), (self.ends, 0.0), (self.counts, float(count)))
        return Pieces(*(np.insert(old, at, new) for old, new in added))

    def magnitudes(self) -> Pieces:
        """The pieces of the magnitudes; those of two signs may cover each other."""
        negative = self.ends <= 0
        starts = np.where(negative, -self.ends, np.maximum(self.starts, 0))
        ends = np.where(negative, -self.starts, np.maximum(self.ends, -self.starts))
        order = np.argsort(starts, kind="stable")
        return Pieces(starts[order], ends[order], self.counts[order])

    def in_bins(self, edges: Floats) -> Floats:
        """The number of values between neighboring edges, which ascend.

        The first and the last bin have the values beyond them too.
        """
        bounds = np.stack([self.starts, self.ends], axis=1).ravel()
        if not self.counts.size:
            return np.zeros(edges.size - 1)
        total = np.cumsum(self.counts)
        reached = np.stack([total - self.counts, total], axis=1).ravel()
        inner = np.interp(edges[1:-1], bounds, reached)
        return np.diff(inner, prepend=0, append=total[-1])

    def joined(self, at_most: int) -> Pieces:
        """At most so many pieces, neighbors joined."""
        each = -(-self.counts.size // at_most)
        if each <= 1:
            return self
        first = np.arange(0, self.counts.size, each)
        last = np.append(first[1:], self.counts.size) - 1
        return Pieces(self.starts[first], self.ends[last], np.add.reduceat(self.counts, first))


def grid_integral(x: Floats, step: float, lowest: float, highest: float) -> Floats:
    scaled = x / step
    near = np.clip(np.rint(scaled), lowest, highest)
    scaled -= near
    cubes: Floats = (near / 12 + scaled * scaled * scaled / 3) * step**3
    return cubes


def pieces_of(histogram: Histogram) -> Pieces:
    """The bins of a histogram that have values other than 0, cut off at its bounds."""
    first, counts = histogram.counts()
    width, bins = histogram.width, first + np.arange(counts.size)
    starts = np.where(bins > 0, bins, bins - 1) * width
    ends = np.where(bins < 0, bins, bins + 1) * width
    counts = np.where(bins == 0, counts - histogram.zeros, counts)
    filled = counts > 0
    starts, ends = starts[filled], ends[filled]
    thin = width * _THIN
    low = np.minimum(np.maximum(starts, histogram.low), ends - thin)
    high = np.maximum(np.minimum(ends, histogram.high), low + thin)
    return Pieces(low, high, counts[filled].astype(np.float64))
