"""Scales of int8: of a range for activations, of an array for weights; and their errors.

A scale below float32's epsilon becomes 1, and one over its reciprocal is refused: the rules of
Ascend's quantizer, AMCT. Activations have an offset, weights have none. Source of the formulas:
`utils.py`, `ifmr.py` and `arq.py` of AMCT, as docs/quantization.md quotes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from atc_py.diag import Place
from atc_py.diag.codes import SCALE_OUT_OF_RANGE
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.quantizing.calibrate.value_range import ValueRange


EPSILON = float(np.finfo(np.float32).eps)
"""2^-23; a scale below becomes 1, one over its reciprocal is refused."""


class ActivationScale(msgspec.Struct, frozen=True):
    """Scale and offset of a tensor: code = sat(round(x / scale) + offset).

    Attributes:
        scale: the step, a float32.
        offset: the code of 0, in [-128, 127].
    """

    scale: float
    offset: int

    @property
    def low(self) -> float:
        """The lowest value that a code stands for."""
        return (-128 - self.offset) * self.scale

    @property
    def high(self) -> float:
        """The highest value that a code stands for."""
        return (127 - self.offset) * self.scale


def activation_scale(
    found: ValueRange, *, symmetric: bool = False, place: Place | None = None
) -> ActivationScale:
    """Scale and offset of a range, into which 0 is taken.

    With an offset, scale = (high - low) / 255 and offset = round(-128 - low / scale), the latter in
    float32 and half to even, which decides ties as AMCT does. `symmetric` has offset 0 and scale = high / 127, or -low / 128 where the negative side is larger.

    Raises:
        AtcError: SCALE_OUT_OF_RANGE if 1 / scale is below EPSILON.
    """
    low, high = min(found.low, 0.0), max(found.high, 0.0)
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
