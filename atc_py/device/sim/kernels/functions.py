"""Elementary functions of each element."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Rounding, kernel
from atc_py.device.sim.numerics.erf import ERF_END, ERF_P, ERF_Q
from atc_py.device.sim.primitives.blocks import by_blocks
from atc_py.device.sim.typing_rules import require_float, same_float_as_x
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


def _number_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The type of x, which must not be bool."""
    if node.x.dtype is DType.BOOL:
        raise NodeError(Text("the kernel computes numbers, found bool"))
    return (node.x,)


def _natural_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The type of x, a float; base e, and nothing done to x, is all there is."""
    require_float(node.x)
    node.expect("base", -1.0)
    node.expect("scale", 1.0)
    node.expect("shift", 0.0)
    return (node.x,)


def _round_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The type of x, numbers that keep no decimals."""
    node.expect("decimals", 0)
    return _number_types(node)


def _declare(
    op: str,
    function: np.ufunc,
    types: Callable[[NodeView], tuple[TensorFacts, ...]] = same_float_as_x,
    rounding: Rounding = Rounding.BOUNDARY,
) -> None:

    @kernel(op, types, rounding=rounding, in_place=True, finishes=True)
    def run(call: Call) -> None:
        by_blocks(call, lambda x, out, _: function(x, out=out))


_declare("Abs", np.absolute, _number_types, Rounding.ON_GRID)
_declare("Acos", np.arccos)
_declare("Acosh", np.arccosh)
_declare("Asin", np.arcsin)
_declare("Asinh", np.arcsinh)
_declare("Atan", np.arctan)
_declare("Atanh", np.arctanh)
_declare("Ceil", np.ceil, rounding=Rounding.ON_GRID)
_declare("Cos", np.cos)
_declare("Cosh", np.cosh)
_declare("Exp", np.exp, _natural_types)
_declare("Floor", np.floor, rounding=Rounding.ON_GRID)
_declare("Log", np.log, _natural_types)
_declare("Neg", np.negative, _number_types, Rounding.ON_GRID)
_declare("Reciprocal", np.reciprocal)
_declare("Sign", np.sign, _number_types, Rounding.ON_GRID)
_declare("Sin", np.sin)
_declare("Sinh", np.sinh)
_declare("Sqrt", np.sqrt)
_declare("Tanh", np.tanh)


@kernel("Round", _round_types, rounding=Rounding.ON_GRID, in_place=True, finishes=True)
def rounded(call: Call) -> None:
    """Find the nearest integers, the even ones of two; integers stay as they are."""
    round_ = np.rint if call.x.dtype.kind == "f" else np.positive

    def nearest(x: NDArray[Any], out: NDArray[Any], _: NDArray[Any]) -> None:
        round_(x, out=out)

    by_blocks(call, nearest)


def _tan_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The type of x, a float or int32."""
    if node.x.dtype is not DType.INT32:
        require_float(node.x)
    return (node.x,)


@kernel("Tan", _tan_types, in_place=True, finishes=True)
def tan(call: Call) -> None:
    """Compute the tangent; that of int32 in float32, with its fraction cut off."""

    def of_integers(x: NDArray[Any], out: NDArray[Any], _: NDArray[Any]) -> None:
        np.copyto(out, np.tan(x.astype(np.float32)), casting="unsafe")

    def of_floats(x: NDArray[Any], out: NDArray[Any], _: NDArray[Any]) -> None:
        np.tan(x, out=out)

    by_blocks(call, of_floats if call.node.x.dtype.is_float else of_integers)


@kernel("Rsqrt", same_float_as_x, in_place=True, finishes=True)
def rsqrt(call: Call) -> None:
    """Compute `1 / sqrt(x)`, the root rounded to the carrier's dtype."""

    def formula(x: NDArray[Any], out: NDArray[Any], _: object) -> None:
        np.divide(1, np.sqrt(x, out=out), out=out)

    by_blocks(call, formula)


def _erf_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The type of x, a float that float32 carries."""
    require_float(node.x)
    if node.x.dtype is DType.FLOAT64:
        raise NodeError(Text("erf is computed in float32, found float64"))
    return (node.x,)


@kernel("Erf", _erf_types, in_place=True, finishes=True)
def erf(call: Call) -> None:
    """Compute the Gauss error function, right to about 3 units in the last place of float32."""

    def formula(x: NDArray[Any], out: NDArray[Any], scratch: NDArray[Any]) -> None:
        held = np.clip(x, -ERF_END, ERF_END)
        square = np.multiply(held, held, out=scratch)
        np.multiply(held, _polynomial(ERF_P, square), out=out)
        np.divide(out, _polynomial(ERF_Q, square), out=out)
        np.clip(out, -1, 1, out=out)

    by_blocks(call, formula)


def _polynomial(coefficients: Sequence[float], x: NDArray[Any]) -> NDArray[Any]:
    """The sum of coefficients times powers of x, lowest first, by Horner's rule."""
    result = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        np.multiply(result, x, out=result)
        np.add(result, x.dtype.type(coefficient), out=result)
    return result
