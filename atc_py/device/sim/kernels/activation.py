"""Activations: functions of each element that networks put between their layers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Rounding, kernel
from atc_py.device.sim.numerics.implementations import step_of
from atc_py.device.sim.primitives.blocks import Formula, by_blocks
from atc_py.device.sim.typing_rules import one_dtype, require_float, require_rank, same_float_as_x
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.text import Text

_SELU_ALPHA, _SELU_SCALE = 1.6732631921768188, 1.0507010221481323
"""Klambauer et al. 2017, as float32 holds them, which is how ONNX states them."""


@kernel("Celu", same_float_as_x, in_place=True, finishes=True)
def celu(call: Call) -> None:
    """Compute `y = max(0, alpha3 * x) + min(0, alpha1 * (exp(x / alpha2) - 1))`."""
    first, second, third = (call.node.number(f"alpha{number}") for number in (1, 2, 3))

    def formula(x: NDArray[Any], out: NDArray[Any], scratch: NDArray[Any]) -> None:
        real = x.dtype.type
        np.divide(x, real(second), out=scratch)
        np.expm1(scratch, out=scratch)
        np.multiply(scratch, real(first), out=scratch)
        np.minimum(scratch, real(0), out=scratch)
        np.multiply(x, real(third), out=out)
        np.maximum(out, real(0), out=out)
        np.add(out, scratch, out=out)

    by_blocks(call, formula)


@kernel("Elu", same_float_as_x, in_place=True, finishes=True)
def elu(call: Call) -> None:
    """Compute `scale * x`, or `alpha * scale * (exp(input_scale * x) - 1)` below 0; keep -0."""
    node = call.node
    alpha, scale = node.number("alpha"), node.number("scale")
    input_scale = node.number("input_scale")
    plain = 0 <= alpha <= 1 and scale == input_scale == 1
    by_blocks(call, _elu_above_x(alpha) if plain else _elu_of_sides(alpha, scale, input_scale))


def _elu_above_x(alpha: float) -> Formula:
    """Compute elu as the larger of x and `alpha * (exp(min(x, 0)) - 1)`, for alpha up to 1.

    -0 is the second operand, which a minimum of equal ones gives where it does not tell them apart.
    """

    def formula(x: NDArray[Any], out: NDArray[Any], scratch: NDArray[Any]) -> None:
        real = x.dtype.type
        np.minimum(real(0), x, out=scratch)
        np.expm1(scratch, out=scratch)
        if alpha != 1:
            np.multiply(scratch, real(alpha), out=scratch)
        np.maximum(x, scratch, out=out)

    return formula


def _elu_of_sides(alpha: float, scale: float, input_scale: float) -> Formula:
    """Elu as the sum of what both sides of 0 give, one of which is 0; zeros are put back."""

    def formula(x: NDArray[Any], out: NDArray[Any], scratch: NDArray[Any]) -> None:
        real, zeros = x.dtype.type, np.flatnonzero(x == 0)
        kept = x[zeros] * real(scale)
        np.minimum(x, real(0), out=scratch)
        np.multiply(scratch, real(input_scale), out=scratch)
        np.expm1(scratch, out=scratch)
        np.multiply(scratch, real(alpha * scale), out=scratch)
        np.maximum(x, real(0), out=out)
        np.multiply(out, real(scale), out=out)
        np.add(out, scratch, out=out)
        out[zeros] = kept

    return formula


@kernel("Selu", same_float_as_x, in_place=True, finishes=True)
def selu(call: Call) -> None:
    """Compute `y = scale * x` above 0, else `alpha * scale * (exp(x) - 1)`; -0 gives 0.

    It is the sum of what both make of x held to their side of 0; one of the two is 0. The constants
    are those of self-normalizing networks.
    """

    def formula(x: NDArray[Any], out: NDArray[Any], scratch: NDArray[Any]) -> None:
        real = x.dtype.type
        np.minimum(x, real(0), out=scratch)
        np.expm1(scratch, out=scratch)
        np.multiply(scratch, real(_SELU_ALPHA * _SELU_SCALE), out=scratch)
        np.maximum(x, real(0), out=out)
        np.multiply(out, real(_SELU_SCALE), out=out)
        np.add(out, scratch, out=out)

    by_blocks(call, formula)


@kernel("HardSigmoid", same_float_as_x, in_place=True, finishes=True)
def hard_sigmoid(call: Call) -> None:
    """Compute `y = max(0, min(1, alpha * x + beta))`; NaN stays NaN."""
    alpha, beta = call.node.number("alpha"), call.node.number("beta")

    def formula(x: NDArray[Any], out: NDArray[Any], _: NDArray[Any]) -> None:
        np.multiply(x, x.dtype.type(alpha), out=out)
        np.add(out, x.dtype.type(beta), out=out)
        np.clip(out, 0, 1, out=out)

    by_blocks(call, formula)


@kernel("LeakyRelu", same_float_as_x, in_place=True, finishes=True)
def leaky_relu(call: Call) -> None:
    """Compute `y = x` for x >= 0, -0 included, `negative_slope * x` below.

    It is the larger of the two for slopes up to 1, the smaller one for steeper ones. For slopes
    that do not rise, zeros are put back.
    """
    slope = call.node.number("negative_slope")

    def formula(x: NDArray[Any], out: NDArray[Any], scratch: NDArray[Any]) -> None:
        factor = x.dtype.type(slope)
        if factor > 0:
            np.multiply(x, factor, out=scratch)
            (np.maximum if factor <= 1 else np.minimum)(x, scratch, out=out)
            return
        zeros = np.flatnonzero(x == 0)
        kept = x[zeros]
        np.minimum(x, x.dtype.type(0), out=scratch)
        np.multiply(scratch, factor, out=scratch)
        np.maximum(x, scratch, out=out)
        out[zeros] = kept

    by_blocks(call, formula)


def _prelu_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The type of x; the weight is a vector of one element or of x's channels."""
    x, weight = node.x, node.required(1)
    require_float(x)
    one_dtype(node.present)
    require_rank(weight, 1, "weight")
    if weight.elements != 1 and weight.shape != x.shape[1:2]:
        text = Text("weight must be one element or one for each channel of {x}, found {found}")
        raise NodeError(text.with_values(x=x, found=weight))
    return (x,)


@kernel("PRelu", _prelu_types)
def prelu(call: Call) -> None:
    """Compute `y = x` for x >= 0, `weight * x` below, with a weight for each channel on axis 1."""
    weight = call.input(1)
    shape = () if weight.size == 1 else (-1, *(1,) * (call.x.ndim - 2))
    np.multiply(call.x, weight.reshape(shape), out=call.out)
    np.copyto(call.out, call.x, where=call.x >= 0)


@kernel("Shrink", same_float_as_x, in_place=True, finishes=True)
def shrink(call: Call) -> None:
    """Compute `y = x + bias` below -lambd, else `x - bias` above lambd, else 0, also for NaN."""
    lambd, bias = call.node.number("lambd"), call.node.number("bias")

    def formula(x: NDArray[Any], out: NDArray[Any], scratch: NDArray[Any]) -> None:
        limit, step = x.dtype.type(lambd), x.dtype.type(bias)
        below, above = x < -limit, x > limit
        np.subtract(x, step, out=scratch)
        np.copyto(scratch, 0, where=~above)
        np.add(x, step, out=out)
        np.copyto(out, scratch, where=~below)

    by_blocks(call, formula)


@kernel("Sigmoid", same_float_as_x, in_place=True, finishes=True)
def sigmoid(call: Call) -> None:
    """Compute `y = 1 / (1 + exp(-x))`."""
    step = step_of(call)

    def formula(x: NDArray[Any], out: NDArray[Any], _: NDArray[Any]) -> None:
        np.negative(x, out=out)
        step(np.exp(out, out=out))
        step(np.add(out, x.dtype.type(1), out=out))
        np.reciprocal(out, out=out)

    by_blocks(call, formula)


@kernel("Softplus", same_float_as_x, in_place=True, finishes=True)
def softplus(call: Call) -> None:
    """Compute `y = max(x, 0) + log(1 + exp(-|x|))`: `log(1 + exp(x))` without its overflow."""
    step = step_of(call)

    def formula(x: NDArray[Any], out: NDArray[Any], scratch: NDArray[Any]) -> None:
        np.absolute(x, out=scratch)
        np.negative(scratch, out=scratch)
        step(np.exp(scratch, out=scratch))
        step(np.log1p(scratch, out=scratch))
        np.maximum(x, x.dtype.type(0), out=out)
        np.add(out, scratch, out=out)

    by_blocks(call, formula)


@kernel("Softsign", same_float_as_x, in_place=True, finishes=True)
def softsign(call: Call) -> None:
    """Compute `y = x / (1 + |x|)`."""
    step = step_of(call)

    def formula(x: NDArray[Any], out: NDArray[Any], scratch: NDArray[Any]) -> None:
        np.absolute(x, out=scratch)
        step(np.add(scratch, x.dtype.type(1), out=scratch))
        np.divide(x, scratch, out=out)

    by_blocks(call, formula)


@kernel("Threshold", same_float_as_x, rounding=Rounding.ON_GRID, in_place=True, finishes=True)
def threshold(call: Call) -> None:
    """Compute `y = 1` above the threshold, 0 elsewhere and for NaN."""
    bound = call.node.number("threshold")
    by_blocks(call, lambda x, out, _: np.copyto(out, np.greater(x, x.dtype.type(bound))))
