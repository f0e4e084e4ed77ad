"""Elementwise arithmetic, bounds, casts and broadcasting."""

from functools import partial

from atc_py.target.kernels import Kernels
from atc_py.target.rows.parts import (
    DIVISION,
    EXP,
    F16,
    F32,
    I32,
    LOG,
    Needed,
    attributes,
    columns,
    of_floats,
    of_moves,
    operator,
)
from atc_py.target.vector import MASK, Form, Operands, Temporary, VectorFunction

_CASTS = (
    "(f16 > f32|i32|u8) (i32 > f16|i8|u8|b) (i8 > f16|f32|i32) (u8 > f16|f32|i32) "
    "(b > f16|f32|i32|u8) (f32 > f16)"
)
"""Pairs that Cast converts on every family but the smallest."""

_WIDE_CASTS = (
    "(f32 > i32|b) (i32 > f32|i64) (i64 > f16|i32|u8|b) (f16 > i8|b) (u8 > i64) (b > i8|i64) "
    "(i8 > b)"
)
"""Further pairs that it converts on the families that compute int64."""

_NEWEST_CASTS = (
    "(f16 > bf16|i16|i64) (f32 > bf16|i8|i16|i64|u8) (bf16 > f16|f32|b|i8|u8|i32) "
    "(i64 > bf16|f32|i8|i16|u16|u32) (i32 > bf16|i16|u16|u32) (b > bf16) (i16 > f16|f32) "
    "(u32 > i8|u8|i16|u16|i32|i64) (i16 > i8|u8|u16|i32|u32|i64) (u16 > i8|u8|i16|i32|u32|i64) "
    "(i8 > bf16|u8|i16|u16|u32|i64) (u8 > bf16|i8|i16|u16|u32)"
)

_ASCEND950_CASTS = (
    "(bf16 > f32|i32|f16|b|i8|u8|i64|i16) (f16 > f32|i32|u8|bf16|i8|b|i16|i64) "
    "(f32 > f16|i32|i64|bf16|b|u8|i16|i8) (i8 > f16|f32|i32|bf16|b|i64|u32|i16|u16|u8) "
    "(i16 > f16|f32|i64|i32|u32|u16|i8|u8|b|bf16) "
    "(i32 > f16|f32|i8|u8|b|i64|bf16|u32|i16|u16) "
    "(i64 > f32|i32|f16|u8|b|bf16|u32|i16|u16|i8|f64) "
    "(u8 > f16|f32|i32|i64|bf16|u32|i16|u16|i8|b) "
    "(u16 > i64|i32|u32|i16|i8|u8|bf16|f32|f16|b) "
    "(u32 > i64|i32|i16|u16|i8|u8|bf16|f32|f16|b) (b > f16|f32|i32|u8|i64|bf16|i8|i16) "
    "(f64 > f32|bf16|i32|i64)"
)
"""Casts of Ascend950 between dtypes that there are here."""

_binary = partial(operator, signature="x1 x2 > y", family="binary")

ROWS = (
    operator(
        "AccumulateNV2",
        "Sum of tensors of one shape.",
        "x* > y",
        attributes=attributes(N=Needed.INT),
        columns="f16 f32 i32 i8 u8",
        kernels="310 310P 310B 610 910 A2 A3 950: f16 f32 i32 i8 u8; CS: f16 i32 i8 u8",
        family="accumulate",
        vector=VectorFunction(
            Form.BINARY, native=(I32,), rounded_once=True, zero_of_zeros=True, linked=False
        ),
    ),
    _binary(
        "Add",
        "Elementwise sum with broadcasting.",
        columns=columns("f16 f32 i32", "T T > T"),
        kernels="310 310P 310B 610 910 A3 CS: ?; A2 950: f16 f32 bf16 i32 i8 u8 i64",
        aicpu="i8 i16 i64 u8 u16 u32 u64 f64",
        vector=VectorFunction(
            Form.BINARY, "Add", native=(F16, I32), rounded_once=True, zero_of_zeros=True
        ),
    ),
    operator(
        "Cast",
        "Conversion to another dtype.",
        attributes=attributes(dst_type=Needed.DTYPE),
        kernels=f"310: {_CASTS} (f32 > f16|b) (u8 > i64) (i64 > u8); "
        f"310P: {_CASTS} {_WIDE_CASTS} (f32 > i64|u8|i8|i16) (i64 > f32) (i16 > f32); "
        f"310B: {_CASTS} {_WIDE_CASTS} (f32 > i64|u8) (i64 > f32); "
        f"610: {_CASTS} (f32 > f16|i32|i64) (i32 > f32|i64) (b > i64) (i64 > f16|f32|i32|b); "
        f"910: {_CASTS} {_WIDE_CASTS}; "
        f"A2 A3: {_CASTS} {_WIDE_CASTS} {_NEWEST_CASTS}; "
        f"950: {_ASCEND950_CASTS}; "
        "CS: (f16 > i32|u8|f32) (i32 > f16|i8|u8|b|f32) (i8|u8 > f16|i32) (b > f16|i32|u8)",
        family="cast",
        vector=VectorFunction(Form.CAST, zero_of_zeros=True, linked=False),
    ),
    operator(
        "ClipByValue",
        "Values held between two bounds.",
        "x clip_value_min clip_value_max > y",
        form="T T T > T",
        columns="f16 f32 i32",
        kernels=Kernels(
            "310 610: f16 f32 i32; 310P 310B 910: f16 f32 i32 i64; "
            "A2 A3 950: f16 f32 bf16 i32 i64; CS: f16 i32",
        ),
        family="unary",
        selects=True,
        passes=2.0,
        vector=VectorFunction(Form.UNARY, native=(F16, I32), operands=Operands.SINGLES),
    ),
    of_moves(
        "ExpandD",
        "A tensor broadcast to `shape`.",
        attributes=attributes(shape=Needed.INTS),
        columns="f16 f32 i32 u8 i8 b",
        kernels="310 310P 310B 610 910 A2 A3 CS: f16 f32 i32 u8 i8 b; "
        "950: f16 f32 bf16 i32 i64 i8 u8 b",
        aicpu="i16 i64 u16 u32 u64 f64",
    ),
    _binary(
        "FloorMod",
        "Elementwise remainder with the sign of the divisor, with broadcasting.",
        columns=columns("f16 f32 i32", "T T > T"),
        kernels="310 610: f16 f32; 310P 910: f16 f32 i32 i64; 310B: f16 f32 i32; "
        "A2 A3 950: f16 f32 bf16 i32 i64; CS: f16",
        aicpu="i8 i16 i32 i64 u8 u16 u32 u64 f64",
        passes=2 + DIVISION,
        vector=VectorFunction(
            Form.BINARY, scratch=(Temporary("sign", F32), MASK), rounded_once=True, linked=False
        ),
    ),
    _binary(
        "Maximum",
        "The larger of two elements, with broadcasting.",
        columns=columns("f16 f32 i32 i8", "T T > T"),
        kernels="310 610: f16 f32 i32 i8; 310P 310B 910: f16 f32 i32 i8 i64; "
        "A2 A3: f16 f32 bf16 i32 i8 i64; CS: f16 i32 i8; 950: f16 f32 bf16 i32 i64 i8 u8",
        aicpu="i16 i64 u8 u16 u32 u64 f64",
        selects=True,
        vector=VectorFunction(Form.BINARY, "Max", native=(F16, I32), zero_of_zeros=True),
    ),
    _binary(
        "Minimum",
        "The smaller of two elements, with broadcasting.",
        columns=columns("f16 f32 i32 i8", "T T > T"),
        kernels="310 610: f16 f32 i32 i8; 310P 310B 910: f16 f32 i32 i8 i64; "
        "A2 A3: f16 f32 bf16 i32 i8 i64; CS: f16 i32 i8; 950: f16 f32 bf16 i32 i64 i8 u8",
        aicpu="i16 i64 u8 u16 u32 u64 f64",
        selects=True,
        vector=VectorFunction(Form.BINARY, "Min", native=(F16, I32), zero_of_zeros=True),
    ),
    _binary(
        "Mod",
        "Elementwise remainder with the sign of the dividend, with broadcasting.",
        columns=columns("f16 f32 i32 i8 u8", "T T > T"),
        kernels="310: f16 f32 i8 u8; 310P 310B 610 910: f16 f32 i32 i8 u8; "
        "A2 A3: f16 f32 bf16 i32 i8 u8; CS: f16 i32 i8 u8; 950: f16 f32 bf16 i32 i64 i8 u8",
        aicpu="i16 i32 i64 u16 u32 u64 f64",
        passes=2 + DIVISION,
        vector=VectorFunction(Form.BINARY, "Fmod", rounded_once=True),
    ),
    _binary(
        "Mul",
        "Elementwise product with broadcasting.",
        columns=columns("f16 f32 i32 i8 u8", "T T > T"),
        kernels="310 310P 310B 610 910 A3 CS: ?; A2: f16 f32 bf16 i32 i8 u8 i64; "
        "950: f16 f32 bf16 i32 i8 u8 i64 i16 f64",
        aicpu="i16 i64 u16 u32 u64 f64",
        vector=VectorFunction(
            Form.BINARY, "Mul", native=(F16, I32), rounded_once=True, zero_of_zeros=True
        ),
    ),
    of_floats(
        "Adds",
        "Sum with one number.",
        attributes=attributes(value=Needed.FLOAT),
        vector=VectorFunction(Form.UNARY, rounded_once=True),
    ),
    of_floats(
        "Muls",
        "Product with one number.",
        attributes=attributes(value=Needed.FLOAT),
        aicpu="f64",
        vector=VectorFunction(Form.UNARY, rounded_once=True),
    ),
    _binary(
        "Pow",
        "Elements of x1 raised to those of x2, with broadcasting.",
        columns=columns("f16 f32 i32 i8 u8", "T T > T"),
        kernels="310 310P 310B 610 910: f16 f32 i32 i8 u8; A2 A3: f16 f32 bf16 i32 i8 u8; CS: f16; "
        "950: f16 f32 bf16 i32 i8 u8 i16",
        aicpu="i8 i16 i32 u8 i64 f64",
        passes=EXP + LOG,
        vector=VectorFunction(Form.BINARY, "Power"),
    ),
    _binary(
        "RealDiv",
        "Elementwise quotient with broadcasting; that of integers has its fraction cut off.",
        columns=columns("f16 f32", "T T > T"),
        kernels="310: f16 f32; 310P 310B 610 910 A3: ?; A2 950: f16 f32 bf16 i32; CS: f16",
        aicpu="i8 i16 i32 i64 u8 u16 u32 u64 f64",
        passes=DIVISION,
        vector=VectorFunction(Form.BINARY, "Div", native=(F16,), rounded_once=True),
    ),
    operator(
        "Relu",
        "Negative values become zero.",
        columns="f16 f32 i32 i8",
        kernels="310 610: f16 f32 i32 i8; 310P 310B 910: f16 f32 i32 i8 i64; "
        "A2 A3 950: f16 f32 bf16 i32 i8 i64; CS: f16 i32 i8",
        aicpu="i16 i64 u8 u16 f64",
        family="unary",
        selects=True,
        vector=VectorFunction(Form.UNARY, "Relu", native=(F16, I32), zero_of_zeros=True),
    ),
    _binary(
        "Sub",
        "Elementwise difference with broadcasting.",
        columns=columns("f16 f32 i32", "T T > T"),
        kernels="310 610: f16 f32 i32; 310P 310B 910: f16 f32 i32 i8 u8 i64; "
        "A2 A3 950: f16 f32 bf16 i32 i8 u8 i64; CS: f16 i32",
        aicpu="i8 i16 i64 u8 u16 u32 u64 f64",
        vector=VectorFunction(
            Form.BINARY, "Sub", native=(F16, I32), rounded_once=True, zero_of_zeros=True
        ),
    ),
)
