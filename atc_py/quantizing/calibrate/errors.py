"""Errors of quantization: signal to noise in decibels, shares that are clipped, similarity."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.quantizing.calibrate.scales import ActivationScale


def fake_quantized(array: NDArray[Any], found: ActivationScale) -> NDArray[np.float32]:
    """The values that the codes of an array stand for: (sat(round(x / s) + o) - o) * s."""
    scale = np.float32(found.scale)
    steps = np.rint(array.astype(np.float32, copy=False) / scale)
    kept: NDArray[np.float32] = np.clip(steps, -128 - found.offset, 127 - found.offset) * scale
    return kept


def sqnr(original: NDArray[Any], other: NDArray[Any]) -> float:
    """10 log10(sum x^2 / sum (x - y)^2) in dB; infinite where both are equal.

    Sums are of float64. Zeros that become anything else have -infinity.
    """
    values = original.astype(np.float64).ravel()
    error = values - other.astype(np.float64).ravel()
    signal, noise = float(values @ values), float(error @ error)
    return decibels(signal, noise)


def decibels(signal: float, noise: float) -> float:
    """The ratio of two powers in dB."""
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal > 0 else -math.inf


def similarity(original: NDArray[Any], other: NDArray[Any]) -> float:
    """AMCT's similarity, 0.5 + 0.5 cos of the angle between two arrays, in [0, 1].

    Two arrays of zeros have 1, one of zeros and another have 0.
    """
    left, right = (each.astype(np.float64).ravel() for each in (original, other))
    norms = float(np.linalg.norm(left)) * float(np.linalg.norm(right))
    if norms == 0:
        return float(not left.any() and not right.any())
    return 0.5 + 0.5 * float(left @ right) / norms
