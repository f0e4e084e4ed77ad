"""Functions of float64 that runtimes, or some versions of them, have for float32 alone.

Inverse functions of angles begin with what float32 gives, y0, and add the angle that is missing. The
sine or tangent of that is known from those of y0 and y, and it is so small that it is its angle but
for a term or two.
"""

from collections.abc import Callable
from functools import partial
from math import log

from atc_py.device.formulas import (
    Term,
    absolute,
    clip,
    exp,
    log1p,
    minimum,
    square_root,
    step,
    tanh,
    where,
)

_LARGE = 2.0**500
"""Numbers whose squares are no more in float64's range, nearly; their angle is a right one."""

_sin = partial(step, "sin")


def _begun(function: str, x: Term) -> tuple[Term, Term, Term]:
    first = step(f"{function} of float32", x)
    return first, _sin(first), cos(first)


def cos(x: Term) -> Term:
    """The cosine, `1 - 2 sin(x / 2)^2`."""
    sine = _sin(x * 0.5)
    square = sine * sine
    return 1 - (square + square)


def tan_of_double(x: Term) -> Term:
    return _sin(x) / cos(x)


def _asin(x: Term) -> Term:
    first, sine, cosine = _begun("arcsin", x)
    return first + _angle_of_sine(x * cosine - _other_side(x) * sine)


def _acos(x: Term) -> Term:
    first, sine, cosine = _begun("arccos", x)
    return first + _angle_of_sine(_other_side(x) * cosine - x * sine)


def _other_side(x: Term) -> Term:
    return square_root((1 - x) * (1 + x))


def _angle_of_sine(sine: Term) -> Term:
    """`s + s^3 / 6` of a sine of 1e-3 or less."""
    return sine + sine * sine * sine * (1 / 6)


def _atan(x: Term) -> Term:
    held = clip(x, -_LARGE, _LARGE)
    first, sine, cosine = _begun("arctan", held)
    return first + (held * cosine - sine) / (cosine + held * sine)


def _sinh(x: Term) -> Term:
    """Of numbers up to 1 `2 t / (1 - t^2)` with `t = tanh(x / 2)`."""
    half, size = tanh(x * 0.5), absolute(x)
    rising, falling = _halves(size)
    large = (rising - falling) * step("sign", x)
    return where(size < 1, (half + half) / (1 - half * half), large)


def _cosh(x: Term) -> Term:
    rising, falling = _halves(absolute(x))
    return rising + falling


def _halves(x: Term) -> tuple[Term, Term]:
    """`exp(x) / 2`, which overflows no sooner than it must, and `exp(-x) / 2`."""
    root = exp(x * 0.5)
    return root * 0.5 * root, exp(-x) * 0.5


def _asinh(x: Term) -> Term:
    """`log(1 + a + a^2 / (1 + sqrt(a^2 + 1)))` of `a = |x|`."""
    size = absolute(x)
    held = minimum(size, _LARGE)
    square = held * held
    sum_ = held + square / (square_root(square + 1) + 1)
    return _or_of_large(log1p(sum_), size) * step("sign", x)


def _acosh(x: Term) -> Term:
    """`log(1 + d + sqrt(d) * sqrt(x + 1))`, `d = x - 1`."""
    held = minimum(x, _LARGE)
    rest = held - 1
    return _or_of_large(log1p(rest + square_root(rest) * square_root(held + 1)), x)


def _or_of_large(result: Term, x: Term) -> Term:
    """`result`, or `log(2 x)` of numbers whose squares might overflow."""
    return where(x > _LARGE, step("log", x) + log(2), result)


def _atanh(x: Term) -> Term:
    """`log(1 + 2 a / (1 - a)) / 2` of `a = |x|`."""
    held = minimum(absolute(x), 2)
    return log1p((held + held) / (1 - held)) * 0.5 * step("sign", x)


DOUBLES: dict[str, Callable[[Term], Term]] = {
    "Acos": _acos,
    "Acosh": _acosh,
    "Asin": _asin,
    "Asinh": _asinh,
    "Atan": _atan,
    "Atanh": _atanh,
    "Cos": cos,
    "Cosh": _cosh,
    "Sinh": _sinh,
}
"""By target operator, which ONNX calls the same."""
