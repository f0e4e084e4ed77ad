"""Whether two results agree: in all bits, or within units in the last place of float16."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.tensor.sameness import same_elements

LIMIT = 2.0
"""Largest difference of numbers that need not be exact, in units in the last place of float16."""

NOISE = 2.0**-20
"""Share of the terms' size by which float32 additions in another order differ."""

_GRIDS = {"bfloat16": (2.0**-126, 2.0**-7)}
_FLOAT16 = (2.0**-14, 2.0**-10)
"""The least normal number, and the last place of 1; a coarser dtype is measured by its own."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Distance of a result from the expected one.

    A sum that cancels is not known better than float32 leaves it: where the size of
    what is added up is known, NOISE of it is taken from each difference first.
    """

    differing: int = 0  # elements that are not equal
    # the largest difference in units in the last place of float16, of bfloat16 where the results
    # are that; infinite where one of the two is NaN or infinite and the other is not
    ulps: float = 0.0
    # place of the first element that differs, in the order of memory; None where none
    first: int | None = None

    def holds(self, *, exact: bool) -> bool:
        return self.differing == 0 if exact else self.ulps <= LIMIT


def agreement(
    found: NDArray[Any], expected: NDArray[Any], noise: NDArray[np.float64] | None = None
) -> Agreement:
    """Compare arrays of one dtype and size; NaN equals NaN, and 0 equals -0.

    `noise` is the part of each difference that is subtracted first, None for nothing.
    """
    one, other = found.reshape(-1), expected.reshape(-1)
    if one.dtype.kind in "biu":
        unequal = one != other
        ulps = float("inf") if unequal.any() else 0.0
    else:
        one, other = one.astype(np.float64), other.astype(np.float64)
        unequal = ~same_elements(one, other)
        taken = np.zeros(other.shape) if noise is None else noise.reshape(-1)
        place = last_places(expected.reshape(-1)[unequal])
        ulps = _ulps(one[unequal], other[unequal], taken[unequal], place)
    if not unequal.any():
        return Agreement()
    return Agreement(int(unequal.sum()), ulps, int(unequal.argmax()))


def last_places(values: NDArray[Any]) -> NDArray[np.float64]:
    """A unit in the last place of float16 (or bfloat16) at each value."""
    least, place = _GRIDS.get(values.dtype.name, _FLOAT16)
    with np.errstate(all="ignore"):
        sizes = np.maximum(np.abs(values.astype(np.float64)), least)
        return np.asarray(2.0 ** np.floor(np.log2(sizes)) * place)


def _ulps(
    found: NDArray[np.float64],
    expected: NDArray[np.float64],
    noise: NDArray[np.float64],
    place: NDArray[np.float64],
) -> float:
    """The largest difference beyond the noise, in units in the last place."""
    if not found.size:
        return 0.0
    with np.errstate(all="ignore"):
        beyond = np.maximum(np.abs(found - expected) - np.nan_to_num(noise), 0)
        steps = beyond / place
    return float(np.where(np.isnan(steps), np.inf, steps).max())
