"""What two arrays have in common: alone since every room that compares arrays asks here."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def same_elements(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_]:
    """Mask of equal elements of two arrays of one shape: NaN equals NaN, and 0 equals -0."""
    same: NDArray[np.bool_] = np.asarray(one == other)
    if not same.all():
        same |= np.isnan(one) & np.isnan(other)
    return same


def best_places(scores: NDArray[Any]) -> NDArray[np.int64]:
    """Position of the largest element along the last axis; -1 where one is NaN, or none is finite."""
    void = np.isnan(scores).any(-1) | ~np.isfinite(scores).any(-1)
    return np.where(void, -1, scores.argmax(-1))
