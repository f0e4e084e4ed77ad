"""Work along one axis that keeps it: running sums, and the largest elements in order."""

from atc_py.target.kernels import on
from atc_py.target.row import Attribute, TargetOp
from atc_py.target.rows.parts import (
    MOVED,
    columns,
    operands,
)

_DIRECTION = (
    Attribute("exclusive", "bool", default=False),
    Attribute("reverse", "bool", default=False),
)

_RANKED = "T f16 > T i32"

ROWS = (
    TargetOp(
        "Cumsum",
        *operands("x axis# > y"),
        "Running sums along an axis that only the run knows.",
        attributes=_DIRECTION,
        kernels=on(
            "310 310P 310B 610 910 CS: f16 f32 i32; A2 A3: f16 f32 bf16 i32; "
            "950: f16 f32 bf16 i32 i64 i8 u8 u64",
            "T i32|i64 > T",
        ),
        aicpu=columns("f16 f32 f64 i32", "T i32|i64 > T"),
        family="rows",
        formula=(
            "y[i] = sum of x[j] for j <= i along axis; exclusive leaves x[i] out, reverse has j "
            ">= i"
        ),
    ),
    TargetOp(
        "CumsumD",
        *operands("x > y"),
        "Running sums along an axis, from the front or back, with or without the element itself.",
        attributes=(Attribute("axis", "int"), *_DIRECTION),
        columns=columns("f16 f32 i32 i8 u8"),
        kernels=on(
            "310 310P 310B 610 910 A2 A3 CS: f16 f32 i32 i8 u8; 950: f16 f32 bf16 i32 i64 i8 u8 u64"
        ),
        family="rows",
        formula=(
            "y[i] = sum of x[j] for j <= i along axis; exclusive leaves x[i] out, reverse has j "
            ">= i"
        ),
    ),
    TargetOp(
        "TopK",
        *operands("x k# > values indices"),
        "The k largest or smallest elements along an axis, in order, and where they are.",
        attributes=(
            Attribute("sorted", "bool", default=True),
            Attribute("largest", "bool", default=True),
            Attribute("dim", "int", -1),
        ),
        kernels=on(f"950: {MOVED}", "T i64 > T i32"),
        aicpu=columns("f16 f32 f64", "T i64 > T i32"),
        family="rows",
        selects=True,
        formula=(
            "values[i] = the i-th largest x along dim (smallest without largest), the lower "
            "place first among equals\n"
            "indices[i] = its place"
        ),
        passes=20.0,
    ),
    # Dtypes are those of TopKV2 in CANN 8.1, which has the same arithmetic; on 310 those of 2022.
    TargetOp(
        "TopKD",
        *operands("x assist_seq > values indices"),
        "The k largest or smallest elements along the last axis, in order, and where they are.",
        attributes=(
            Attribute("k", "int"),
            Attribute("sorted", "bool", default=True),
            Attribute("dim", "int", -1),
            Attribute("largest", "bool", default=True),
        ),
        columns=columns("f16", _RANKED),
        kernels=on("310 610 910 CS: f16; 310P 310B: f16 f32; A2 A3: f16 f32 bf16; 950: -", _RANKED),
        family="rows",
        selects=True,
        formula=(
            "values[i] = the i-th largest x along the last axis (smallest without largest), the "
            "lower place first among equals\n"
            "indices[i] = its place"
        ),
        passes=20.0,
    ),
)
