"""Reductions over axes, and where the largest and smallest elements are."""

from atc_py.target.kernels import on
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, Column, Operand, TargetOp, Unit
from atc_py.target.rows.parts import (
    BOOL,
    EXP,
    F16,
    F32,
    F64,
    FLOAT_KERNELS,
    FLOATS,
    I8,
    I32,
    I64,
    LATER_KERNELS,
    LOG,
    U8,
    U32,
    U64,
    Y,
    inputs,
    same,
)

_X = inputs("x")

_AXES = (Attribute("axes", "ints"), Attribute("keep_dims", "bool", default=False))

_WIDE = (I32, I64, U32, U64, F64)
"""Dtypes besides float16 and float32 that the list sums and multiplies but the AI Core does not."""

_POSITION = (Attribute("dimension", "int"), Attribute("dtype", "dtype", I64))

_POSITIONS = tuple(Column((dtype,), (I32,)) for dtype in (*FLOATS, I32))
"""Positions are counted in int32."""

_POSITION_KERNELS = on(
    "310 CS: f16; 310P 610 910: f16 f32; 310B: f16 f32 i32; A2 A3: f16 f32 bf16 i32 i64",
    "T > i32",
)
"""Of ArgMaxD and ArgMinD; 310B, A2 and A3 have them no longer, and ArgMaxV2 and ArgMin do the work."""

ROWS = (
    TargetOp(
        "ArgMaxD",
        _X,
        Y,
        Unit.VECTOR,
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
        _X,
        Y,
        Unit.VECTOR,
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
        _X,
        Y,
        Unit.VECTOR,
        "Sum of magnitudes (p 1) or root of the sum of squares (p 2) over axes, at least epsilon.",
        attributes=(
            Attribute("p", "int", 2),
            Attribute("axes", "ints", ()),
            Attribute("keepdim", "bool", default=False),
            Attribute("epsilon", "float", 1e-12),
        ),
        columns=same(*FLOATS),
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
        (Operand("x"), Operand("axes", value_depend=True, compiled=True)),
        Y,
        Unit.VECTOR,
        "Logarithm of the sum of exponentials over the axes of the second input.",
        attributes=(Attribute("keep_dims", "bool", default=False),),
        columns=tuple(Column((dtype, I64), (dtype,)) for dtype in FLOATS),
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
        _X,
        Y,
        Unit.VECTOR,
        "Largest element over axes.",
        attributes=_AXES,
        columns=same(F16, F32, I32, I8, U8, BOOL),
        kernels=on(
            "310 310P 310B 610 910: f16 f32 i32 i8 u8 b; A2 A3: f16 f32 bf16 i32 i8 u8 b; "
            "CS: f16 i32 i8 u8 b",
        ),
        aicpu=(F64, I64),
        family="reduce",
        selects=True,
    ),
    TargetOp(
        "ReduceMeanD",
        _X,
        Y,
        Unit.VECTOR,
        "Mean over axes.",
        attributes=_AXES,
        columns=same(*FLOATS),
        kernels=FLOAT_KERNELS,
        family="reduce",
    ),
    TargetOp(
        "ReduceMinD",
        _X,
        Y,
        Unit.VECTOR,
        "Smallest element over axes.",
        attributes=_AXES,
        columns=same(F16, F32, I32, I8, U8),
        kernels=on(
            "310 CS: f16 i32 i8 u8; 310P 310B 610 910: f16 f32 i32 i8 u8; "
            "A2 A3: f16 f32 bf16 i32 i8 u8",
        ),
        aicpu=(F32,),
        family="reduce",
        selects=True,
    ),
    TargetOp(
        "ReduceProdD",
        _X,
        Y,
        Unit.VECTOR,
        "Product over axes; integers wrap around.",
        attributes=_AXES,
        columns=same(F16, F32, I8, U8),
        kernels=on(
            "310 310P 310B 610 910: f16 f32 i8 u8; A2 A3: f16 f32 bf16 i8 u8; CS: f16 i8 u8"
        ),
        aicpu=_WIDE,
        family="reduce",
    ),
    TargetOp(
        "ReduceSumD",
        _X,
        Y,
        Unit.VECTOR,
        "Sum over axes.",
        attributes=_AXES,
        columns=same(*FLOATS),
        kernels=FLOAT_KERNELS,
        family="reduce",
    ),
    TargetOp(
        "SquareSumV1",
        _X,
        Y,
        Unit.VECTOR,
        "Sum of squares over axes; integers wrap around.",
        attributes=(Attribute("axis", "ints"), Attribute("keep_dims", "bool", default=False)),
        columns=same(*FLOATS),
        kernels=LATER_KERNELS,
        aicpu=_WIDE,
        family="reduce",
        passes=3.0,
    ),
)
