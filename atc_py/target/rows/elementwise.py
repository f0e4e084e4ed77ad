"""Elementwise arithmetic, bounds and casts."""

from __future__ import annotations

from atc_py.target.row import Attribute, TargetOp, Unit
from atc_py.target.rows.parts import (
    F16,
    F32,
    F64,
    FLOATS,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    X1_X2,
    Y,
    inputs,
    same,
)

__all__ = ["ROWS"]

ROWS = (
    TargetOp(
        "AccumulateNV2",
        inputs("x*"),
        Y,
        Unit.VECTOR,
        "Sum of tensors of one shape.",
        attributes=(Attribute("N", "int"),),
        columns=same(F16, F32, I32, I8, U8),
        family="accumulate",
    ),
    TargetOp(
        "Add",
        X1_X2,
        Y,
        Unit.VECTOR,
        "Elementwise sum with broadcasting.",
        columns=same(F16, F32, I32, inputs=2),
        aicpu=(I8, I16, I64, U8, U16, U32, U64, F64),
        family="binary",
    ),
    TargetOp(
        "Cast",
        inputs("x"),
        Y,
        Unit.VECTOR,
        "Conversion to another dtype.",
        attributes=(Attribute("dst_type", "dtype"),),
        family="cast",
    ),
    TargetOp(
        "ClipByValue",
        inputs("x", "clip_value_min", "clip_value_max"),
        Y,
        Unit.VECTOR,
        "Values held between two bounds.",
        columns=same(F16, F32, I32, inputs=3),
        family="unary",
        selects=True,
    ),
    TargetOp(
        "Mul",
        X1_X2,
        Y,
        Unit.VECTOR,
        "Elementwise product with broadcasting.",
        columns=same(F16, F32, I32, I8, U8, inputs=2),
        aicpu=(I16, I64, U16, U32, U64, F64),
        family="binary",
    ),
    TargetOp(
        "Muls",
        inputs("x"),
        Y,
        Unit.VECTOR,
        "Product with one number.",
        attributes=(Attribute("value", "float"),),
        columns=same(*FLOATS),
        family="unary",
    ),
    TargetOp(
        "Relu",
        inputs("x"),
        Y,
        Unit.VECTOR,
        "Negative values become zero.",
        columns=same(F16, F32, I32, I8),
        aicpu=(I16, I64, F64),
        family="unary",
        selects=True,
    ),
)
