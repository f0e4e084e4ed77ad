"""Ranges of values that int8 codes stand for, the choices of calibrators, scales of ranges, and errors.

A scale below float32's epsilon becomes 1, and one over its reciprocal is refused: the rules of
Ascend's quantizer, AMCT. Activations have an offset, weights have none. Source of the formulas:
`utils.py`, `ifmr.py` and `arq.py` of AMCT, as docs/int8.md quotes them.
"""

import math
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.diag import BAD_OPTION, NO_VALUES, SCALE_OUT_OF_RANGE, Place
from atc_py.options.option import Option
from atc_py.text import Text

HFMG_BINS = (1024, 2048, 4096, 8192)

_ROUNDED = 1 + 1e-9
_ALL, _HALF, _LEAST_CODES, _MOST_BINS = 100, 0.5, 2, 2**14


class ValueRange(msgspec.Struct, frozen=True):
    """The values that codes stand for, both bounds included; others are clipped to them.

    A range need not have 0; the scale that is made of it takes 0 in.
    """

    low: float
    high: float


class RangeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Choices of calibrators; each reads those that concern it.

    Attributes:
        percentile: share of the values in [0, 100] that `percentile` keeps.
        symmetric: offset 0, for clips that are searched: as many values on either side of 0.
        entropy_bins: bins of the distribution that `entropy` compares.
        entropy_codes: bins to which it is quantized.
        max_percentile: share of the values up to which `ifmr` looks for the highest; (0.5, 1].
        min_percentile: the same for the lowest.
        search_start: least factor of the highest value that `ifmr` tries.
        search_end: largest factor.
        search_step: distance of two factors.
        hfmg_bins: bins of `hfmg`.
    """

    percentile: Annotated[float, Option(
        "--percentile", "Share of the values, in percent, that the calibrator `percentile` keeps.",
        shown=True,
    )] = 99.999  # fmt: skip
    symmetric: Annotated[
        bool, Option("--symmetric", "Use offset 0 for data.", doc="data have offset 0.")
    ] = False
    entropy_bins: int = 2048
    entropy_codes: int = 128
    max_percentile: float = 0.999999
    min_percentile: float = 0.999999
    search_start: float = 0.7
    search_end: float = 1.3
    search_step: float = 0.01
    hfmg_bins: int = 4096

    def __post_init__(self) -> None:
        limits = {
            "percentile": (
                0 < self.percentile <= _ALL,
                "{name} must be in (0, 100], found {found}",
            ),
            "entropy_codes": (
                self.entropy_codes >= _LEAST_CODES,
                "{name} must be at least 2, found {found}",
            ),
            "entropy_bins": (
                self.entropy_codes <= self.entropy_bins <= _MOST_BINS,
                "{name} must be in [entropy_codes, 16384], found {found}",
            ),
            "max_percentile": (
                _HALF < self.max_percentile <= 1,
                "{name} must be in (0.5, 1], found {found}",
            ),
            "min_percentile": (
                _HALF < self.min_percentile <= 1,
                "{name} must be in (0.5, 1], found {found}",
            ),
            "search_start": (
                0 < self.search_start < self.search_end < math.inf,
                "{name} must be in (0, search_end), found {found}",
            ),
            "search_step": (
                (self.search_end - self.search_start) / _MOST_BINS
                <= self.search_step
                <= (self.search_end - self.search_start) * _ROUNDED,
                "{name} must be in (0, search_end - search_start], for at most 16385 factors, found {found}",
            ),
            "hfmg_bins": (
                self.hfmg_bins in HFMG_BINS,
                "{name} must be one of {known}, found {found}",
            ),
        }
        for name, (holds, words) in limits.items():
            if not holds:
                raise BAD_OPTION.error(
                    Text(words, name=name, found=getattr(self, name), known=str(HFMG_BINS))
                )


def require_values(count: int) -> None:
    if not count:
        raise NO_VALUES.error(Text("the tensor has no values, so that no range can be chosen"))


EPSILON = float(np.finfo(np.float32).eps)
"""2^-23; a scale below becomes 1, one over its reciprocal is refused."""


class ActivationScale(msgspec.Struct, frozen=True):
    """Scale and offset of a tensor: code = sat(round(x / scale) + offset)."""

    scale: float  # the step, a float32
    offset: int  # the code of 0, in [-128, 127]

    @property
    def low(self) -> float:
        """The lowest value that a code stands for."""
        return (-128 - self.offset) * self.scale

    @property
    def high(self) -> float:
        """The highest value that a code stands for."""
        return (127 - self.offset) * self.scale


def activation_scale(
    bounds: ValueRange, *, symmetric: bool = False, place: Place | None = None
) -> ActivationScale:
    """Scale and offset of a range, into which 0 is taken.

    With an offset, scale = (high - low) / 255 and offset = round(-128 - low / scale), the latter in
    float32 and half to even, which decides ties as AMCT does. `symmetric` has offset 0 and scale =
    high / 127, or -low / 128 where the negative side is larger.
    """
    low, high = min(bounds.low, 0.0), max(bounds.high, 0.0)
    larger = high / 127 if high >= -low else -low / 128
    exact = larger if symmetric else (high - low) / 255
    scale = float(np.float32(exact)) if exact <= 1 / EPSILON else exact
    if not scale <= 1 / EPSILON:
        raise SCALE_OUT_OF_RANGE.error(
            Text(
                "the range [{low}, {high}] needs a scale of {scale}, more than {epsilon}",
                low=f"{low:g}",
                high=f"{high:g}",
                scale=f"{scale:g}",
                epsilon=f"{1 / EPSILON:g}",
            ),
            place=place,
        )
    if scale < EPSILON:
        return ActivationScale(1.0, 0 if symmetric else -128)
    if symmetric:
        return ActivationScale(scale, 0)
    offset = np.rint(np.float32(-128) - np.float32(low) / np.float32(scale))
    return ActivationScale(scale, min(max(int(offset), -128), 127))


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
