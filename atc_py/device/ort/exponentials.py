"""Functions of floats that ONNX lacks, of operators that it has: nothing cancels in them."""

from atc_py.device.ort.body import Body
from atc_py.device.ort.numbers import number
from atc_py.tensor.dtypes import DType


def exponential_less_1(body: Body, x: str, *, negative: bool = False) -> str:
    """`exp(x) - 1 = 2 t / (1 - t)` with `t = tanh(x / 2)`, for x above 1 as it stands.

    Args:
        body: what computes it.
        x: in the dtype in which the body's first operand is computed.
        negative: whether x is 0 at most.
    """
    half = body.add("Tanh", body.add("Mul", x, number(body, 0.5)))
    one = number(body, 1)
    small = body.add("Div", body.add("Add", half, half), body.add("Sub", one, half))
    if negative:
        return small
    large = body.add("Sub", body.add("Exp", x), one)
    return body.add("Where", body.add("Greater", x, one), large, small)


def logarithm_of_1_more(body: Body, x: str) -> str:
    """`log(1 + x)` for x of 0 and more, infinity included.

    Of float32 it is `2 atanh(x / (2 + x))` up to 1, of float64 `log(w) * x / (w - 1)`
    with `w = 1 + x`, whose rounding is in both factors.
    """
    one = number(body, 1)
    if body.node.dtype() is not DType.FLOAT64:
        ratio = body.add("Div", x, body.add("Add", x, number(body, 2)))
        half = body.add("Atanh", ratio)
        return body.add("Add", half, half)
    more = body.add("Add", x, one)
    logarithm = body.add("Log", more)
    rest = body.add("Sub", more, one)
    lost = body.add("Or", body.add("Equal", rest, number(body, 0)), body.add("IsInf", x))
    quotient = body.add("Div", x, body.add("Where", lost, one, rest))
    scaled = body.add("Mul", logarithm, quotient)
    return body.add("Where", lost, x, scaled)
