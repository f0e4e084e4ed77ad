"""Formulas of one element as ONNX nodes, with functions that ONNX lacks: nothing cancels in them."""

from collections.abc import Callable, Sequence

from atc_py.device.formulas import FORMULAS, ROUND, Formula, Term, softplus, trace
from atc_py.device.ort.body import Body
from atc_py.device.ort.numbers import carrier, number
from atc_py.tensor.dtypes import DType

_NAMES = {
    "absolute": "Abs",
    "add": "Add",
    "clip": "Clip",
    "divide": "Div",
    "equal": "Equal",
    "exp": "Exp",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "less": "Less",
    "maximum": "Max",
    "minimum": "Min",
    "multiply": "Mul",
    "negative": "Neg",
    "reciprocal": "Reciprocal",
    "sqrt": "Sqrt",
    "subtract": "Sub",
    "tanh": "Tanh",
    "where": "Where",
}
"""Functions that ONNX has, by numpy's name."""


def written(body: Body, formula: Formula | None = None) -> str:
    """Write a formula of the first operand, that of the body's operator where left out."""
    chosen = formula or FORMULAS[body.node.op]
    return steps_of(body, body.x(), lambda x: chosen(body.node, x))


def steps_of(body: Body, x: str, formula: Callable[[Term], Term]) -> str:
    """Write a formula of `x`, which is in the dtype that the body's first operand is computed in."""
    term, steps = trace(formula)
    values = {term: x}
    for step in steps:
        operands = [
            values[operand] if isinstance(operand, Term) else number(body, operand)
            for operand in step.operands
        ]
        values[step.result] = _step(body, step.function, operands)
    return values[steps[-1].result]


def _step(body: Body, function: str, operands: Sequence[str]) -> str:
    x = operands[0]
    match function:
        case "expm1" | "expm1 of negative":
            return exponential_less_1(body, x, negative=function != "expm1")
        case "log1p":
            return logarithm_of_1_more(body, x)
        case "softplus":
            return steps_of(body, x, lambda term: softplus(body.node, term))
        case "as number":
            return body.cast(x, carrier(body.node.dtype()))
        case _ if function == ROUND:
            return body.rounded(x, DType.FLOAT16)
    return body.add(_NAMES[function], *operands)


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
