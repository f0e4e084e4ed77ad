"""Functions of one element."""

from math import sqrt

import numpy as np

from atc_py.device.formulas import (
    APPROXIMATIONS,
    FORMULAS,
    Formula,
    Term,
    clip,
    elu,
    equal,
    expm1_of_negative,
    gelu_by_tanh,
    maximum,
    minimum,
    polynomial,
    square_root,
    step,
    where,
)
from atc_py.device.sim.kernel import Call, Launch, Rounding, TypeRule, bound_kernel, kernel
from atc_py.device.sim.primitives.blocks import by_formula
from atc_py.device.sim.typing_rules import (
    one_dtype,
    require_float,
    require_rank,
    same_as_x,
    same_float_as_x,
)
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

# erf(x) = x * P(x^2) / Q(x^2) up to _ERF_END, from where on it is 1 in float32. The coefficients,
# lowest power first, are a fit of least relative error, 2e-8; all are positive, so nothing cancels.
_ERF_END = 3.93
_ERF_P = (
    1.128379145,
    1.907806610e-01,
    5.278983263e-02,
    3.779465147e-03,
    2.848040575e-04,
    2.041977401e-06,
)
_ERF_Q = (
    1.0,
    5.024076788e-01,
    1.142561816e-01,
    1.499714820e-02,
    1.165175437e-03,
    3.800390726e-05,
)


def _number_types(node: NodeView) -> tuple[TensorFacts, ...]:
    if node.x.dtype is DType.BOOL:
        raise NodeError(Text("the kernel computes numbers, found bool"))
    return (node.x,)


def _natural_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    node.expect("base", -1.0)
    node.expect("scale", 1.0)
    node.expect("shift", 0.0)
    return (node.x,)


def _round_types(node: NodeView) -> tuple[TensorFacts, ...]:
    node.expect("decimals", 0)
    return _number_types(node)


def _tan_types(node: NodeView) -> tuple[TensorFacts, ...]:
    return same_as_x(node) if node.x.dtype is DType.INT32 else same_float_as_x(node)


def _erf_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    if node.x.dtype is DType.FLOAT64:
        raise NodeError(Text("erf is computed in float32, found float64"))
    return (node.x,)


def _gelu_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    if node.x.dtype is DType.FLOAT64:
        raise NodeError(Text("GELU is computed in float32, found float64"))
    if node.text("approximate") not in APPROXIMATIONS:
        found = node.text("approximate")
        text = Text("approximate must be one of {known}, found {found}")
        raise NodeError(text.with_values(known=", ".join(APPROXIMATIONS), found=repr(found)))
    return (node.x,)


def _prelu_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The type of x; the weight is a vector of one element or of x's channels.

    Slopes for float16 may be float32: the fix pipe of real models takes them so.
    """
    x, weight = node.x, node.required(1)
    require_float(x)
    if (x.dtype, weight.dtype) != (DType.FLOAT16, DType.FLOAT32):
        one_dtype(node.present)
    require_rank(weight, 1, "weight")
    if weight.elements != 1 and weight.shape != x.shape[1:2]:
        text = Text("weight must be one element or one for each channel of {x}, found {found}")
        raise NodeError(text.with_values(x=x, found=weight))
    return (x,)


def _round(node: NodeView, x: Term) -> Term:
    """The nearest integers, the even ones of two; integers stay as they are."""
    return step("rint" if node.x.dtype.is_float else "positive", x)


def _tan(node: NodeView, x: Term) -> Term:
    """The tangent; that of int32 in float32, with its fraction cut off."""
    return step("tan" if node.x.dtype.is_float else "tan of integers", x)


def _erf(_node: NodeView, x: Term) -> Term:
    held = clip(x, -_ERF_END, _ERF_END)
    square = held * held
    return clip(held * polynomial(_ERF_P, square) / polynomial(_ERF_Q, square), -1, 1)


# Phi(x) - 1 / 2 = h * P(h^2) / Q(h^2) for |x| up to _END, h = x held to that range; beyond it
# Phi is 0 or 1 in float32 to 3e-8. P and Q are those of erf at x / sqrt(2), with
# the factors of 1 / 2 and sqrt(2) multiplied in; all are positive, so nothing cancels in them.
_END = _ERF_END * sqrt(2)
_P = tuple(p / (2 * sqrt(2) * 2**power) for power, p in enumerate(_ERF_P))
_Q = tuple(q / 2**power for power, q in enumerate(_ERF_Q))


def _gelu(node: NodeView, x: Term) -> Term:
    """`x * Phi(x)`, or its approximation by tanh; a sum negative by rounding is 0."""
    if node.text("approximate") == "tanh":
        return gelu_by_tanh(node, x)
    held = clip(x, -_END, _END)
    square = held * held
    share = held * polynomial(_P, square) / polynomial(_Q, square) + 0.5
    return x * maximum(share, 0)


def _elu(node: NodeView, x: Term) -> Term:
    """Elu that keeps -0.

    For alpha up to 1 it is the larger of x and what is below 0. -0 is the second operand of a
    minimum, which it gives of equal ones where it does not tell them apart.
    """
    alpha, scale = node.number("alpha"), node.number("scale")
    if 0 <= alpha <= 1 and scale == node.number("input_scale") == 1:
        below = expm1_of_negative(minimum(0, x))
        return maximum(x, below if alpha == 1 else below * alpha)
    return where(equal(x, 0), x if scale > 0 else x * scale, elu(node, x))


def _leaky_relu(node: NodeView, x: Term) -> Term:
    """`x` for x >= 0, -0 included, `negative_slope * x` below.

    It is the larger of the two for slopes up to 1, the smaller one for steeper ones.
    """
    slope = node.number("negative_slope")
    if slope > 0:
        return (maximum if slope <= 1 else minimum)(x, x * slope)
    return step("maximum, zeros of the first", x, minimum(x, 0) * slope)


_ROOT = 0.5
"""The exponent for which numpy takes the square root."""


def _power(node: NodeView, x: Term) -> Term:
    """`(scale * x + shift)^power`, NaN of what is negative unless power is whole.

    Of an exponent of 1 / 2 numpy takes the square root, NaN of -inf and -0 of -0, where the power
    is inf and 0, as it is among other exponents.
    """
    base, exponent = x * node.number("scale") + node.number("shift"), node.number("power")
    if exponent != _ROOT:
        return step("power", base, exponent)
    base = base + 0
    return where(equal(base, -np.inf), np.inf, square_root(base))


def _declare(
    op: str,
    formula: str | Formula | None = None,
    types: TypeRule = same_float_as_x,
    rounding: Rounding = Rounding.BOUNDARY,
) -> None:
    """Register the kernel of a formula, of one function of numpy, or of the operator's formula."""
    steps = (lambda _, x: step(formula, x)) if isinstance(formula, str) else formula

    @bound_kernel(op, types, rounding=rounding, in_place=True, finishes=True)
    def bind(call: Call) -> Launch:
        return by_formula(call, steps)


_declare("Abs", "absolute", _number_types, Rounding.ON_GRID)
_declare("Acos", "arccos")
_declare("Acosh", "arccosh")
_declare("Asin", "arcsin")
_declare("Asinh", "arcsinh")
_declare("Atan", "arctan")
_declare("Atanh", "arctanh")
_declare("Ceil", "ceil", rounding=Rounding.ON_GRID)
_declare("Cos", "cos")
_declare("Cosh", "cosh")
_declare("Elu", _elu)
_declare("Erf", _erf, _erf_types)
_declare("Exp", "exp", _natural_types)
_declare("Floor", "floor", rounding=Rounding.ON_GRID)
_declare("GeluV2", _gelu, _gelu_types)
_declare("LeakyRelu", _leaky_relu)
_declare("Log", "log", _natural_types)
_declare("Neg", "negative", _number_types, Rounding.ON_GRID)
_declare("Power", _power)
_declare("Reciprocal", "reciprocal")
_declare("Round", _round, _round_types, Rounding.ON_GRID)
_declare("Sign", "sign", _number_types, Rounding.ON_GRID)
_declare("Sin", "sin")
_declare("Sinh", "sinh")
_declare("Sqrt", "sqrt")
_declare("Tan", _tan, _tan_types)
_declare("Tanh", "tanh")
_declare("Threshold", rounding=Rounding.ON_GRID)
for _op in FORMULAS:
    if _op not in {"Elu", "Threshold"}:
        _declare(_op)


@kernel("PRelu", _prelu_types)
def prelu(call: Call) -> None:
    """Compute `y = x` for x >= 0, `weight * x` below, with a weight for each channel on axis 1."""
    weight = call.input(1)
    shape = () if weight.size == 1 else (-1, *(1,) * (call.x.ndim - 2))
    np.multiply(call.x, weight.reshape(shape), out=call.out)
    np.copyto(call.out, call.x, where=call.x >= 0)
