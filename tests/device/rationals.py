"""Arithmetic in float formats worked out with fractions: every step exact, then rounded once."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class FloatFormat:
    """A binary float format: bits of the significand, and the exponents of its normal numbers."""

    bits: int
    least: int
    most: int

    def round(self, value: float | Fraction) -> float:
        """Return the number of the format that is nearest to `value`, the even one of two."""
        if isinstance(value, float) and not math.isfinite(value):
            return value
        exact = Fraction(value)
        if exact == 0:
            return 0.0
        exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
        if abs(exact) < Fraction(2) ** exponent:
            exponent -= 1
        exponent = max(exponent, self.least)
        spacing = Fraction(2) ** (exponent - self.bits + 1)
        nearest = round(exact / spacing) * spacing
        if abs(nearest) >= Fraction(2) ** (self.most + 1):
            return math.inf if nearest > 0 else -math.inf
        return float(nearest)


HALF = FloatFormat(11, -14, 15)
SINGLE = FloatFormat(24, -126, 127)


def step(
    kind: FloatFormat, operation: Callable[[Fraction, Fraction], Fraction], one: float, two: float
) -> float:
    """Return `operation` on two numbers of the format, rounded; infinities, NaN as in IEEE 754."""
    if math.isfinite(one) and math.isfinite(two):
        return kind.round(operation(Fraction(one), Fraction(two)))
    # Of what is not finite, only which one it is counts: powers of two stand for the rest.
    signs = [value if not math.isfinite(value) else math.copysign(bool(value), value)
             for value in (one, two)]  # fmt: skip
    return float(operation(*signs))  # type: ignore[arg-type]  # floats multiply and add alike


def held(value: float, mode: Callable[[Fraction], int], low: int, high: int) -> int:
    """Return `value` as an integer: rounded as `mode` says, held within two bounds, 0 for NaN."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(mode(Fraction(value)), low), high)
