"""Samples of a layer's values on both sides, for histograms of those that turn out worst.

Which layers are worst is known when all have been seen, and no more than one is held at a time; so
each leaves a few thousand of its values, the same places of both sides, chosen at random by a
fixed seed.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.results.judgment import MagnitudeHistogram
from atc_py.tensor.dtypes import DType

VALUES = 4096
"""Values that a layer leaves of each run; it leaves all where it has no more."""

_BINS = 48
_LEAST_OCTAVES = 6
_MARGIN = 4.0
"""Octaves beyond the values in which a limit of the dtype is still in sight."""


class Sampled:
    """Values of one layer.

    Args:
        dtype: what the device holds them in.
    """

    def __init__(self, dtype: DType) -> None:
        self._dtype = dtype
        self._parts: list[NDArray[np.float64]] = []

    def add(self, found: NDArray[Any], wanted: NDArray[Any]) -> None:
        sides = (wanted.reshape(-1), found.reshape(-1))
        if found.size > VALUES:
            chosen = np.random.default_rng(found.size).integers(0, found.size, VALUES)
            sides = (sides[0][chosen], sides[1][chosen])
        self._parts.append(np.stack([side.astype(np.float64) for side in sides]))

    def histogram(self) -> MagnitudeHistogram | None:
        """The histogram of the values; None where there are none."""
        values = np.abs(np.concatenate(self._parts, axis=1))
        count = values.shape[1]
        if not count:
            return None
        there = np.isfinite(values) & (values > 0)
        exponents = np.log2(values, where=there, out=np.zeros_like(values))
        low, high, limits = self._axis(exponents[there])
        original, device = (
            np.histogram(side[sound], _BINS, (low, high))[0] / count
            for side, sound in zip(exponents, there, strict=True)
        )
        zeros, lost = (values == 0).mean(1), (~np.isfinite(values)).mean(1)
        return MagnitudeHistogram(
            low=low,
            high=high,
            original=tuple(map(float, original)),
            device=tuple(map(float, device)),
            zeros=(float(zeros[0]), float(zeros[1])),
            lost=(float(lost[0]), float(lost[1])),
            limits=limits,
            values=count,
        )

    def _axis(self, exponents: NDArray[np.float64]) -> tuple[float, float, dict[str, float]]:
        """Ends of the axis, in whole octaves, and the limits of the dtype between them."""
        if not exponents.size:
            exponents = np.zeros(1)
        low, high = float(exponents.min()), float(exponents.max())
        limits = {
            name: at
            for name, at in _limits(self._dtype).items()
            if low - _MARGIN <= at <= high + _MARGIN
        }
        low, high = np.floor(min([low, *limits.values()])), np.ceil(max([high, *limits.values()]))
        missing = _LEAST_OCTAVES - (high - low)
        if missing > 0:
            low, high = low - np.ceil(missing / 2), high + np.ceil(missing / 2)
        return float(low), float(high), limits


def _limits(dtype: DType) -> dict[str, float]:
    if not dtype.is_float:
        return {}
    import ml_dtypes

    facts = ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]
    named = {
        "least": facts.smallest_subnormal,
        "least normal": facts.smallest_normal,
        "largest": facts.max,
    }
    return {name: float(np.log2(float(value))) for name, value in named.items()}
