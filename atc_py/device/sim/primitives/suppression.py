"""Boxes that overlap a better one: greedy suppression, and what it needs to know of boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes by their corners."""

    low: Array  # the smaller y and x [boxes, 2]
    high: Array  # the larger y and x [boxes, 2]
    area: Array  # [boxes]

    @staticmethod
    def between(low: Array, high: Array) -> Boxes:
        sides = high - low
        return Boxes(low, high, sides[:, 0] * sides[:, 1])

    def overlapped(self, best: int, others: Array, threshold: float) -> Array:
        """Mask of `others` that share more than `threshold` of their union with box `best`."""
        low = np.maximum(self.low[best], self.low[others])
        sides = np.minimum(self.high[best], self.high[others]) - low
        shared = sides[:, 0] * sides[:, 1]
        areas = self.area[others]
        union = self.area[best] + areas - shared
        sound = (sides > 0).all(axis=1) & (areas > 0) & (self.area[best] > 0) & (union > 0)
        above: Array = sound & (shared / np.where(union > 0, union, 1) > threshold)
        return above


def best_first(scores: Array, least: float | None) -> Array:
    """Positions of scores above `least`, the largest first, equal ones in their order."""
    chosen = np.arange(len(scores)) if least is None else np.flatnonzero(scores > least)
    order: Array = chosen[np.argsort(-scores[chosen], kind="stable")]
    return order


def keep_best(boxes: Boxes, order: Array, threshold: float, most: int) -> list[int]:
    """At most `most` boxes of `order` that overlap no better kept one beyond `threshold`.

    A turn takes the best box that is left and drops, all at once, those that it overlaps.
    """
    kept: list[int] = []
    while len(order) and len(kept) < most:
        best, order = int(order[0]), order[1:]
        kept.append(best)
        order = order[~boxes.overlapped(best, order, threshold)]
    return kept
