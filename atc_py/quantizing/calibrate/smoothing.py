"""Factors that move range from activations into weights: AMCT's DMQ balancer, which is SmoothQuant.

    f_c = A_c^m / W_c^(1 - m),    x_c / f_c,    w_c * f_c

for each input channel c, with A_c = max|x_c| over the samples and W_c = max|w_c| over the layer's
weights. m is the migration strength: the larger it is, the more range moves into the weights.
Sources: `dmq_balancer` of AMCT; Xiao et al., SmoothQuant, 2023, equation 4.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import Place
from atc_py.diag.codes import BAD_OPTION, SCALE_OUT_OF_RANGE, VALUES_NOT_FINITE
from atc_py.quantizing.calibrate.scales import EPSILON
from atc_py.text import Text


def channel_peaks(array: NDArray[Any], axis: int) -> NDArray[np.float32]:
    """The largest magnitude of each index of `axis`; 0 where there are no values."""
    rows = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
    peaks = np.maximum(rows.max(axis=1, initial=0), -rows.min(axis=1, initial=0))
    single: NDArray[np.float32] = peaks.astype(np.float32)
    return single


def smoothing_factors(
    activations: NDArray[Any],
    weights: NDArray[Any],
    strength: float = 0.5,
    place: Place | None = None,
) -> NDArray[np.float32]:
    """One factor for each channel, from the largest magnitudes of both sides.

    Values below EPSILON count as 0. A channel that is 0 on both sides has 1. One that is 0 on one
    side gets what gives its other side the largest magnitude of the other channels after the
    division. If all channels of a side are 0, all factors are 1.

    Raises:
        AtcError: BAD_OPTION for a strength outside [0, 1] or counts that differ;
            VALUES_NOT_FINITE; SCALE_OUT_OF_RANGE for a factor outside (EPSILON, 1 / EPSILON).
    """
    if not 0 <= strength <= 1:
        raise BAD_OPTION.error(
            Text("the migration strength must be in [0, 1], found {strength}", strength=strength)
        )
    if activations.shape != weights.shape or activations.ndim != 1:
        raise BAD_OPTION.error(
            Text(
                "magnitudes of activations {shape} and of weights {shape_2} must be two "
                "lists of one length",
                shape=activations.shape,
                shape_2=weights.shape,
            ),
            place=place,
        )
    data, taps = activations.astype(np.float64), weights.astype(np.float64)
    if not (np.isfinite(data).all() and np.isfinite(taps).all()):
        raise VALUES_NOT_FINITE.error(Text("magnitudes of channels are not finite"), place=place)
    has_data, has_taps = data >= EPSILON, taps >= EPSILON
    both = has_data & has_taps
    factors = np.ones_like(data)
    if not both.any():
        return factors.astype(np.float32)
    factors[both] = data[both] ** strength / taps[both] ** (1 - strength)
    largest_data = float((data[both] / factors[both]).max())
    largest_taps = float((taps[both] * factors[both]).max())
    factors[has_taps & ~has_data] = largest_taps / taps[has_taps & ~has_data]
    factors[has_data & ~has_taps] = data[has_data & ~has_taps] / largest_data
    _check_factors(factors, place)
    return factors.astype(np.float32)


def _check_factors(factors: NDArray[np.float64], place: Place | None) -> None:
    """Refuse a factor outside (EPSILON, 1 / EPSILON)."""
    outside = np.flatnonzero(~((factors > EPSILON) & (factors < 1 / EPSILON)))
    if outside.size:
        at = int(outside[0])
        raise SCALE_OUT_OF_RANGE.error(
            Text(
                "the smoothing factor of channel {at} is {factors}, outside ({epsilon}, "
                "{epsilon_2})",
                at=at,
                factors=f"{factors[at]:g}",
                epsilon=f"{EPSILON:g}",
                epsilon_2=f"{1 / EPSILON:g}",
            ),
            place=place,
        )
