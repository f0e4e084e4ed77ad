"""Reductions over axes, and where the largest and smallest elements are."""

from functools import partial

from atc_py.target.kernels import Kernels
from atc_py.target.layouts import Layout
from atc_py.target.rows.parts import (
    EXP,
    FLOAT_KERNELS,
    FLOATS,
    I64,
    LATER_KERNELS,
    LOG,
    Needed,
    attributes,
    columns,
    operator,
)

_WIDE = columns("i32 i64 u32 u64 f64")
"""Dtypes besides float16 and float32 that the list sums and multiplies but the AI Core does not."""

_POSITIONS = columns("f16 f32 i32", "T > i32")
"""Positions are counted in int32."""

_POSITION_KERNELS = Kernels(
    "310 CS: f16; 310P 610 910: f16 f32; 310B: f16 f32 i32; "
    "A2 A3: f16 f32 bf16 i32 i64; 950: f16 f32 bf16 i32 i64 (f16|f32|bf16|i32|i64 > i64)",
    "T > i32",
)
"""Of ArgMaxD and ArgMinD; newer families have ArgMaxV2 and ArgMin instead, which do the work."""


_position = partial(
    operator,
    attributes=attributes(dimension=Needed.INT, dtype=I64),
    columns=_POSITIONS,
    kernels=_POSITION_KERNELS,
    aicpu=_POSITIONS[1:2],
    family="reduce",
    selects=True,
    takes=Layout.ROWS,
    passes=3.0,
)

_over_axes = partial(
    operator,
    attributes=attributes(axes=Needed.INTS, keep_dims=False),
    columns=FLOATS,
    kernels=FLOAT_KERNELS,
    family="reduce",
)

ROWS = (
    _position(
        "ArgMaxD", "Position of the first of the largest elements along one axis, which goes."
    ),
    _position(
        "ArgMinD", "Position of the first of the smallest elements along one axis, which goes."
    ),
    operator(
        "LpNorm",
        "Sum of magnitudes (p 1) or root of the sum of squares (p 2) over axes, at least epsilon.",
        attributes=attributes(p=2, axes=(), keepdim=False, epsilon=1e-12),
        columns=FLOATS,
        kernels="310 310P 310B 610 910 A2 A3: f16 f32; CS: f16",
        aicpu=_WIDE,
        family="reduce",
        takes=Layout.ROWS,
        passes=3.0,
    ),
    # No form of it has its axes as an attribute. CANN's kernel does not subtract the largest element
    # first, so that exponentials of what is above 88 overflow there.
    operator(
        "ReduceLogSumExp",
        "Logarithm of the sum of exponentials over the axes of the second input.",
        "x axes#! > y",
        form="T i64 > T",
        attributes=attributes(keep_dims=False),
        columns=FLOATS,
        kernels=Kernels(
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
        columns="f16 f32 i32 i8 u8 b",
        kernels="310 310P 310B 610 910: f16 f32 i32 i8 u8 b; A2 A3: f16 f32 bf16 i32 i8 u8 b; "
        "CS: f16 i32 i8 u8 b; 950: f16 f32 bf16 i32 i8 u8 i64",
        aicpu="f64 i64",
        selects=True,
    ),
    _over_axes("ReduceMeanD", "Mean over axes."),
    _over_axes(
        "ReduceMinD",
        "Smallest element over axes.",
        columns="f16 f32 i32 i8 u8",
        kernels="310 CS: f16 i32 i8 u8; 310P 310B 610 910: f16 f32 i32 i8 u8; "
        "A2 A3: f16 f32 bf16 i32 i8 u8; 950: f16 f32 bf16 i32 i8 u8 i64",
        aicpu="f32",
        selects=True,
    ),
    _over_axes(
        "ReduceProdD",
        "Product over axes; integers wrap around.",
        columns="f16 f32 i8 u8",
        kernels="310 310P 310B 610 910: f16 f32 i8 u8; A2 A3: f16 f32 bf16 i8 u8; CS: f16 i8 u8; "
        "950: f16 f32 bf16 i8 u8 i32 i64 b",
        aicpu=_WIDE,
    ),
    _over_axes(
        "ReduceSumD",
        "Sum over axes.",
        kernels="310 310P 310B 610 910: f16 f32; A2 A3: f16 f32 bf16; CS: f16; "
        "950: f16 f32 bf16 i32 i64",
    ),
    operator(
        "SquareSumV1",
        "Sum of squares over axes; integers wrap around.",
        attributes=attributes(axis=Needed.INTS, keep_dims=False),
        columns=FLOATS,
        kernels=LATER_KERNELS,
        aicpu=_WIDE,
        family="reduce",
        passes=3.0,
    ),
)
