"""Operators whose numbers (shapes, axes, counts) are inputs, for those that only the run knows.

Where the numbers are constants the forms whose names end in D have them as attributes.
"""

from atc_py.target.kernels import on
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, Column, Operand, TargetOp, Unit
from atc_py.target.rows.parts import (
    ANY,
    BF16,
    BOOL,
    DECIDED_LATER,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    STORAGE,
    U8,
    U16,
    U32,
    U64,
    Y,
    inputs,
)
from atc_py.tensor.dtypes import DType

_SLICED = (
    Operand("x"),
    *inputs("begin#", "end#"),
    Operand("axes", optional=True, value_depend=True),
    Operand("strides", optional=True, value_depend=True),
)

_INT64 = Attribute("dtype", "dtype", I64)


def _numbered(*dtypes: DType, numbers: int = 1) -> tuple[Column, ...]:
    """Columns of operators that take a tensor and some int64 numbers."""
    return tuple(Column((dtype, *(I64,) * numbers), (dtype,)) for dtype in dtypes)


def _marked(indices: tuple[DType, ...], marks: tuple[DType, ...]) -> tuple[Column, ...]:
    return tuple(Column((index, I64, mark, mark), (mark,)) for mark in marks for index in indices)


ROWS = (
    TargetOp(
        "OneHot",
        inputs("x", "depth#", "on_value", "off_value"),
        Y,
        Unit.MOVE,
        "on_value where a new axis runs over an index, off_value elsewhere, the axis as long as "
        "the second input says; negative indices count from there.",
        attributes=(Attribute("axis", "int", -1),),
        columns=_marked((I32,), (F16, F32, I32, I8, U8)),
        kernels=on(
            "310 610 CS: (i32 i64 f16 f16 > f16) (i32 i64 f32 f32 > f32) (i32 i64 i32 i32 > i32); "
            "310P 310B 910 A2 A3: f16 f32 i32 i64",
            "i32|i64 i64 T T > T",
        ),
        aicpu=(
            *_marked((I32,), (F64, I8, U8, I16, I64, U16, U32, U64, BOOL)),
            *_marked((I64, U64), ANY),
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
        inputs("x", "paddings#"),
        Y,
        Unit.MOVE,
        "Borders added: zeros, the edge repeated, or the inside mirrored. The second input has "
        "(before, after) of each axis, or first all before and then all after.",
        attributes=(
            Attribute("mode", "string", "constant"),
            Attribute("paddings_contiguous", "bool", default=True),
        ),
        columns=_numbered(F16, F32, I8, U8, I32),
        kernels=on("310 310P 310B 910 A2 A3: ?; 610 CS: f16 f32 i32", "T i64 > T"),
        aicpu=_numbered(I8, U8, I16, I64, U16, U32, U64, F64, BOOL),
        family="move",
        formula=(
            "y[i] = x[i - before] inside; outside constant_values, or by mode x of the nearest "
            "edge or mirrored at it"
        ),
    ),
    TargetOp(
        "ReduceSum",
        inputs("x", "axes#"),
        Y,
        Unit.VECTOR,
        "Sum over the axes of the second input; over all where it has none, unless "
        "noop_with_empty_axes.",
        attributes=(
            Attribute("keep_dims", "bool", default=False),
            Attribute("noop_with_empty_axes", "bool", default=True),
        ),
        columns=_numbered(F16, F32),
        kernels=on(
            "310 610: f16 f32; 310P: f16 f32 i64; 310B: f16 f32 i32 i64; 910: f16 f32 i32; "
            "A2 A3: f16 f32 bf16 i32 i64; CS: -",
            "T i32|i64 > T",
        ),
        aicpu=_numbered(F16, F32, I32, I64, U32, U64, F64),
        family="reduce",
        formula=(
            "y = sum of x over axes, over all where none are given, unless noop_with_empty_axes"
        ),
    ),
    TargetOp(
        "Shape",
        inputs("x"),
        Y,
        Unit.MOVE,
        "The dims of a tensor.",
        attributes=(_INT64,),
        kernels=DECIDED_LATER,
        aicpu=tuple(Column((dtype,), (I64,)) for dtype in (*ANY, BF16)),
        family="region",
        formula="y[i] = size of x along axis i",
        picks=True,
    ),
    TargetOp(
        "Size",
        inputs("x"),
        Y,
        Unit.MOVE,
        "The number of elements of a tensor.",
        attributes=(_INT64,),
        aicpu=tuple(Column((dtype,), (I64,)) for dtype in (*ANY, BF16)),
        family="region",
        formula="y = product of the dims of x",
        picks=True,
    ),
    TargetOp(
        "SplitD",
        inputs("x"),
        (Operand("y", variadic=True),),
        Unit.MOVE,
        "A tensor cut along one axis into parts of one size.",
        attributes=(Attribute("split_dim", "int"), Attribute("num_split", "int")),
        columns=tuple(Column((dtype,), (dtype,)) for dtype in STORAGE),
        kernels=on("310 310P 310B 610 910 A2 A3: ?; CS: f16 i8 i16 i32 i64 u8 u16 u32 u64"),
        aicpu=(F64,),
        family="move",
        takes=Layout.JOIN,
    ),
    TargetOp(
        "SqueezeV3",
        inputs("x", "axes#"),
        Y,
        Unit.LOCAL,
        "Axes of size 1 removed, those that the second input names; none named means all.",
        columns=_numbered(*ANY, BF16),
    ),
    # Masks of bits, by which an axis is taken whole, inserted or taken out, are not used.
    TargetOp(
        "StridedSliceV2",
        _SLICED,
        Y,
        Unit.MOVE,
        "Every n-th element between two bounds on chosen axes, numpy's slicing.",
        aicpu=_numbered(*ANY, numbers=4),
        family="move",
        formula=(
            "y[i] = x[begin + i * stride] along each axis that axes names, y[i] = x[i] along the "
            "others"
        ),
        picks=True,
    ),
    TargetOp(
        "Tile",
        inputs("x", "multiples#"),
        Y,
        Unit.MOVE,
        "A tensor repeated along each of its axes.",
        columns=_numbered(*STORAGE),
        kernels=on(
            "310 610: f16 f32 i32 b; 310P: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 b; "
            "310B 910: f16 f32 i32 i64 b; "
            "A2 A3: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 b bf16; CS: f16 i32 b",
            "T i32|i64 > T",
        ),
        aicpu=_numbered(*ANY, BF16),
        family="move",
        formula="y[i] = x[i mod dim of x] along each axis",
    ),
)
