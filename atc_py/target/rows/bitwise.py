"""Arithmetic of the bits of integers."""

from functools import partial

from atc_py.target.rows.parts import operator
from atc_py.target.vector import Form, VectorFunction

_INTEGERS = "i8 i16 i32 i64 u8 u16 u32 u64"

_PAIRS = "310 310P 310B 610 910 CS: i16 u16 i32; A2 A3: i16 u16 i32 i64; "

_pair = partial(
    operator,
    signature="x1 x2 > y",
    form="T T > T",
    columns="i16 u16 i32",
    kernels=f"{_PAIRS}950: {_INTEGERS}",
    aicpu=_INTEGERS,
    family="binary",
)

_shift = partial(operator, signature="x y > z", form="T T > T", aicpu=_INTEGERS, family="binary")

ROWS = (
    _pair(
        "BitwiseAnd",
        "Bits that both of two integers have, with broadcasting.",
        vector=VectorFunction(Form.BINARY, "And", bits=True, zero_of_zeros=True, linked=False),
        kernels=f"{_PAIRS}950: i16 u16 i32 i64",
    ),
    _pair(
        "BitwiseOr",
        "Bits that at least one of two integers has, with broadcasting.",
        vector=VectorFunction(Form.BINARY, "Or", bits=True, zero_of_zeros=True, linked=False),
    ),
    _pair(
        "BitwiseXor",
        "Bits that just one of two integers has, with broadcasting.",
        vector=VectorFunction(Form.BINARY, bits=True, zero_of_zeros=True, linked=False),
        passes=4.0,
    ),
    operator(
        "Invert",
        "Every bit of an integer reversed.",
        columns="i16 u16",
        kernels=f"310 310P 310B 610 910 A2 A3 CS: i16 u16; 950: {_INTEGERS}",
        aicpu=_INTEGERS,
        family="unary",
        vector=VectorFunction(Form.UNARY, "Not", bits=True, linked=False),
    ),
    _shift(
        "LeftShift",
        "Bits of x moved left by as many places as y says, with broadcasting.",
        formula="z = x * 2^y without the bits that leave x; 0 where y is the width of x or more",
    ),
    _shift(
        "RightShift",
        "Bits of x moved right by as many places as y says, with broadcasting.",
        formula="z = floor(x / 2^y); 0, or -1 of negative x, where y is the width of x or more",
        kernels=f"950: {_INTEGERS}",
    ),
)
