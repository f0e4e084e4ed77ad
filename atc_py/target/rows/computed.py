"""Operators whose numbers (shapes, axes, counts) are inputs, for those that only the run knows.

Where the numbers are constants the forms whose names end in D have them as attributes.
"""

from atc_py.target.kernels import Kernels
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, Unit
from atc_py.target.rows.parts import (
    ANY,
    ELSEWHERE,
    FLOATS,
    I64,
    MOVED,
    STORAGE,
    Needed,
    attributes,
    columns,
    of_moves,
    operator,
)

_INT64 = Attribute("dtype", "dtype", I64)

_NUMBERED = "T i64 > T"
"""A tensor and some int64 numbers."""

ROWS = (
    # Dtypes are those of the operator's declaration; which SoC has a kernel for each, ExpandD's.
    of_moves(
        "Expand",
        "A tensor broadcast together with the shape that the second input has.",
        "x shape# > y",
        form="T i32|i64 > T",
        columns="f16 f32 i32 i64 i8 u8 b",
        kernels="310 310P 310B 610 910 A2 A3 CS: f16 f32 i32 u8 i8 b; "
        "950: f16 f32 bf16 i32 i64 i8 u8 b",
        aicpu="i16 i64 u16 u32 u64 f64",
        formula="y[i] = x[i], or the one element of x along an axis",
    ),
    of_moves(
        "OneHot",
        "on_value where a new axis runs over an index, off_value elsewhere, the axis as long as "
        "the second input says; negative indices count from there.",
        "x depth# on_value off_value > y",
        form="i32 i64 T T > T",
        attributes=attributes(axis=-1),
        columns="f16 f32 i32 i8 u8",
        kernels=Kernels(
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
        formula=(
            "y[.., d, ..] = on_value where d = x[..], else off_value, d along axis; a negative x "
            "counts from depth"
        ),
    ),
    # CANN's operator has constant_values as a further input; the list allows 0 alone.
    of_moves(
        "PadV3",
        "Borders added: zeros, the edge repeated, or the inside mirrored. The second input has "
        "(before, after) of each axis, or first all before and then all after.",
        "x paddings# > y",
        form=_NUMBERED,
        attributes=attributes(mode="constant", paddings_contiguous=True),
        columns="f16 f32 i8 u8 i32",
        kernels=Kernels(
            f"310 310P 310B 910 A2 A3: ?; 610 CS: f16 f32 i32; 950: {MOVED} b f64",
            "T i64 > T",
        ),
        aicpu="i8 u8 i16 i64 u16 u32 u64 f64 b",
        formula=(
            "y[i] = x[i - before] inside; outside constant_values, or by mode x of the nearest "
            "edge or mirrored at it"
        ),
    ),
    operator(
        "ReduceSum",
        "Sum over the axes of the second input; over all where it has none, unless "
        "noop_with_empty_axes.",
        "x axes# > y",
        form=_NUMBERED,
        attributes=attributes(keep_dims=False, noop_with_empty_axes=True),
        columns=FLOATS,
        kernels=Kernels(
            "310 610: f16 f32; 310P: f16 f32 i64; 310B: f16 f32 i32 i64; 910: f16 f32 i32; "
            "A2 A3 950: f16 f32 bf16 i32 i64; CS: -",
            "T i32|i64 > T",
        ),
        aicpu="f16 f32 i32 i64 u32 u64 f64",
        family="reduce",
        formula=(
            "y = sum of x over axes, over all where none are given, unless noop_with_empty_axes"
        ),
    ),
    operator(
        "Shape",
        "The dims of a tensor.",
        form="T > i64",
        unit=Unit.MOVE,
        attributes=(_INT64,),
        kernels=ELSEWHERE,
        aicpu=f"{ANY} bf16",
        family="region",
        formula="y[i] = size of x along axis i",
        picks=True,
    ),
    operator(
        "Size",
        "The number of elements of a tensor.",
        form="T > i64",
        unit=Unit.MOVE,
        attributes=(_INT64,),
        aicpu=f"{ANY} bf16",
        family="region",
        formula="y = product of the dims of x",
        picks=True,
    ),
    of_moves(
        "SplitD",
        "A tensor cut along one axis into parts of one size.",
        "x > y*",
        attributes=attributes(split_dim=Needed.INT, num_split=Needed.INT),
        columns=STORAGE,
        kernels="310 310P 310B 610 910 A2 A3: ?; CS: f16 i8 i16 i32 i64 u8 u16 u32 u64; "
        f"950: {MOVED} b",
        aicpu="f64",
        takes=Layout.JOIN,
    ),
    operator(
        "SqueezeV3",
        "Axes of size 1 removed, those that the second input names; none named means all.",
        "x axes# > y",
        form=_NUMBERED,
        unit=Unit.LOCAL,
        columns=f"{ANY} bf16",
    ),
    # Masks of bits, by which an axis is taken whole, inserted or taken out, are not used.
    of_moves(
        "StridedSliceV2",
        "Every n-th element between two bounds on chosen axes, numpy's slicing.",
        "x begin# end# axes?# strides?# > y",
        form="T i64 i64 i64 i64 > T",
        kernels=f"950: {MOVED} b",
        aicpu=ANY,
        formula=(
            "y[i] = x[begin + i * stride] along each axis that axes names, y[i] = x[i] along the "
            "others"
        ),
        picks=True,
    ),
    of_moves(
        "Tile",
        "A tensor repeated along each of its axes.",
        "x multiples# > y",
        form=_NUMBERED,
        columns=STORAGE,
        kernels=Kernels(
            "310 610: f16 f32 i32 b; 310P: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 b; "
            "310B 910: f16 f32 i32 i64 b; "
            "A2 A3 950: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 b bf16; CS: f16 i32 b",
            "T i32|i64 > T",
        ),
        aicpu=f"{ANY} bf16",
        formula="y[i] = x[i mod dim of x] along each axis",
    ),
)
