"""Arithmetic of the bits of integers."""

from atc_py.target.kernels import Kernels, on
from atc_py.target.row import TargetOp
from atc_py.target.rows.parts import (
    columns,
    operands,
)
from atc_py.target.vector import Form, VectorFunction

_INTEGERS = "i8 i16 i32 i64 u8 u16 u32 u64"


_PAIRS = "310 310P 310B 610 910 CS: i16 u16 i32; A2 A3: i16 u16 i32 i64; "


def _bitwise(  # noqa: PLR0913  (what rows of bits differ in)
    name: str,
    signature: str,
    summary: str,
    dtypes: str,
    kernels: str,
    vector: VectorFunction,
    passes: float | None = None,
) -> TargetOp:
    """Make the row of a function of bits, with a kernel of the AI CPU for all integers."""
    form = "T T > T" if "x2" in signature else "T > T"
    return TargetOp(
        name,
        *operands(signature),
        summary,
        columns=columns(dtypes, form),
        kernels=on(kernels, form),
        aicpu=columns(_INTEGERS, form),
        family=vector.form.value,
        vector=vector,
        passes=passes,
    )


def _pair(
    name: str,
    summary: str,
    vector: VectorFunction,
    passes: float | None = None,
    newest: str = _INTEGERS,
) -> TargetOp:
    """Make the row of a function of two integers; `newest` are those of Ascend950."""
    kernels = f"{_PAIRS}950: {newest}"
    return _bitwise(name, "x1 x2 > y", summary, "i16 u16 i32", kernels, vector, passes)


def _shift(name: str, summary: str, formula: str, kernels: Kernels | None = None) -> TargetOp:
    return TargetOp(
        name,
        *operands("x y > z"),
        summary,
        kernels=kernels,
        aicpu=columns(_INTEGERS, "T T > T"),
        family="binary",
        formula=formula,
    )


ROWS = (
    _pair(
        "BitwiseAnd",
        "Bits that both of two integers have, with broadcasting.",
        VectorFunction(Form.BINARY, "And", bits=True, zero_of_zeros=True, linked=False),
        newest="i16 u16 i32 i64",
    ),
    _pair(
        "BitwiseOr",
        "Bits that at least one of two integers has, with broadcasting.",
        VectorFunction(Form.BINARY, "Or", bits=True, zero_of_zeros=True, linked=False),
    ),
    _pair(
        "BitwiseXor",
        "Bits that just one of two integers has, with broadcasting.",
        VectorFunction(Form.BINARY, bits=True, zero_of_zeros=True, linked=False),
        passes=4.0,
    ),
    _bitwise(
        "Invert",
        "x > y",
        "Every bit of an integer reversed.",
        "i16 u16",
        f"310 310P 310B 610 910 A2 A3 CS: i16 u16; 950: {_INTEGERS}",
        VectorFunction(Form.UNARY, "Not", bits=True, linked=False),
    ),
    _shift(
        "LeftShift",
        "Bits of x moved left by as many places as y says, with broadcasting.",
        "z = x * 2^y without the bits that leave x; 0 where y is the width of x or more",
    ),
    _shift(
        "RightShift",
        "Bits of x moved right by as many places as y says, with broadcasting.",
        "z = floor(x / 2^y); 0, or -1 of negative x, where y is the width of x or more",
        kernels=on(f"950: {_INTEGERS}", "T T > T"),
    ),
)
