"""Formulas of one element as ONNX nodes."""

from collections.abc import Callable, Sequence
from functools import partial

from atc_py.device.formulas import (
    FORMULAS,
    ROUND,
    Formula,
    Term,
    equal,
    exp,
    softplus,
    step,
    tanh,
    trace,
    where,
)
from atc_py.device.ort.body import Body
from atc_py.device.ort.numbers import carrier, number
from atc_py.package.node_view import NodeView
from atc_py.tensor.dtypes import DType

_NAMES = {
    "absolute": "Abs",
    "add": "Add",
    "arccos of float32": "Acos",
    "arcsin of float32": "Asin",
    "arctan of float32": "Atan",
    "arctanh": "Atanh",
    "clip": "Clip",
    "divide": "Div",
    "equal": "Equal",
    "exp": "Exp",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "isinf": "IsInf",
    "less": "Less",
    "log": "Log",
    "logical_or": "Or",
    "maximum": "Max",
    "minimum": "Min",
    "multiply": "Mul",
    "negative": "Neg",
    "reciprocal": "Reciprocal",
    "sign": "Sign",
    "sin": "Sin",
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
    for function, operands, result in steps:
        names = [
            values[operand] if isinstance(operand, Term) else number(body, operand)
            for operand in operands
        ]
        values[result] = _step(body, function, names)
    return values[steps[-1].result]


def _step(body: Body, function: str, operands: Sequence[str]) -> str:
    x = operands[0]
    if function in _FORMULAS:
        return steps_of(body, x, partial(_FORMULAS[function], body.node))
    match function:
        case "as number":
            return body.cast(x, carrier(body.node.dtype()))
        case _ if function == ROUND:
            return body.rounded(x, DType.FLOAT16)
        case _ if function.endswith(" of float32"):
            narrow = body.add(_NAMES[function], body.cast(x, DType.FLOAT32))
            return body.cast(narrow, DType.FLOAT64)
    return body.add(_NAMES[function], *operands)


def _expm1_of_negative(_node: NodeView, x: Term) -> Term:
    """`2 t / (1 - t)` with `t = tanh(x / 2)`."""
    half = tanh(x * 0.5)
    return (half + half) / (1 - half)


def _expm1(node: NodeView, x: Term) -> Term:
    return where(x > 1, exp(x) - 1, _expm1_of_negative(node, x))


def _log1p(node: NodeView, x: Term) -> Term:
    """For x of 0 and more, infinity included.

    Of float32 it is `2 atanh(x / (2 + x))`, of float64 `log(w) * x / (w - 1)` with `w = 1 + x`,
    whose rounding is in both factors.
    """
    if node.x.dtype is not DType.FLOAT64:
        half = step("arctanh", x / (x + 2))
        return half + half
    more = x + 1
    rest = more - 1
    lost = step("logical_or", equal(rest, 0), step("isinf", x))
    return where(lost, x, step("log", more) * (x / where(lost, 1, rest)))


_FORMULAS: dict[str, Formula] = {
    "expm1": _expm1,
    "expm1 of negative": _expm1_of_negative,
    "log1p": _log1p,
    "softplus": softplus,
}
"""Functions that ONNX lacks, of operators that it has: nothing cancels in them."""
