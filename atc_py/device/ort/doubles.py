"""Functions of float64 that runtimes, or some versions of them, have for float32 alone.

Inverse functions of angles begin with what float32 gives, y0, and add the angle that is missing. The
sine or tangent of that is known from those of y0 and y, and it is so small that it is its angle but
for a term or two.
"""

from atc_py.device.ort.body import Body
from atc_py.device.ort.formulas import logarithm_of_1_more
from atc_py.tensor.dtypes import DType

_LARGE = 2.0**500
"""Numbers whose squares are no more in float64's range, nearly; their angle is a right one."""


def _number(body: Body, value: float) -> str:
    return body.const(value, DType.FLOAT64)


def _begun(body: Body, op_type: str, x: str) -> tuple[str, str, str]:
    """The float32 estimate, its sine and its cosine."""
    first = body.cast(body.add(op_type, body.cast(x, DType.FLOAT32)), DType.FLOAT64)
    return first, body.add("Sin", first), cos(body, first)


def cos(body: Body, x: str) -> str:
    """The cosine, `1 - 2 sin(x / 2)^2`."""
    sine = body.add("Sin", body.add("Mul", x, _number(body, 0.5)))
    square = body.add("Mul", sine, sine)
    return body.add("Sub", _number(body, 1), body.add("Add", square, square))


def tan(body: Body, x: str) -> str:
    """The tangent."""
    return body.add("Div", body.add("Sin", x), cos(body, x))


def asin(body: Body, x: str) -> str:
    """The inverse sine."""
    first, sine, cosine = _begun(body, "Asin", x)
    other = _other_side(body, x)
    gap = body.add("Sub", body.add("Mul", x, cosine), body.add("Mul", other, sine))
    return body.add("Add", first, _angle_of_sine(body, gap))


def acos(body: Body, x: str) -> str:
    """The inverse cosine."""
    first, sine, cosine = _begun(body, "Acos", x)
    other = _other_side(body, x)
    gap = body.add("Sub", body.add("Mul", other, cosine), body.add("Mul", x, sine))
    return body.add("Add", first, _angle_of_sine(body, gap))


def _other_side(body: Body, x: str) -> str:
    """`sqrt((1 - x) * (1 + x))`."""
    one = _number(body, 1)
    return body.add("Sqrt", body.add("Mul", body.add("Sub", one, x), body.add("Add", one, x)))


def _angle_of_sine(body: Body, sine: str) -> str:
    """`s + s^3 / 6` of a sine of 1e-3 or less."""
    cube = body.add("Mul", body.add("Mul", sine, sine), sine)
    return body.add("Add", sine, body.add("Mul", cube, _number(body, 1 / 6)))


def atan(body: Body, x: str) -> str:
    """The inverse tangent."""
    held = body.add("Clip", x, _number(body, -_LARGE), _number(body, _LARGE))
    first, sine, cosine = _begun(body, "Atan", held)
    above = body.add("Sub", body.add("Mul", held, cosine), sine)
    below = body.add("Add", cosine, body.add("Mul", held, sine))
    return body.add("Add", first, body.add("Div", above, below))


def sinh(body: Body, x: str) -> str:
    """The hyperbolic sine: of numbers up to 1 `2 t / (1 - t^2)` with `t = tanh(x / 2)`."""
    one = _number(body, 1)
    half = body.add("Tanh", body.add("Mul", x, _number(body, 0.5)))
    below = body.add("Sub", one, body.add("Mul", half, half))
    small = body.add("Div", body.add("Add", half, half), below)
    rising, falling = _halves(body, body.add("Abs", x))
    large = body.add("Mul", body.add("Sub", rising, falling), body.add("Sign", x))
    return body.add("Where", body.add("Less", body.add("Abs", x), one), small, large)


def cosh(body: Body, x: str) -> str:
    """The hyperbolic cosine."""
    return body.add("Add", *_halves(body, body.add("Abs", x)))


def _halves(body: Body, x: str) -> tuple[str, str]:
    """`exp(x) / 2`, which overflows no sooner than it must, and `exp(-x) / 2`."""
    half = _number(body, 0.5)
    root = body.add("Exp", body.add("Mul", x, half))
    falling = body.add("Mul", body.add("Exp", body.add("Neg", x)), half)
    return body.add("Mul", body.add("Mul", root, half), root), falling


def asinh(body: Body, x: str) -> str:
    """The inverse hyperbolic sine: `log(1 + a + a^2 / (1 + sqrt(a^2 + 1)))` of `a = |x|`."""
    one, size = _number(body, 1), body.add("Abs", x)
    held = body.add("Min", size, _number(body, _LARGE))
    square = body.add("Mul", held, held)
    root = body.add("Sqrt", body.add("Add", square, one))
    sum_ = body.add("Add", held, body.add("Div", square, body.add("Add", root, one)))
    found = _or_of_large(body, logarithm_of_1_more(body, sum_), size)
    return body.add("Mul", found, body.add("Sign", x))


def acosh(body: Body, x: str) -> str:
    """The inverse hyperbolic cosine: `log(1 + d + sqrt(d) * sqrt(x + 1))`, `d = x - 1`."""
    one = _number(body, 1)
    held = body.add("Min", x, _number(body, _LARGE))
    rest = body.add("Sub", held, one)
    roots = (body.add("Sqrt", each) for each in (rest, body.add("Add", held, one)))
    root = body.add("Mul", *roots)
    return _or_of_large(body, logarithm_of_1_more(body, body.add("Add", rest, root)), x)


def _or_of_large(body: Body, found: str, x: str) -> str:
    """`found`, or `log(2 x)` of numbers whose squares might overflow."""
    large = body.add("Add", body.add("Log", x), _number(body, 0.6931471805599453))
    return body.add("Where", body.add("Greater", x, _number(body, _LARGE)), large, found)


def atanh(body: Body, x: str) -> str:
    """The inverse hyperbolic tangent: `log(1 + 2 a / (1 - a)) / 2` of `a = |x|`."""
    one, size = _number(body, 1), body.add("Abs", x)
    held = body.add("Min", size, _number(body, 2))
    ratio = body.add("Div", body.add("Add", held, held), body.add("Sub", one, held))
    half = body.add("Mul", logarithm_of_1_more(body, ratio), _number(body, 0.5))
    return body.add("Mul", half, body.add("Sign", x))
