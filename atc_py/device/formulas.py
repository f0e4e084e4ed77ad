"""Functions of one element, each written once: `sim` computes them with numpy, `ort` writes nodes.

A formula is called with terms in place of arrays, which note what is done to them. It states the order
of operations and of operands, which decides bits. Numbers are in the dtype that x is computed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import pi, sqrt
from typing import NamedTuple, TypeAlias

from atc_py.package.node_view import NodeView
from atc_py.tensor.dtypes import DType

ROUND = "round to float16"
"""The function that rounds, half to even."""


class Term:
    """An operand of a formula, or the result of one of its steps."""

    def __init__(self, steps: list[FormulaStep]) -> None:
        self.steps = steps

    def __add__(self, other: Operand) -> Term:
        return step("add", self, other)

    def __sub__(self, other: Operand) -> Term:
        return step("subtract", self, other)

    def __radd__(self, other: float) -> Term:
        return step("add", other, self)

    def __rsub__(self, other: float) -> Term:
        return step("subtract", other, self)

    def __mul__(self, other: Operand) -> Term:
        return step("multiply", self, other)

    def __truediv__(self, other: Operand) -> Term:
        return step("divide", self, other)

    def __rtruediv__(self, other: float) -> Term:
        return step("divide", other, self)

    def __neg__(self) -> Term:
        return step("negative", self)

    def __lt__(self, other: Operand) -> Term:
        return step("less", self, other)

    def __gt__(self, other: Operand) -> Term:
        return step("greater", self, other)

    def __ge__(self, other: Operand) -> Term:
        return step("greater_equal", self, other)


Operand: TypeAlias = "Term | float"
Formula: TypeAlias = Callable[[NodeView, Term], Term]


class FormulaStep(NamedTuple):
    """A function, by numpy's name where numpy has it, of terms and numbers."""

    function: str
    operands: tuple[Operand, ...]
    result: Term

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(dict.fromkeys(each for each in self.operands if isinstance(each, Term)))


def step(function: str, *operands: Operand) -> Term:
    """Note a step of the formula that the terms among `operands` belong to."""
    steps = next(operand.steps for operand in operands if isinstance(operand, Term))
    result = Term(steps)
    steps.append(FormulaStep(function, operands, result))
    return result


def trace(formula: Callable[[Term], Term]) -> tuple[Term, list[FormulaStep]]:
    """The operand of a formula, and its steps, of which the last gives the result."""
    steps: list[FormulaStep] = []
    x = Term(steps)
    formula(x)
    return x, steps


absolute = partial(step, "absolute")
as_number = partial(step, "as number")
"""1 where a comparison holds, else 0."""
clip = partial(step, "clip")
equal = partial(step, "equal")
exp = partial(step, "exp")
expm1 = partial(step, "expm1")
expm1_of_negative = partial(step, "expm1 of negative")
"""`exp(x) - 1` for x up to 0."""
log1p = partial(step, "log1p")
maximum = partial(step, "maximum")
minimum = partial(step, "minimum")
reciprocal = partial(step, "reciprocal")
square_root = partial(step, "sqrt")
tanh = partial(step, "tanh")
where = partial(step, "where")
"""The second operand where a comparison, which nothing else reads, holds, else the third."""

FORMULAS: dict[str, Formula] = {}
"""By target operator."""


def _formula(op: str) -> Callable[[Formula], Formula]:
    def register(formula: Formula) -> Formula:
        FORMULAS[op] = formula
        return formula

    return register


def rounds_steps(node: NodeView) -> bool:
    """True of the implementation that rounds every step; only float16 has several."""
    return node.x.dtype is DType.FLOAT16 and node.attributes.get("impl_mode") == "high_performance"


def _rounding(node: NodeView) -> Callable[[Term], Term]:
    """Rounding of a step's result, where the implementation of the node does so."""
    return partial(step, ROUND) if rounds_steps(node) else lambda term: term


# Activations ------------------------------------------------------------------------------------

_SELU_ALPHA, _SELU_SCALE = 1.6732631921768188, 1.0507010221481323
"""Klambauer et al. 2017, as float32 holds them, which is how ONNX states them."""


@_formula("Celu")
def celu(node: NodeView, x: Term) -> Term:
    """`max(0, alpha3 * x) + min(0, alpha1 * (exp(x / alpha2) - 1))`."""
    below = minimum(expm1(x / node.number("alpha2")) * node.number("alpha1"), 0)
    return maximum(x * node.number("alpha3"), 0) + below


@_formula("Elu")
def elu(node: NodeView, x: Term) -> Term:
    """`scale * x`, or `alpha * scale * (exp(input_scale * x) - 1)` below 0; -0 may give 0."""
    scale = node.number("scale")
    return _sum_of_sides(x, node.number("alpha") * scale, scale, node.number("input_scale"))


@_formula("Selu")
def selu(_node: NodeView, x: Term) -> Term:
    """`scale * x`, or `alpha * scale * (exp(x) - 1)` below 0; -0 gives 0."""
    return _sum_of_sides(x, _SELU_ALPHA * _SELU_SCALE, _SELU_SCALE, 1)


def _sum_of_sides(x: Term, below: float, above: float, inner: float) -> Term:
    """`above * max(x, 0) + below * (exp(inner * min(x, 0)) - 1)`: one of the two is 0."""
    held = minimum(x, 0)
    power = (expm1_of_negative if inner >= 0 else expm1)(held if inner == 1 else held * inner)
    power = power if below == 1 else power * below
    line = maximum(x, 0)
    return (line if above == 1 else line * above) + power


@_formula("HardSigmoid")
def hard_sigmoid(node: NodeView, x: Term) -> Term:
    """`max(0, min(1, alpha * x + beta))`; NaN stays NaN."""
    return clip(x * node.number("alpha") + node.number("beta"), 0, 1)


@_formula("Shrink")
def shrink(node: NodeView, x: Term) -> Term:
    """`x + bias` below -lambd, else `x - bias` above lambd, else 0, also for NaN."""
    lambd, bias = node.number("lambd"), node.number("bias")
    kept = where(x > lambd, x - bias, 0)
    return where(x < -lambd, x + bias, kept)


@_formula("Sigmoid")
def sigmoid(node: NodeView, x: Term) -> Term:
    """`1 / (1 + exp(-x))`."""
    rounded = _rounding(node)
    return reciprocal(rounded(rounded(exp(-x)) + 1))


@_formula("Softplus")
def softplus(node: NodeView, x: Term) -> Term:
    """`max(x, 0) + log(1 + exp(-|x|))`: `log(1 + exp(x))` without its overflow."""
    rounded = _rounding(node)
    logarithm = rounded(log1p(rounded(exp(-absolute(x)))))
    return maximum(x, 0) + logarithm


@_formula("Softsign")
def softsign(node: NodeView, x: Term) -> Term:
    """`x / (1 + |x|)`."""
    return x / _rounding(node)(absolute(x) + 1)


@_formula("Threshold")
def threshold(node: NodeView, x: Term) -> Term:
    """1 above the threshold, 0 elsewhere and for NaN."""
    return as_number(x > node.number("threshold"))


# x times a share of itself ----------------------------------------------------------------------

_CUBIC = 0.044715
_SLOPE = 2 * sqrt(2 / pi)


APPROXIMATIONS = ("none", "tanh")
"""Values of `approximate` of a Gelu."""


def gelu_by_tanh(_node: NodeView, x: Term) -> Term:
    """`x / (1 + exp(-2 * sqrt(2 / pi) * (x + 0.044715 * x^3)))`.

    It is `x * (1 + tanh(z)) / 2` as `x / (1 + exp(-2 z))`, which loses nothing for z far below 0.
    """
    return x / (exp((x * x * (-_SLOPE * _CUBIC) - _SLOPE) * x) + 1)


@_formula("Swish")
def swish(node: NodeView, x: Term) -> Term:
    """`x / (1 + exp(-scale * x))`."""
    return x / (exp(x * -node.number("scale")) + 1)


@_formula("HardSwish")
def hard_swish(_node: NodeView, x: Term) -> Term:
    """`x * min(max(x + 3, 0), 6) / 6`."""
    return x * (clip(x + 3, 0, 6) * (1 / 6))


# Arithmetic with numbers ------------------------------------------------------------------------


@_formula("Adds")
def adds(node: NodeView, x: Term) -> Term:
    """`x + value`."""
    return x + node.number("value")


@_formula("Muls")
def muls(node: NodeView, x: Term) -> Term:
    """`x * value`."""
    return x * node.number("value")


@_formula("Rsqrt")
def rsqrt(_node: NodeView, x: Term) -> Term:
    """`1 / sqrt(x)`, the root rounded to the dtype that it is computed in."""
    return 1 / square_root(x)


def polynomial(coefficients: Sequence[float], x: Term) -> Term:
    """The sum of coefficients times powers of x, lowest first, by Horner's rule."""
    result = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        result = (result + coefficient) * x
    return result + coefficients[0]


# Activations of recurrent layers ----------------------------------------------------------------

GATES: dict[str, Callable[[Term, float, float], Term]] = {
    "affine": lambda x, alpha, beta: x * alpha + beta,
    "elu": lambda x, alpha, _: where(x >= 0, x, expm1_of_negative(minimum(x, 0)) * alpha),
    "hardsigmoid": lambda x, alpha, beta: clip(x * alpha + beta, 0, 1),
    "leakyrelu": lambda x, alpha, _: where(x >= 0, x, x * alpha),
    "relu": lambda x, _alpha, _beta: maximum(x, 0),
    "scaledtanh": lambda x, alpha, beta: tanh(x * beta) * alpha,
    "sigmoid": lambda x, _alpha, _beta: reciprocal(exp(-x) + 1),
    "softplus": lambda x, _alpha, _beta: step("softplus", x),
    "softsign": lambda x, _alpha, _beta: x / (absolute(x) + 1),
    "tanh": lambda x, _alpha, _beta: tanh(x),
    "thresholdedrelu": lambda x, alpha, _: where(x >= alpha, x, 0),
}
"""By ONNX's name in small letters, of x, alpha and beta, as the definition of its LSTM lists them."""
