"""Elementary functions of each element."""

from collections.abc import Callable

from atc_py.device.ort import doubles
from atc_py.device.ort.body import Body
from atc_py.device.ort.node import NoFormError
from atc_py.device.ort.numbers import carried, number, returned, truncated
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


def _declare(op: str, text: str, of_doubles: Callable[[Body, str], str] | None = None) -> None:
    """Register the emulation of a function of floats that ONNX has by the same name.

    Args:
        op: the target operator.
        text: the function in words or as a formula.
        of_doubles: writes it for float64, where runtimes have it for float32 alone.
    """

    def write(body: Body) -> str:
        if of_doubles is not None and body.node.dtype() is DType.FLOAT64:
            return of_doubles(body, body.own())
        return body.add(op, body.x())

    write.__doc__ = f"Write {text}."
    emulates(op)(write)


_declare("Acos", "the inverse cosine, in radians", doubles.acos)
_declare("Acosh", "the inverse hyperbolic cosine", doubles.acosh)
_declare("Asin", "the inverse sine, in radians", doubles.asin)
_declare("Asinh", "the inverse hyperbolic sine", doubles.asinh)
_declare("Atan", "the inverse tangent, in radians", doubles.atan)
_declare("Atanh", "the inverse hyperbolic tangent", doubles.atanh)
_declare("Ceil", "the smallest integer that is not less than x")
_declare("Cos", "the cosine of an angle in radians", doubles.cos)
_declare("Cosh", "the hyperbolic cosine", doubles.cosh)
_declare("Floor", "the largest integer that is not greater than x")
_declare("Reciprocal", "`1 / x`")
_declare("Sin", "the sine of an angle in radians")
_declare("Sinh", "the hyperbolic sine", doubles.sinh)
_declare("Sqrt", "`sqrt(x)`; NaN of what is less than 0")
_declare("Tanh", "the hyperbolic tangent")


@emulates("Erf")
def erf(body: Body) -> str:
    """Write the Gauss error function."""
    if body.node.dtype() is DType.FLOAT64:
        raise NoFormError(Text("ONNX's operator is computed in float32, and the data are float64"))
    return body.add("Erf", body.x())


@emulates("Exp")
def exp(body: Body) -> str:
    """Write `e^x`."""
    _require_natural(body)
    return body.add("Exp", body.x())


@emulates("Log")
def log(body: Body) -> str:
    """Write the natural logarithm."""
    _require_natural(body)
    return body.add("Log", body.x())


def _require_natural(body: Body) -> None:
    """Check that the base is e, and that nothing is done to x.

    Raises:
        NoFormError: it is not.
    """
    for name, expected in (("base", -1.0), ("scale", 1.0), ("shift", 0.0)):
        if body.node.number(name) != expected:
            text = Text("{name} is {found}, and only {expected} is computed")
            raise NoFormError(
                text.with_values(name=name, found=body.node.number(name), expected=expected)
            )


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


@emulates("Rsqrt")
def rsqrt(body: Body) -> str:
    """Write `1 / sqrt(x)`, the root rounded to the dtype that it is computed in."""
    return body.add("Div", number(body, 1), body.add("Sqrt", body.x()))


@emulates("Tan")
def tan(body: Body) -> str:
    """Write the tangent; that of int32 in float32, with its fraction cut off."""
    dtype = body.node.dtype()
    if dtype is DType.FLOAT64:
        return doubles.tan(body, body.own())
    if dtype.is_float:
        return body.add("Tan", body.x())
    tangent = body.add("Tan", body.cast(body.own(), DType.FLOAT32))
    return truncated(body, tangent, DType.FLOAT32, dtype)
