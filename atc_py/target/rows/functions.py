"""Elementary functions of each element: absolute values, powers, logarithms, angles, rounding."""

from functools import partial

from atc_py.target.rows.parts import (
    DIVISION,
    EXP,
    F16,
    FLOATS,
    I32,
    LATER_KERNELS,
    LOG,
    MOVED,
    POLYNOMIAL,
    attributes,
    of_floats,
    operator,
)
from atc_py.target.vector import LOW, Form, VectorFunction

_BASE = attributes(base=-1.0, scale=1.0, shift=0.0)
"""Of Exp and Log: a base of -1 stands for e, and what the function takes is scale * x + shift."""

_of_floats = partial(of_floats, aicpu="f64")

ROWS = (
    operator(
        "Abs",
        "Absolute value.",
        columns="f16 f32 i32",
        kernels="310 310P 310B 610 910: f16 f32 i32; A2 A3: f16 f32 bf16 i32 i64; CS: f16 i32; "
        "950: f16 f32 bf16 i32 i64 i8 i16",
        aicpu="f64 i8 i16 i64",
        family="unary",
        selects=True,
        vector=VectorFunction(Form.UNARY, native=(F16, I32), zero_of_zeros=True),
    ),
    _of_floats(
        "Acos",
        "Inverse cosine, in radians.",
        passes=POLYNOMIAL,
        vector=VectorFunction(Form.UNARY, "Acos"),
    ),
    _of_floats(
        "Acosh",
        "Inverse hyperbolic cosine.",
        passes=POLYNOMIAL,
        vector=VectorFunction(Form.UNARY, "Acosh"),
    ),
    _of_floats(
        "Asin",
        "Inverse sine, in radians.",
        passes=POLYNOMIAL,
        vector=VectorFunction(Form.UNARY, "Asin", zero_of_zeros=True),
    ),
    _of_floats(
        "Asinh",
        "Inverse hyperbolic sine.",
        passes=POLYNOMIAL,
        vector=VectorFunction(Form.UNARY, "Asinh", zero_of_zeros=True),
    ),
    _of_floats(
        "Atan",
        "Inverse tangent, in radians.",
        passes=POLYNOMIAL,
        vector=VectorFunction(Form.UNARY, "Atan", zero_of_zeros=True),
        saturates=True,
    ),
    _of_floats(
        "Atanh",
        "Inverse hyperbolic tangent.",
        passes=POLYNOMIAL,
        vector=VectorFunction(Form.UNARY, "Atanh", zero_of_zeros=True),
    ),
    _of_floats(
        "Ceil",
        "Smallest integer that is not less.",
        selects=True,
        vector=VectorFunction(Form.UNARY, "Ceil", native=(F16,), zero_of_zeros=True),
    ),
    _of_floats(
        "Cos",
        "Cosine of an angle in radians.",
        kernels=LATER_KERNELS,
        passes=POLYNOMIAL,
        vector=VectorFunction(Form.UNARY, "Cos"),
    ),
    _of_floats(
        "Cosh", "Hyperbolic cosine.", passes=3 + 2 * EXP, vector=VectorFunction(Form.UNARY, "Cosh")
    ),
    _of_floats(
        "Erf",
        "Gauss error function.",
        aicpu="",
        passes=POLYNOMIAL + EXP,
        vector=VectorFunction(Form.UNARY, "Erf", zero_of_zeros=True),
        saturates=True,
    ),
    _of_floats(
        "Exp",
        "Exponential.",
        aicpu="f32 f64",
        kernels="310 CS: f16; 310P 310B 610 910: f16 f32; A2 A3 950: f16 f32 bf16",
        attributes=_BASE,
        passes=EXP,
        vector=VectorFunction(Form.UNARY, "Exp"),
    ),
    _of_floats(
        "Floor",
        "Largest integer that is not greater.",
        selects=True,
        vector=VectorFunction(Form.UNARY, "Floor", native=(F16,), zero_of_zeros=True),
    ),
    _of_floats(
        "Log", "Logarithm.", attributes=_BASE, passes=LOG, vector=VectorFunction(Form.UNARY, "Ln")
    ),
    operator(
        "Neg",
        "The opposite sign.",
        columns="f16 f32 i32 i8",
        kernels="310 310P 310B 610 910: f16 f32 i32 i8; A2 A3 950: f16 f32 bf16 i32 i8 i64; "
        "CS: f16 i32",
        aicpu="i16 i64 f64",
        family="unary",
        selects=True,
        vector=VectorFunction(Form.UNARY, native=(F16, I32), zero_of_zeros=True),
    ),
    _of_floats(
        "Power",
        "Elements times scale, plus shift, raised to one power.",
        aicpu="",
        attributes=attributes(power=1.0, scale=1.0, shift=0.0),
        kernels="310 CS: f16; 310P 310B 610 910: f16 f32; A2 A3 950: f16 f32 bf16",
        passes=2 + EXP + LOG,
        vector=VectorFunction(Form.ACTIVATION, scratch=(LOW,)),
    ),
    _of_floats(
        "Reciprocal",
        "One divided by each element.",
        kernels=LATER_KERNELS,
        passes=DIVISION,
        vector=VectorFunction(Form.UNARY, "Reciprocal", native=(F16,), rounded_once=True),
    ),
    operator(
        "Round",
        "Nearest integer, the even one of two.",
        attributes=attributes(decimals=0),
        columns=f"{FLOATS} i32",
        kernels="310 310P 310B 610 910: f16 f32 i32; A2 A3 950: f16 f32 bf16 i32; CS: f16 i32",
        aicpu="f64",
        family="unary",
        selects=True,
        vector=VectorFunction(Form.UNARY, zero_of_zeros=True),
    ),
    _of_floats(
        "Rsqrt",
        "One divided by the square root of each element.",
        passes=2.0 + DIVISION,
        vector=VectorFunction(Form.UNARY, "Rsqrt"),
    ),
    operator(
        "Sign",
        "-1, 0 or 1.",
        columns=f"{FLOATS} i32",
        kernels="310 310P 310B 610 910: f16 f32 i32; A2 A3: f16 f32 bf16 i32; CS: f16 i32; "
        f"950: {MOVED}",
        aicpu="f64",
        family="unary",
        selects=True,
        passes=3.0,
        vector=VectorFunction(Form.UNARY, "Sign", native=(F16,), zero_of_zeros=True),
    ),
    _of_floats(
        "Sin",
        "Sine of an angle in radians.",
        passes=POLYNOMIAL,
        vector=VectorFunction(Form.UNARY, "Sin", zero_of_zeros=True),
    ),
    _of_floats(
        "Sinh",
        "Hyperbolic sine.",
        passes=3 + 2 * EXP,
        vector=VectorFunction(Form.UNARY, "Sinh", zero_of_zeros=True),
    ),
    _of_floats(
        "Sqrt",
        "Square root; NaN of what is less than 0.",
        passes=2.0,
        vector=VectorFunction(
            Form.UNARY, "Sqrt", native=(F16,), rounded_once=True, zero_of_zeros=True
        ),
    ),
    operator(
        "Tan",
        "Tangent of an angle in radians; that of an integer has its fraction cut off.",
        columns="f16 f32 i32",
        kernels="310 310P 310B 610 910: f16 f32 i32; A2 A3 950: bf16 f16 f32 i32; CS: f16",
        aicpu="f16 f32 f64",
        family="unary",
        passes=2 * POLYNOMIAL,
        vector=VectorFunction(Form.UNARY, native=(I32,), zero_of_zeros=True),
    ),
)
