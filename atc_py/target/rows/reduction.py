"""Reductions over axes, and where the largest and smallest elements are."""

from atc_py.target.kernels import Kernels, on
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, Column, TargetOp
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

_WIDE = columns("i32 i64 u32 u64 f64")
"""Dtypes besides float16 and float32 that the list sums and multiplies but the AI Core does not."""

_POSITIONS = columns("f16 f32 i32", "T > i32")
"""Positions are counted in int32."""

_POSITION_KERNELS = on(
    "310 CS: f16; 310P 610 910: f16 f32; 310B: f16 f32 i32; "
    "A2 A3: f16 f32 bf16 i32 i64; 950: f16 f32 bf16 i32 i64 (f16|f32|bf16|i32|i64 > i64)",
    "T > i32",
)
"""Of ArgMaxD and ArgMinD; newer families have ArgMaxV2 and ArgMin instead, which do the work."""


def _position(name: str, summary: str) -> TargetOp:
    return TargetOp(
        name,
        *operands("x > y"),
        summary,
        attributes=(Attribute("dimension", "int"), Attribute("dtype", "dtype", I64)),
        columns=_POSITIONS,
        kernels=_POSITION_KERNELS,
        aicpu=_POSITIONS[1:2],
        family="reduce",
        selects=True,
        takes=Layout.ROWS,
        passes=3.0,
    )


def _over_axes(
    name: str,
    summary: str,
    dtypes: str = FLOATS,
    *,
    kernels: Kernels = FLOAT_KERNELS,
    aicpu: tuple[Column, ...] = (),
    selects: bool = False,
) -> TargetOp:
    return TargetOp(
        name,
        *operands("x > y"),
        summary,
        attributes=(Attribute("axes", "ints"), Attribute("keep_dims", "bool", default=False)),
        columns=columns(dtypes),
        kernels=kernels,
        aicpu=aicpu,
        family="reduce",
        selects=selects,
    )


ROWS = (
    _position(
        "ArgMaxD", "Position of the first of the largest elements along one axis, which goes."
    ),
    _position(
        "ArgMinD", "Position of the first of the smallest elements along one axis, which goes."
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
        kernels=on(
            "310 310P 310B 910 A2 A3: f16 f32; 610 CS: -; 950: f16 f32 bf16", "T i64|i32 > T"
        ),
        family="reduce",
        formula="y = m + log(sum of exp(x - m) over axes), m the largest x over them",
        takes=Layout.ROWS,
        passes=4 + EXP + LOG,
    ),
    # int64 and float64 on the AI CPU are inferred from the lists. With the axes as an input, some
    # families have int64 on the AI Core; the operator that has them as an attribute has not.
    _over_axes(
        "ReduceMaxD",
        "Largest element over axes.",
        "f16 f32 i32 i8 u8 b",
        kernels=on(
            "310 310P 310B 610 910: f16 f32 i32 i8 u8 b; A2 A3: f16 f32 bf16 i32 i8 u8 b; "
            "CS: f16 i32 i8 u8 b; 950: f16 f32 bf16 i32 i8 u8 i64",
        ),
        aicpu=columns("f64 i64"),
        selects=True,
    ),
    _over_axes("ReduceMeanD", "Mean over axes."),
    _over_axes(
        "ReduceMinD",
        "Smallest element over axes.",
        "f16 f32 i32 i8 u8",
        kernels=on(
            "310 CS: f16 i32 i8 u8; 310P 310B 610 910: f16 f32 i32 i8 u8; "
            "A2 A3: f16 f32 bf16 i32 i8 u8; 950: f16 f32 bf16 i32 i8 u8 i64",
        ),
        aicpu=columns("f32"),
        selects=True,
    ),
    _over_axes(
        "ReduceProdD",
        "Product over axes; integers wrap around.",
        "f16 f32 i8 u8",
        kernels=on(
            "310 310P 310B 610 910: f16 f32 i8 u8; A2 A3: f16 f32 bf16 i8 u8; CS: f16 i8 u8; "
            "950: f16 f32 bf16 i8 u8 i32 i64 b"
        ),
        aicpu=_WIDE,
    ),
    _over_axes(
        "ReduceSumD",
        "Sum over axes.",
        kernels=on(
            "310 310P 310B 610 910: f16 f32; A2 A3: f16 f32 bf16; CS: f16; "
            "950: f16 f32 bf16 i32 i64"
        ),
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
