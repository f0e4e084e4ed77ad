"""Activations that multiply x with a share of itself: GELU, Swish, HardSwish.

For float16 runtimes' own sigmoid and GELU are near enough; see Sigmoid.
"""

from math import pi, sqrt

from atc_py.device.ort.body import Body
from atc_py.device.ort.node import NoFormError
from atc_py.device.ort.numbers import number
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_APPROXIMATIONS = ("none", "tanh")

_CUBIC = 0.044715
_SLOPE = 2 * sqrt(2 / pi)


@emulates("GeluV2")
def gelu(body: Body) -> str:
    """Write `x * Phi(x)`, or `x / (1 + exp(-2 * sqrt(2 / pi) * (x + 0.044715 * x^3)))` (tanh)."""
    approximation = body.node.text("approximate")
    if approximation not in _APPROXIMATIONS:
        text = Text("approximate {approximation} is not known")
        raise NoFormError(text.with_values(approximation=repr(approximation)))
    x = body.x()
    if approximation == "none" or body.node.dtype() is DType.FLOAT16:
        return body.add("Gelu", x, approximate=approximation)
    factor = body.add("Mul", body.add("Mul", x, x), number(body, -_SLOPE * _CUBIC))
    factor = body.add("Sub", factor, number(body, _SLOPE))
    return _divided(body, x, body.add("Mul", factor, x))


@emulates("Swish")
def swish(body: Body) -> str:
    """Write `y = x / (1 + exp(-scale * x))`."""
    x, scale = body.x(), body.node.number("scale")
    if body.node.dtype() is DType.FLOAT16:
        scaled = x if scale == 1 else body.add("Mul", x, number(body, scale))
        return body.add("Mul", x, body.add("Sigmoid", scaled))
    return _divided(body, x, body.add("Mul", x, number(body, -scale)))


def _divided(body: Body, x: str, exponent: str) -> str:
    """`x / (1 + exp(exponent))`."""
    return body.add("Div", x, body.add("Add", body.add("Exp", exponent), number(body, 1)))


@emulates("HardSwish")
def hard_swish(body: Body) -> str:
    """Write `y = x * min(max(x + 3, 0), 6) / 6`."""
    x = body.x()
    share = body.add("Add", x, number(body, 3))
    share = body.add("Clip", share, number(body, 0), number(body, 6))
    return body.add("Mul", x, body.add("Mul", share, number(body, 1 / 6)))
