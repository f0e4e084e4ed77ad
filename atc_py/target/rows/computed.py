"""Operators whose numbers (shapes, axes, counts) are inputs, for those that only the run knows.

Where the numbers are constants the forms whose names end in D have them as attributes.
"""

from atc_py.target.kernels import on
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, TargetOp, Unit
from atc_py.target.rows.parts import (
    ANY,
    ELSEWHERE,
    FLOATS,
    I64,
    MOVED,
    STORAGE,
    columns,
    operands,
)

_INT64 = Attribute("dtype", "dtype", I64)

_NUMBERED = "T i64 > T"
"""A tensor and some int64 numbers."""

ROWS = (
    # Dtypes are those of the operator's declaration; which SoC has a kernel for each, ExpandD's.
    TargetOp(
        "Expand",
        *operands("x shape# > y"),
        "A tensor broadcast together with the shape that the second input has.",
        unit=Unit.MOVE,
        columns=columns("f16 f32 i32 i64 i8 u8 b", "T i32|i64 > T"),
        kernels=on(
            "310 310P 310B 610 910 A2 A3 CS: f16 f32 i32 u8 i8 b; 950: f16 f32 bf16 i32 i64 i8 u8 b",
            "T i32|i64 > T",
        ),
        aicpu=columns("i16 i64 u16 u32 u64 f64", "T i32|i64 > T"),
        family="move",
        formula="y[i] = x[i], or the one element of x along an axis",
    ),
    TargetOp(
        "OneHot",
        *operands("x depth# on_value off_value > y"),
        "on_value where a new axis runs over an index, off_value elsewhere, the axis as long as "
        "the second input says; negative indices count from there.",
        unit=Unit.MOVE,
        attributes=(Attribute("axis", "int", -1),),
        columns=columns("f16 f32 i32 i8 u8", "i32 i64 T T > T"),
        kernels=on(
            "310 610 CS: (i32 i64 f16 f16 > f16) (i32 i64 f32 f32 > f32) "
            "(i32 i64 i32 i32 > i32); 310P 310B 910 A2 A3: f16 f32 i32 i64; "
            "950: f16 f32 i32 i64 i8 u8 (u8 i64 f16 f16 > f16) (u8 i64 f32 f32 > f32) "
            "(u8 i64 i32 i32 > i32) (u8 i64 i64 i64 > i64) (u8 i64 i8 i8 > i8) "
            "(u8 i64 u8 u8 > u8)",
            "i32|i64 i64 T T > T",
        ),
        aicpu=(
            *columns("f64 i8 u8 i16 i64 u16 u32 u64 b", "i32 i64 T T > T"),
            *columns(ANY, "i64|u64 i64 T T > T"),
        ),
        family="move",
        formula=(
            "y[.., d, ..] = on_value where d = x[..], else off_value, d along axis; a negative x "
            "counts from depth"
        ),
    ),
    # CANN's operator has constant_values as a further input; the list allows 0 alone.
    TargetOp(
        "PadV3",
        *operands("x paddings# > y"),
        "Borders added: zeros, the edge repeated, or the inside mirrored. The second input has "
        "(before, after) of each axis, or first all before and then all after.",
        unit=Unit.MOVE,
        attributes=(
            Attribute("mode", "string", "constant"),
            Attribute("paddings_contiguous", "bool", default=True),
        ),
        columns=columns("f16 f32 i8 u8 i32", _NUMBERED),
        kernels=on(
            f"310 310P 310B 910 A2 A3: ?; 610 CS: f16 f32 i32; 950: {MOVED} b f64",
            "T i64 > T",
        ),
        aicpu=columns("i8 u8 i16 i64 u16 u32 u64 f64 b", _NUMBERED),
        family="move",
        formula=(
            "y[i] = x[i - before] inside; outside constant_values, or by mode x of the nearest "
            "edge or mirrored at it"
        ),
    ),
    TargetOp(
        "ReduceSum",
        *operands("x axes# > y"),
        "Sum over the axes of the second input; over all where it has none, unless "
        "noop_with_empty_axes.",
        attributes=(
            Attribute("keep_dims", "bool", default=False),
            Attribute("noop_with_empty_axes", "bool", default=True),
        ),
        columns=columns(FLOATS, _NUMBERED),
        kernels=on(
            "310 610: f16 f32; 310P: f16 f32 i64; 310B: f16 f32 i32 i64; 910: f16 f32 i32; "
            "A2 A3 950: f16 f32 bf16 i32 i64; CS: -",
            "T i32|i64 > T",
        ),
        aicpu=columns("f16 f32 i32 i64 u32 u64 f64", _NUMBERED),
        family="reduce",
        formula=(
            "y = sum of x over axes, over all where none are given, unless noop_with_empty_axes"
        ),
    ),
    TargetOp(
        "Shape",
        *operands("x > y"),
        "The dims of a tensor.",
        unit=Unit.MOVE,
        attributes=(_INT64,),
        kernels=ELSEWHERE,
        aicpu=columns(f"{ANY} bf16", "T > i64"),
        family="region",
        formula="y[i] = size of x along axis i",
        picks=True,
    ),
    TargetOp(
        "Size",
        *operands("x > y"),
        "The number of elements of a tensor.",
        unit=Unit.MOVE,
        attributes=(_INT64,),
        aicpu=columns(f"{ANY} bf16", "T > i64"),
        family="region",
        formula="y = product of the dims of x",
        picks=True,
    ),
    TargetOp(
        "SplitD",
        *operands("x > y*"),
        "A tensor cut along one axis into parts of one size.",
        unit=Unit.MOVE,
        attributes=(Attribute("split_dim", "int"), Attribute("num_split", "int")),
        columns=columns(STORAGE),
        kernels=on(
            f"310 310P 310B 610 910 A2 A3: ?; CS: f16 i8 i16 i32 i64 u8 u16 u32 u64; 950: {MOVED} b"
        ),
        aicpu=columns("f64"),
        family="move",
        takes=Layout.JOIN,
    ),
    TargetOp(
        "SqueezeV3",
        *operands("x axes# > y"),
        "Axes of size 1 removed, those that the second input names; none named means all.",
        unit=Unit.LOCAL,
        columns=columns(f"{ANY} bf16", _NUMBERED),
    ),
    # Masks of bits, by which an axis is taken whole, inserted or taken out, are not used.
    TargetOp(
        "StridedSliceV2",
        *operands("x begin# end# axes?# strides?# > y"),
        "Every n-th element between two bounds on chosen axes, numpy's slicing.",
        unit=Unit.MOVE,
        kernels=on(f"950: {MOVED} b", "T i64 i64 i64 i64 > T"),
        aicpu=columns(ANY, "T i64 i64 i64 i64 > T"),
        family="move",
        formula=(
            "y[i] = x[begin + i * stride] along each axis that axes names, y[i] = x[i] along the "
            "others"
        ),
        picks=True,
    ),
    TargetOp(
        "Tile",
        *operands("x multiples# > y"),
        "A tensor repeated along each of its axes.",
        unit=Unit.MOVE,
        columns=columns(STORAGE, _NUMBERED),
        kernels=on(
            "310 610: f16 f32 i32 b; 310P: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 b; "
            "310B 910: f16 f32 i32 i64 b; "
            "A2 A3 950: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 b bf16; CS: f16 i32 b",
            "T i32|i64 > T",
        ),
        aicpu=columns(f"{ANY} bf16", _NUMBERED),
        family="move",
        formula="y[i] = x[i mod dim of x] along each axis",
    ),
)
