"""Activations: functions of each element that networks put between their layers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.ort.body import Body
from atc_py.device.ort.exponentials import exponential_less_1, logarithm_of_1_more
from atc_py.device.ort.numbers import number
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType

_SELU_ALPHA, _SELU_SCALE = 1.6732631921768188, 1.0507010221481323
"""Klambauer et al. 2017, as float32 holds them, which is how ONNX states them."""


def _attribute(body: Body, name: str) -> str:
    return number(body, body.node.number(name))


def _rounds_steps(body: Body) -> bool:
    """True of the implementation that rounds each step; only float16 has several."""
    mode = body.node.attributes.get("impl_mode")
    return body.node.dtype() is DType.FLOAT16 and mode == "high_performance"


def _step(body: Body, value: str) -> str:
    """The result of a step, rounded to float16 where the implementation does so."""
    return body.rounded(value, DType.FLOAT16) if _rounds_steps(body) else value


@emulates("Celu")
def celu(body: Body) -> str:
    """Write `y = max(0, alpha3 * x) + min(0, alpha1 * (exp(x / alpha2) - 1))`."""
    x, zero = body.x(), number(body, 0)
    below = exponential_less_1(body, body.add("Div", x, _attribute(body, "alpha2")))
    below = body.add("Min", body.add("Mul", below, _attribute(body, "alpha1")), zero)
    above = body.add("Max", body.add("Mul", x, _attribute(body, "alpha3")), zero)
    return body.add("Add", above, below)


@emulates("Elu")
def elu(body: Body) -> str:
    """Write `y = scale * x`, or `alpha * scale * (exp(input_scale * x) - 1)` below 0."""
    alpha, scale, input_scale = map(body.node.number, ("alpha", "scale", "input_scale"))
    return _of_sides(body, alpha * scale, scale, input_scale)


@emulates("Selu")
def selu(body: Body) -> str:
    """Write `y = scale * x`, or `alpha * scale * (exp(x) - 1)` below 0."""
    return _of_sides(body, _SELU_ALPHA * _SELU_SCALE, _SELU_SCALE, 1.0)


def _of_sides(body: Body, below: float, above: float, inner: float) -> str:
    """`above * max(x, 0) + below * (exp(inner * min(x, 0)) - 1)`."""
    x, zero = body.x(), number(body, 0)
    held = body.add("Min", x, zero)
    held = held if inner == 1 else body.add("Mul", held, number(body, inner))
    power = exponential_less_1(body, held, negative=inner >= 0)
    power = power if below == 1 else body.add("Mul", power, number(body, below))
    line = body.add("Relu", x)
    line = line if above == 1 else body.add("Mul", line, number(body, above))
    return body.add("Add", line, power)


@emulates("HardSigmoid")
def hard_sigmoid(body: Body) -> str:
    """Write `y = max(0, min(1, alpha * x + beta))`; NaN stays NaN."""
    line = body.add("Mul", body.x(), _attribute(body, "alpha"))
    line = body.add("Add", line, _attribute(body, "beta"))
    return body.add("Clip", line, number(body, 0), number(body, 1))


@emulates("LeakyRelu")
def leaky_relu(body: Body) -> str:
    """Write `y = x` for x >= 0, `negative_slope * x` below."""
    x = body.x()
    if body.node.dtype() is not DType.FLOAT64:
        return body.add("LeakyRelu", x, alpha=body.node.number("negative_slope"))
    return _sloped(body, x, _attribute(body, "negative_slope"))


@emulates("PRelu")
def prelu(body: Body) -> str:
    """Write `y = x` for x >= 0, `weight * x` below, with a weight for each channel on axis 1."""
    x, weight = body.x(), _weight(body)
    if body.node.dtype() is not DType.FLOAT64:
        return body.add("PRelu", x, weight)
    return _sloped(body, x, weight)


def _weight(body: Body) -> str:
    shared = body.node.required(1).dims in {(1,), ()}
    shape = () if shared else (-1, *(1,) * (body.node.rank() - 2))
    if 1 not in body.node.constants:
        return body.add("Reshape", body.x(1), body.ints(*shape))
    wide = DType.FLOAT64 if body.node.dtype() is DType.FLOAT64 else DType.FLOAT32

    def along_channels(weight: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(weight).reshape(shape).astype(wide.numpy)

    return body.form(1, f"slopes_of_{body.node.rank()}_axes", along_channels)


def _sloped(body: Body, x: str, slope: str) -> str:
    """X, or `slope * x` below 0."""
    below = body.add("Less", x, number(body, 0))
    return body.add("Where", below, body.add("Mul", x, slope), x)


@emulates("Shrink")
def shrink(body: Body) -> str:
    """Write `y = x + bias` below -lambd, else `x - bias` above lambd, else 0, also for NaN."""
    x, bias, lambd = body.x(), _attribute(body, "bias"), body.node.number("lambd")
    above = body.add("Greater", x, number(body, lambd))
    kept = body.add("Where", above, body.add("Sub", x, bias), number(body, 0))
    below = body.add("Less", x, number(body, -lambd))
    return body.add("Where", below, body.add("Add", x, bias), kept)


@emulates("Sigmoid")
def sigmoid(body: Body) -> str:
    """Write `y = 1 / (1 + exp(-x))`.

    Runtimes' own sigmoid is quicker, and off by 1e-7, which is a step of the smallest float16 or
    two; small results of other dtypes would not be right.
    """
    x = body.x()
    if body.node.dtype() is DType.FLOAT16 and not _rounds_steps(body):
        return body.add("Sigmoid", x)
    power = _step(body, body.add("Exp", body.add("Neg", x)))
    return body.add("Reciprocal", _step(body, body.add("Add", power, number(body, 1))))


@emulates("Softplus")
def softplus(body: Body) -> str:
    """Write `y = max(x, 0) + log(1 + exp(-|x|))`."""
    x = body.x()
    if body.node.dtype() is not DType.FLOAT64 and not _rounds_steps(body):
        return body.add("Softplus", x)
    power = _step(body, body.add("Exp", body.add("Neg", body.add("Abs", x))))
    logarithm = _step(body, logarithm_of_1_more(body, power))
    return body.add("Add", body.add("Max", x, number(body, 0)), logarithm)


@emulates("Softsign")
def softsign(body: Body) -> str:
    """Write `y = x / (1 + |x|)`."""
    x = body.x()
    return body.add("Div", x, _step(body, body.add("Add", body.add("Abs", x), number(body, 1))))


@emulates("Threshold")
def threshold(body: Body) -> str:
    """Write `y = 1` above the threshold, 0 elsewhere and for NaN."""
    above = body.add("Greater", body.x(), _attribute(body, "threshold"))
    return body.cast(above, body.node.dtype())
