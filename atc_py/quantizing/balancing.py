"""Factors that balance channels of a layer's data with its weights, chosen by estimated noise.

A tensor of range r that is quantized has the noise (r / 255)^2 / 12 in each element, and weights of
scale s the noise s^2 / 12. At the result of a layer that is

    noise = (r / 255)^2 / 12 * sum w^2 + sum over o of s_o^2 / 12 * sum over i of K * mean x_i^2

with K taps of an input channel i and output channels o. Factors are those of SmoothQuant with the
strength that gives the least noise, over all layers that read the tensor; none where the gain is
small.

    f_c = A_c^m / W_c^(1 - m),    x_c / f_c,    w_c * f_c

for each input channel c, with A_c = max|x_c| over the samples and W_c = max|w_c| over the layer's
weights. m is the migration strength: the larger it is, the more range moves into the weights.
Sources: `dmq_balancer` of AMCT; Xiao et al., SmoothQuant, 2023, equation 4.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.diag import BAD_OPTION, SCALE_OUT_OF_RANGE, VALUES_NOT_FINITE
from atc_py.quantizing.calibrate.value_range import EPSILON
from atc_py.quantizing.layers.balance_sites import BalanceSite, input_weights
from atc_py.quantizing.layers.layer_constants import LayerConstants
from atc_py.quantizing.layers.layers import FloatLayer
from atc_py.text import Text


def smoothing_factors(
    activations: NDArray[Any], weights: NDArray[Any], strength: float = 0.5
) -> NDArray[np.float32]:
    """One factor for each channel, from the largest magnitudes of both sides.

    Values below EPSILON count as 0. A channel that is 0 on both sides has 1. One that is 0 on one
    side gets what gives its other side the largest magnitude of the other channels after the
    division. If all channels of a side are 0, all factors are 1.
    """
    if not 0 <= strength <= 1:
        raise BAD_OPTION.error(
            Text("the migration strength must be in [0, 1], found {strength}", strength=strength)
        )
    if activations.shape != weights.shape or activations.ndim != 1:
        raise BAD_OPTION.error(
            Text(
                "magnitudes of activations {shape} and of weights {shape_2} must be two lists "
                "of the same length",
                shape=activations.shape,
                shape_2=weights.shape,
            )
        )
    data, taps = activations.astype(np.float64), weights.astype(np.float64)
    if not (np.isfinite(data).all() and np.isfinite(taps).all()):
        raise VALUES_NOT_FINITE.error(Text("magnitudes of channels are not finite"))
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
    _check_factors(factors)
    return factors.astype(np.float32)


def _check_factors(factors: NDArray[np.float64]) -> None:
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
            )
        )


_STRENGTHS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_LEAST_GAIN = 0.5
"""In dB; less is not worth a change of the weights."""

_LEAST_PEAK = 1 / 8
"""Share of a tensor's largest peak that each channel is taken to reach: one that is small in the few
samples that were seen is not stretched so far that others leave the range."""

_MOST = 2.0**10
"""Largest factor, and the inverse of the least: float16 has to hold what is between layers."""


class ChannelStatistics:
    """Lowest, highest and mean squared value of each channel of a tensor."""

    def __init__(self, axis: int) -> None:
        self._axis = axis
        self.low: NDArray[np.float64] = np.zeros(0)
        self.high: NDArray[np.float64] = np.zeros(0)
        self._squares: NDArray[np.float64] = np.zeros(0)
        self._count = 0

    def add(self, array: NDArray[Any]) -> None:
        rows = np.moveaxis(array, self._axis, 0).reshape(array.shape[self._axis], -1)
        if not rows.shape[1]:
            return
        low, high = rows.min(axis=1).astype(np.float64), rows.max(axis=1).astype(np.float64)
        squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        if not self._count:
            self.low, self.high, self._squares = low, high, squares
        else:
            self.low, self.high = np.minimum(self.low, low), np.maximum(self.high, high)
            self._squares = self._squares + squares
        self._count += rows.shape[1]

    @property
    def mean_squares(self) -> NDArray[np.float64]:
        return self._squares / max(self._count, 1)


class Balance(msgspec.Struct, frozen=True, eq=False):
    """Factors for the channels of a tensor."""

    site: BalanceSite
    factors: NDArray[np.float32]  # what its channels are divided by
    gain: float  # by how much the estimated noise at the results of its readers falls, in dB
    strength: float


def select_balance(
    constants: LayerConstants, site: BalanceSite, statistics: ChannelStatistics
) -> Balance | None:
    """The factors with the least noise; None where they gain little."""
    results = balances(constants, site, statistics, _STRENGTHS, _LEAST_PEAK)
    gaining = [result for result in results if result.gain > _LEAST_GAIN]
    return max(gaining, key=lambda each: each.gain, default=None)


def balances(
    constants: LayerConstants,
    site: BalanceSite,
    statistics: ChannelStatistics,
    strengths: Iterable[float],
    least_peak: float = 0.0,
) -> list[Balance]:
    """The factors of migration strengths in [0, 1]; none where the data are all 0.

    Every channel is taken to have a peak of `least_peak` times the largest.
    """
    weights = [
        input_weights(reader, np.asarray(constants.read(reader.node, 1), np.float32))
        for reader in site.readers
    ]
    peaks = np.maximum(np.abs(statistics.low), np.abs(statistics.high))
    peaks = np.maximum(peaks, least_peak * peaks.max(initial=0))
    taps = np.max([np.abs(weight).max(axis=1, initial=0) for weight in weights], axis=0)
    if peaks.size != taps.size or not (peaks > 0).any() or not np.isfinite(peaks).all():
        return []
    if not (taps > 0).any():
        return []
    before = _noise(site, weights, statistics, np.ones(peaks.size))
    results = []
    for strength in strengths:
        # Factors are centered below: what is left of the magnitudes is how channels compare.
        factors = smoothing_factors(peaks / peaks.max(), taps / taps.max(), strength)
        exact = factors.astype(np.float64)
        # Their geometric mean is 1, so that the tensor keeps its order of magnitude.
        centered = exact / np.exp(np.log(exact).mean())
        factors = np.clip(centered, 1 / _MOST, _MOST).astype(np.float32)
        after = _noise(site, weights, statistics, factors.astype(np.float64))
        gain = 10 * math.log10(before / after) if before > 0 and after > 0 else 0.0
        results.append(Balance(site, factors, gain, strength))
    return results


def _noise(
    site: BalanceSite,
    weights: Sequence[NDArray[np.float32]],
    statistics: ChannelStatistics,
    factors: NDArray[np.float64],
) -> float:
    """The noise at the results of all readers, each relative to its signal."""
    low = min(float((statistics.low / factors).min()), 0.0)
    high = max(float((statistics.high / factors).max()), 0.0)
    step = (high - low) / 255
    squares = statistics.mean_squares / factors**2
    total = 0.0
    for layer, own in zip(site.readers, weights, strict=True):
        scaled = own * factors[:, None]
        energy = (scaled.astype(np.float64) ** 2).sum(axis=1)
        signal = float((energy * squares).sum())
        noise = step**2 * float(energy.sum()) + _weight_noise(layer, scaled, squares)
        if signal > 0:
            total += noise / signal
    return total


def _weight_noise(
    layer: FloatLayer, scaled: NDArray[np.float64], squares: NDArray[np.float64]
) -> float:
    """12 times the noise that the steps of weights make.

    `scaled` are the weights as [input channels of all groups, everything else], `squares` the mean
    of x^2 of each input channel.
    """
    is_grouped = layer.kind == "Conv"
    groups = layer.groups if is_grouped else 1
    outputs = layer.shape[layer.axis] // groups
    by_output = np.abs(scaled).reshape(groups, -1, outputs, scaled.shape[1] // outputs)
    steps = (by_output.max(axis=(1, 3)) / 127) ** 2
    sums = squares.reshape(groups, -1).sum(axis=1)
    return float((steps.sum(axis=1) * sums).sum()) * by_output.shape[3]
