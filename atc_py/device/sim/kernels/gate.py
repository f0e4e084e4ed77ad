"""Activations that multiply x with a share of itself: GELU, Swish, HardSwish.

All compute in float32 where the operand is float16 and are rounded once.
"""

from math import pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, kernel
from atc_py.device.sim.numerics.erf import ERF_END, ERF_P, ERF_Q
from atc_py.device.sim.primitives.blocks import by_blocks
from atc_py.device.sim.typing_rules import require_float, same_float_as_x
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_APPROXIMATIONS = ("none", "tanh")

_CUBIC = 0.044715
_SLOPE = 2 * sqrt(2 / pi)

# Phi(x) - 1 / 2 = h * P(h^2) / Q(h^2) for |x| up to _END, h = x held to that range; beyond it
# Phi is 0 or 1 in float32 to 3e-8. P and Q are those of erf at x / sqrt(2), see `sim.erf`, with
# the factors of 1 / 2 and sqrt(2) multiplied in; all are positive, so nothing cancels in them.
_END = ERF_END * sqrt(2)
_P = tuple(np.float32(p / (2 * sqrt(2) * 2**power)) for power, p in enumerate(ERF_P))
_Q = tuple(np.float32(q / 2**power) for power, q in enumerate(ERF_Q))


def _gelu_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The type of x, a float that float32 carries."""
    require_float(node.x)
    if node.x.dtype is DType.FLOAT64:
        raise NodeError(Text("GELU is computed in float32, found float64"))
    if node.text("approximate") not in _APPROXIMATIONS:
        found = node.text("approximate")
        text = Text("approximate must be one of {known}, found {found}")
        raise NodeError(text.with_values(known=", ".join(_APPROXIMATIONS), found=repr(found)))
    return (node.x,)


@kernel("GeluV2", _gelu_types, in_place=True, finishes=True)
def gelu(call: Call) -> None:
    """Compute `x * Phi(x)`, or `x / (1 + exp(-2 * sqrt(2 / pi) * (x + 0.044715 * x^3)))` (tanh)."""
    by_tanh = call.node.text("approximate") == "tanh"
    by_blocks(call, _gelu_by_tanh if by_tanh else _gelu_by_erf)


def _gelu_by_erf(x: NDArray[Any], out: NDArray[Any], scratch: NDArray[Any]) -> None:
    """Compute `y = x * (1 / 2 + h * P(h^2) / Q(h^2))`; a sum negative by rounding is 0."""
    held = np.clip(x, -_END, _END)
    square = np.multiply(held, held)
    _horner(_P, square, scratch)
    np.multiply(held, scratch, out=held)
    np.divide(held, _horner(_Q, square, scratch), out=held)
    np.add(held, np.float32(0.5), out=held)
    np.maximum(held, np.float32(0), out=held)
    np.multiply(x, held, out=out)


def _horner(
    coefficients: tuple[np.float32, ...], x: NDArray[Any], out: NDArray[Any]
) -> NDArray[Any]:
    """The sum of coefficients times powers of x, lowest first."""
    np.multiply(x, coefficients[-1], out=out)
    for coefficient in coefficients[-2:0:-1]:
        np.add(out, coefficient, out=out)
        np.multiply(out, x, out=out)
    np.add(out, coefficients[0], out=out)
    return out


def _gelu_by_tanh(x: NDArray[Any], out: NDArray[Any], scratch: NDArray[Any]) -> None:
    """Compute `(1 + tanh(z)) / 2 = 1 / (1 + exp(-2 z))`, which loses nothing for z far below 0."""
    np.multiply(x, x, out=scratch)
    np.multiply(scratch, np.float32(-_SLOPE * _CUBIC), out=scratch)
    np.subtract(scratch, np.float32(_SLOPE), out=scratch)
    np.multiply(scratch, x, out=scratch)
    _divide_by_one_more_than_exp(x, scratch, out)


@kernel("Swish", same_float_as_x, in_place=True, finishes=True)
def swish(call: Call) -> None:
    """Compute `y = x / (1 + exp(-scale * x))`."""
    scale = -call.node.number("scale")

    def formula(x: NDArray[Any], out: NDArray[Any], scratch: NDArray[Any]) -> None:
        np.multiply(x, x.dtype.type(scale), out=scratch)
        _divide_by_one_more_than_exp(x, scratch, out)

    by_blocks(call, formula)


def _divide_by_one_more_than_exp(
    x: NDArray[Any], exponent: NDArray[Any], out: NDArray[Any]
) -> None:
    """Compute `x / (1 + exp(exponent))`, with `exponent` as scratch."""
    np.exp(exponent, out=exponent)
    np.add(exponent, x.dtype.type(1), out=exponent)
    np.divide(x, exponent, out=out)


@kernel("HardSwish", same_float_as_x, in_place=True, finishes=True)
def hard_swish(call: Call) -> None:
    """Compute `y = x * min(max(x + 3, 0), 6) / 6`."""

    def formula(x: NDArray[Any], out: NDArray[Any], scratch: NDArray[Any]) -> None:
        np.add(x, x.dtype.type(3), out=scratch)
        np.clip(scratch, 0, 6, out=scratch)
        np.multiply(scratch, x.dtype.type(1 / 6), out=scratch)
        np.multiply(x, scratch, out=out)

    by_blocks(call, formula)
