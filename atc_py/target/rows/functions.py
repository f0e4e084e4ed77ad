"""Elementary functions of each element: absolute values, powers, logarithms, angles, rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.target.row import Attribute, TargetOp, Unit
from atc_py.target.rows.parts import F16, F32, F64, FLOATS, I8, I16, I32, I64, Y, inputs, same

if TYPE_CHECKING:
    from atc_py.tensor.dtypes import DType

__all__ = ["ROWS"]

_BASE = (
    Attribute("base", "float", -1.0),
    Attribute("scale", "float", 1.0),
    Attribute("shift", "float", 0.0),
)
"""Of Exp and Log: a base of -1 stands for e, and what the function takes is scale * x + shift."""


def _of_floats(
    name: str,
    summary: str,
    aicpu: tuple[DType, ...] = (F64,),
    attributes: tuple[Attribute, ...] = (),
    *,
    selects: bool = False,
    saturates: bool = False,
) -> TargetOp:
    """A function of floats that returns their dtype."""
    return TargetOp(
        name,
        inputs("x"),
        Y,
        Unit.VECTOR,
        summary,
        attributes=attributes,
        columns=same(*FLOATS),
        aicpu=aicpu,
        family="unary",
        selects=selects,
        saturates=saturates,
    )


ROWS = (
    TargetOp(
        "Abs",
        inputs("x"),
        Y,
        Unit.VECTOR,
        "Absolute value.",
        columns=same(F16, F32, I32),
        aicpu=(F64, I8, I16, I64),
        family="unary",
        selects=True,
    ),
    _of_floats("Acos", "Inverse cosine, in radians."),
    _of_floats("Acosh", "Inverse hyperbolic cosine."),
    _of_floats("Asin", "Inverse sine, in radians."),
    _of_floats("Asinh", "Inverse hyperbolic sine."),
    _of_floats("Atan", "Inverse tangent, in radians.", saturates=True),
    _of_floats("Atanh", "Inverse hyperbolic tangent."),
    _of_floats("Ceil", "Smallest integer that is not less.", selects=True),
    _of_floats("Cos", "Cosine of an angle in radians."),
    _of_floats("Cosh", "Hyperbolic cosine."),
    _of_floats("Erf", "Gauss error function.", aicpu=(), saturates=True),
    _of_floats("Exp", "Exponential.", attributes=_BASE),
    _of_floats("Floor", "Largest integer that is not greater.", selects=True),
    _of_floats("Log", "Logarithm.", attributes=_BASE),
    TargetOp(
        "Neg",
        inputs("x"),
        Y,
        Unit.VECTOR,
        "The opposite sign.",
        columns=same(F16, F32, I32, I8),
        aicpu=(I16, I64, F64),
        family="unary",
        selects=True,
    ),
    _of_floats("Reciprocal", "One divided by each element."),
    TargetOp(
        "Round",
        inputs("x"),
        Y,
        Unit.VECTOR,
        "Nearest integer, the even one of two.",
        attributes=(Attribute("decimals", "int", 0),),
        columns=same(*FLOATS),
        aicpu=(F64,),
        family="unary",
        selects=True,
    ),
    _of_floats("Sign", "-1, 0 or 1.", selects=True),
    _of_floats("Sin", "Sine of an angle in radians."),
    _of_floats("Sinh", "Hyperbolic sine."),
    _of_floats("Sqrt", "Square root; NaN of what is less than 0."),
)
