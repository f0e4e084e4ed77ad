"""Arithmetic of the bits of integers."""

from atc_py.target.kernels import Kernels, on
from atc_py.target.row import Operand, TargetOp, Unit
from atc_py.target.rows.parts import I8, I16, I32, I64, U8, U16, U32, U64, X1_X2, Y, inputs, same
from atc_py.target.vector import Form, VectorFunction
from atc_py.tensor.dtypes import DType

_INTEGERS = (I8, I16, I32, I64, U8, U16, U32, U64)

_PAIRS = on("310 310P 310B 610 910 CS: i16 u16 i32; A2 A3: i16 u16 i32 i64", "T T > T")


def _bitwise(  # noqa: PLR0913  (what rows of bits differ in)
    name: str,
    operands: tuple[Operand, ...],
    summary: str,
    dtypes: tuple[DType, ...],
    kernels: Kernels,
    vector: VectorFunction,
    passes: float | None = None,
) -> TargetOp:
    """Make the row of a function of bits, with a kernel of the AI CPU for all integers."""
    return TargetOp(
        name,
        operands,
        Y,
        Unit.VECTOR,
        summary,
        columns=same(*dtypes, inputs=len(operands)),
        kernels=kernels,
        aicpu=same(*_INTEGERS, inputs=len(operands)),
        family=vector.form.value,
        vector=vector,
        passes=passes,
    )


def _pair(name: str, summary: str, vector: VectorFunction, passes: float | None = None) -> TargetOp:
    return _bitwise(name, X1_X2, summary, (I16, U16, I32), _PAIRS, vector, passes)


def _shift(name: str, summary: str, formula: str) -> TargetOp:
    """Make the row of a shift, which the AI CPU alone has."""
    return TargetOp(
        name,
        inputs("x", "y"),
        (Operand("z"),),
        Unit.VECTOR,
        summary,
        aicpu=same(*_INTEGERS, inputs=2),
        family="binary",
        formula=formula,
    )


ROWS = (
    _pair(
        "BitwiseAnd",
        "Bits that both of two integers have, with broadcasting.",
        VectorFunction(Form.BINARY, "And", bits=True, zero_of_zeros=True, linked=False),
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
        inputs("x"),
        "Every bit of an integer reversed.",
        (I16, U16),
        on("310 310P 310B 610 910 A2 A3 CS: i16 u16"),
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
    ),
)
