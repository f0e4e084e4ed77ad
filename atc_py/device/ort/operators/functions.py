"""Functions of one element."""

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.formulas import APPROXIMATIONS, FORMULAS, gelu_by_tanh, rounds_steps
from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.doubles import DOUBLES, tan_of_double
from atc_py.device.ort.formulas import steps_of, written
from atc_py.device.ort.node import NoFormError
from atc_py.device.ort.numbers import carried, carrier, number, returned, truncated
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


def _declare_of_doubles(op: str) -> None:
    @emulates(op)
    def write(body: Body) -> str:
        if body.node.dtype() is DType.FLOAT64:
            return steps_of(body, body.own(), DOUBLES[op])
        return body.add(op, body.x())

    row = find_operator(op)
    write.__doc__ = f"Write {op} of ONNX: {row.summary if row else ''}"


for _op in DOUBLES:
    _declare_of_doubles(_op)


def _declare_formula(op: str) -> None:
    @emulates(op)
    def write(body: Body) -> str:
        return written(body)

    write.__doc__ = f"Write {inspect.getdoc(FORMULAS[op])}"


for _op in FORMULAS:
    if _op not in {"Sigmoid", "Softplus", "Swish"}:
        _declare_formula(_op)


@emulates("Erf")
def erf(body: Body) -> str:
    """Write the Gauss error function."""
    if body.node.dtype() is DType.FLOAT64:
        raise NoFormError(Text("ONNX's operator is computed in float32, and the data are float64"))
    return body.add("Erf", body.x())


@emulates("Exp", "Log")
def natural(body: Body) -> str:
    """Write `e^x`, or the natural logarithm."""
    for name, expected in (("base", -1.0), ("scale", 1.0), ("shift", 0.0)):
        if body.node.number(name) != expected:
            text = Text("{name} is {found}, and only {expected} is computed")
            raise NoFormError(
                text.with_values(name=name, found=body.node.number(name), expected=expected)
            )
    return body.add(body.node.op, body.x())


@emulates("Abs")
def absolute(body: Body) -> str:
    """Write `|x|`; the least integer stays itself."""
    if body.node.dtype().value.startswith("u"):
        return body.own()
    return returned(body, body.add("Abs", carried(body)))


@emulates("Neg")
def negative(body: Body) -> str:
    """Write `-x`; integers wrap around."""
    return returned(body, body.add("Neg", carried(body)))


@emulates("Sign")
def sign(body: Body) -> str:
    """Write -1, 0 or 1; NaN stays NaN."""
    if body.node.dtype() is DType.UINT64:
        return body.cast(body.cast(body.own(), DType.BOOL), DType.UINT64)
    return returned(body, body.add("Sign", carried(body)))


@emulates("Round")
def rounded(body: Body) -> str:
    """Write the nearest integers, the even ones of two; integers stay as they are."""
    if body.node.integer("decimals") != 0:
        text = Text("decimals is {found}, and only 0 is computed")
        raise NoFormError(text.with_values(found=body.node.integer("decimals")))
    return body.add("Round", body.x()) if body.node.dtype().is_float else body.own()


@emulates("Tan")
def tan(body: Body) -> str:
    """Write the tangent; that of int32 in float32, with its fraction cut off."""
    dtype = body.node.dtype()
    if dtype is DType.FLOAT64:
        return steps_of(body, body.own(), tan_of_double)
    if dtype.is_float:
        return body.add("Tan", body.x())
    tangent = body.add("Tan", body.cast(body.own(), DType.FLOAT32))
    return truncated(body, tangent, DType.FLOAT32, dtype)


@emulates("Power")
def power(body: Body) -> str:
    """Write `y = (scale * x + shift)^power`."""
    scale, shift, exponent = (
        number(body, body.node.number(name)) for name in ("scale", "shift", "power")
    )
    line = body.add("Add", body.add("Mul", body.x(), scale), shift)
    return body.add("Pow", line, exponent)


# Functions that ONNX's operators or runtimes have in one node ------------------------------------


@emulates("LeakyRelu")
def leaky_relu(body: Body) -> str:
    """Write `y = x` for x >= 0, `negative_slope * x` below."""
    slope = body.node.number("negative_slope")
    if body.node.dtype() is DType.FLOAT64:
        return _sloped(body, number(body, slope))
    return body.add("LeakyRelu", body.x(), alpha=slope)


@emulates("PRelu")
def prelu(body: Body) -> str:
    """Write `y = x` for x >= 0, `weight * x` below, with a weight for each channel on axis 1."""
    if body.node.dtype() is DType.FLOAT64:
        return _sloped(body, _weight(body))
    return body.add("PRelu", body.x(), _weight(body))


def _sloped(body: Body, slope: str) -> str:
    x = body.x()
    below = body.add("Less", x, number(body, 0))
    return body.add("Where", below, body.add("Mul", x, slope), x)


def _weight(body: Body) -> str:
    shared = body.node.required(1).dims in {(1,), ()}
    shape = () if shared else (-1, *(1,) * (body.node.rank() - 2))
    if 1 not in body.node.constants:
        return body.add("Reshape", body.x(1), body.ints(*shape))
    wide = carrier(body.node.dtype()).numpy

    def along_channels(weight: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(weight).reshape(shape).astype(wide)

    return body.form(1, f"slopes_of_{body.node.rank()}_axes", along_channels)


@emulates("Sigmoid")
def sigmoid(body: Body) -> str:
    """Write `y = 1 / (1 + exp(-x))`.

    Runtimes' own sigmoid is quicker, and off by 1e-7, which is a step of the smallest float16 or
    two; small results of other dtypes would not be right.
    """
    if body.node.dtype() is DType.FLOAT16 and not rounds_steps(body.node):
        return body.add("Sigmoid", body.x())
    return written(body)


@emulates("Softplus")
def softplus(body: Body) -> str:
    """Write `y = max(x, 0) + log(1 + exp(-|x|))`."""
    if body.node.dtype() is not DType.FLOAT64 and not rounds_steps(body.node):
        return body.add("Softplus", body.x())
    return written(body)


@emulates("GeluV2")
def gelu(body: Body) -> str:
    """Write `x * Phi(x)`, or `x / (1 + exp(-2 * sqrt(2 / pi) * (x + 0.044715 * x^3)))` (tanh)."""
    approximation = body.node.text("approximate")
    if approximation not in APPROXIMATIONS:
        text = Text("approximate {approximation} is not known")
        raise NoFormError(text.with_values(approximation=repr(approximation)))
    if approximation == "none" or body.node.dtype() is DType.FLOAT16:
        return body.add("Gelu", body.x(), approximate=approximation)
    return written(body, gelu_by_tanh)


@emulates("Swish")
def swish(body: Body) -> str:
    """Write `y = x / (1 + exp(-scale * x))`."""
    if body.node.dtype() is not DType.FLOAT16:
        return written(body)
    x, scale = body.x(), body.node.number("scale")
    scaled = x if scale == 1 else body.add("Mul", x, number(body, scale))
    return body.add("Mul", x, body.add("Sigmoid", scaled))
