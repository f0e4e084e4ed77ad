"""Reductions over axes, and where the largest and smallest elements are."""

from atc_py.target.kernels import on
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, TargetOp
from atc_py.target.rows.parts import (
    EXP,
    FLOAT_KERNELS,
    FLOATS,
    I64,
    LATER_KERNELS,
    LOG,
    columns,
    operands,
)

_AXES = (Attribute("axes", "ints"), Attribute("keep_dims", "bool", default=False))

_WIDE = columns("i32 i64 u32 u64 f64")
"""Dtypes besides float16 and float32 that the list sums and multiplies but the AI Core does not."""

_POSITION = (Attribute("dimension", "int"), Attribute("dtype", "dtype", I64))

_POSITIONS = columns("f16 f32 i32", "T > i32")
"""Positions are counted in int32."""

_POSITION_KERNELS = on(
    "310 CS: f16; 310P 610 910: f16 f32; 310B: f16 f32 i32; A2 A3: f16 f32 bf16 i32 i64",
    "T > i32",
)
"""Of ArgMaxD and ArgMinD; 310B, A2 and A3 have them no longer, and ArgMaxV2 and ArgMin do the work."""

ROWS = (
    TargetOp(
        "ArgMaxD",
        *operands("x > y"),
        "Position of the first of the largest elements along one axis, which goes.",
        attributes=_POSITION,
        columns=_POSITIONS,
        kernels=_POSITION_KERNELS,
        aicpu=_POSITIONS[1:2],
        family="reduce",
        selects=True,
        takes=Layout.ROWS,
        passes=3.0,
    ),
    TargetOp(
        "ArgMinD",
        *operands("x > y"),
        "Position of the first of the smallest elements along one axis, which goes.",
        attributes=_POSITION,
        columns=_POSITIONS,
        kernels=_POSITION_KERNELS,
        aicpu=_POSITIONS[1:2],
        family="reduce",
        selects=True,
        takes=Layout.ROWS,
        passes=3.0,
    ),
    TargetOp(
        "LpNorm",
        *operands("x > y"),
        "Sum of magnitudes (p 1) or root of the sum of squares (p 2) over axes, at least epsilon.",
        attributes=(
            Attribute("p", "int", 2),
            Attribute("axes", "ints", ()),
            Attribute("keepdim", "bool", default=False),
            Attribute("epsilon", "float", 1e-12),
        ),
        columns=columns(FLOATS),
        kernels=on("310 310P 310B 610 910 A2 A3: f16 f32; CS: f16"),
        aicpu=_WIDE,
        family="reduce",
        takes=Layout.ROWS,
        passes=3.0,
    ),
    # No form of it has its axes as an attribute. CANN's kernel does not subtract the largest element
    # first, so that exponentials of what is above 88 overflow there.
    TargetOp(
        "ReduceLogSumExp",
        *operands("x axes#! > y"),
        "Logarithm of the sum of exponentials over the axes of the second input.",
        attributes=(Attribute("keep_dims", "bool", default=False),),
        columns=columns(FLOATS, "T i64 > T"),
        kernels=on("310 310P 310B 910 A2 A3: f16 f32; 610 CS: -", "T i64|i32 > T"),
        family="reduce",
        formula="y = m + log(sum of exp(x - m) over axes), m the largest x over them",
        takes=Layout.ROWS,
        passes=4 + EXP + LOG,
    ),
    # int64 and float64 on the AI CPU are inferred from the lists. With the axes as an input, some
    # families have int64 on the AI Core; the operator that has them as an attribute has not.
    TargetOp(
        "ReduceMaxD",
        *operands("x > y"),
        "Largest element over axes.",
        attributes=_AXES,
        columns=columns("f16 f32 i32 i8 u8 b"),
        kernels=on(
            "310 310P 310B 610 910: f16 f32 i32 i8 u8 b; A2 A3: f16 f32 bf16 i32 i8 u8 b; "
            "CS: f16 i32 i8 u8 b",
        ),
        aicpu=columns("f64 i64"),
        family="reduce",
        selects=True,
    ),
    TargetOp(
        "ReduceMeanD",
        *operands("x > y"),
        "Mean over axes.",
        attributes=_AXES,
        columns=columns(FLOATS),
        kernels=FLOAT_KERNELS,
        family="reduce",
    ),
    TargetOp(
        "ReduceMinD",
        *operands("x > y"),
        "Smallest element over axes.",
        attributes=_AXES,
        columns=columns("f16 f32 i32 i8 u8"),
        kernels=on(
            "310 CS: f16 i32 i8 u8; 310P 310B 610 910: f16 f32 i32 i8 u8; "
            "A2 A3: f16 f32 bf16 i32 i8 u8",
        ),
        aicpu=columns("f32"),
        family="reduce",
        selects=True,
    ),
    TargetOp(
        "ReduceProdD",
        *operands("x > y"),
        "Product over axes; integers wrap around.",
        attributes=_AXES,
        columns=columns("f16 f32 i8 u8"),
        kernels=on(
            "310 310P 310B 610 910: f16 f32 i8 u8; A2 A3: f16 f32 bf16 i8 u8; CS: f16 i8 u8"
        ),
        aicpu=_WIDE,
        family="reduce",
    ),
    TargetOp(
        "ReduceSumD",
        *operands("x > y"),
        "Sum over axes.",
        attributes=_AXES,
        columns=columns(FLOATS),
        kernels=FLOAT_KERNELS,
        family="reduce",
    ),
    TargetOp(
        "SquareSumV1",
        *operands("x > y"),
        "Sum of squares over axes; integers wrap around.",
        attributes=(Attribute("axis", "ints"), Attribute("keep_dims", "bool", default=False)),
        columns=columns(FLOATS),
        kernels=LATER_KERNELS,
        aicpu=_WIDE,
        family="reduce",
        passes=3.0,
    ),
)
