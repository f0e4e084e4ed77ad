"""Data movement: bits are copied, not looked at."""

from atc_py.target.kernels import on
from atc_py.target.layouts import Layout
from atc_py.target.row import Attribute, TargetOp, Unit
from atc_py.target.rows.parts import (
    ANY,
    MOVED,
    STORAGE,
    UNDECIDED,
    columns,
    operands,
)
from atc_py.target.soc import Resource

_NAMED = f"{ANY} bf16"
"""Dtypes that operators take which only rename."""

_BFLOAT16 = columns("bf16", needs=Resource.BFLOAT16)
_INT4 = columns("i4", needs=Resource.QUANT_INT4)

ROWS = (
    TargetOp(
        "ConcatD",
        *operands("x* > y"),
        "Tensors joined along one axis.",
        unit=Unit.MOVE,
        attributes=(Attribute("concat_dim", "int"), Attribute("N", "int", 1)),
        columns=columns(STORAGE),
        kernels=on(f"{UNDECIDED}; 950: {MOVED} b f64"),
        aicpu=columns("f64"),
        family="move",
        takes=Layout.JOIN,
    ),
    TargetOp(
        "ConfusionTransposeD",
        *operands("x > y"),
        "Axes in another order, then another shape; or another shape, then axes in another order.",
        unit=Unit.MOVE,
        attributes=(
            Attribute("perm", "ints"),
            Attribute("shape", "ints"),
            Attribute("transpose_first", "bool"),
        ),
        columns=(*columns(STORAGE), *_BFLOAT16),
        kernels=on(f"{UNDECIDED}; 950: {MOVED}"),
        aicpu=columns("f64"),
        family="move",
        takes=Layout.HEADS,
        passes=2.0,
    ),
    TargetOp(
        "Flatten",
        *operands("x > y"),
        "A matrix whose rows run over the axes before `axis`.",
        unit=Unit.LOCAL,
        attributes=(Attribute("axis", "int", 1),),
        columns=columns(_NAMED),
        takes=Layout.VIEW,
    ),
    TargetOp(
        "PadV3D",
        *operands("x > y"),
        "Borders added: a constant, the edge repeated, or the inside mirrored.",
        unit=Unit.MOVE,
        attributes=(
            Attribute("paddings", "ints"),
            Attribute("constant_values", "float", 0.0),
            Attribute("mode", "string", "constant"),
        ),
        columns=columns("f16 f32 i8 u8 i32"),
        kernels=on(f"310 310P 310B 610 910 A2 A3 CS: f16 f32 i8 u8 i32; 950: {MOVED} b f64"),
        aicpu=columns("i16 i64 u16 u32 u64 f64 b"),
        family="move",
    ),
    TargetOp(
        "PhonyConcat",
        *operands("x* > y"),
        "Tensors joined along one axis, which are computed where the result has them.",
        unit=Unit.LOCAL,
        attributes=(Attribute("concat_dim", "int"), Attribute("N", "int", 1)),
        columns=columns(f"{ANY} bf16"),
        takes=Layout.JOIN,
    ),
    TargetOp(
        "Reshape",
        *operands("x shape# > y"),
        "The same elements in the same order under another shape; a dim of 0 stands for that "
        "of x at its place unless allowzero, one of -1 for what is left.",
        unit=Unit.LOCAL,
        attributes=(
            Attribute("axis", "int", 0),
            Attribute("num_axes", "int", -1),
            Attribute("allowzero", "int", 0),
        ),
        columns=columns(_NAMED, "T i64 > T"),
        takes=Layout.VIEW,
    ),
    TargetOp(
        "SplitVD",
        *operands("x > y*"),
        "A tensor cut along one axis into parts of given sizes.",
        unit=Unit.MOVE,
        attributes=(
            Attribute("size_splits", "ints"),
            Attribute("split_dim", "int"),
            Attribute("num_split", "int"),
        ),
        columns=columns(STORAGE),
        kernels=on(
            f"310 310P 310B 610 910 A2 A3: ?; CS: f16 i8 i16 i32 i64 u8 u16 u32 u64; 950: {MOVED} b"
        ),
        aicpu=columns("f64"),
        family="move",
        takes=Layout.JOIN,
    ),
    TargetOp(
        "Squeeze",
        *operands("x > y"),
        "Axes of size 1 removed; none named means all of them.",
        unit=Unit.LOCAL,
        attributes=(Attribute("axis", "ints", ()),),
        columns=columns(_NAMED),
        takes=Layout.VIEW,
    ),
    TargetOp(
        "StridedSliceD",
        *operands("x > y"),
        "Every n-th element between two bounds on each axis, numpy's slicing.",
        unit=Unit.MOVE,
        attributes=(
            Attribute("begin", "ints"),
            Attribute("end", "ints"),
            Attribute("strides", "ints"),
            Attribute("begin_mask", "int", 0),
            Attribute("end_mask", "int", 0),
        ),
        columns=columns("f16 f32 i32 u8 b i8"),
        kernels=on(f"{UNDECIDED}; 950: {MOVED} b"),
        aicpu=columns("i16 i64 u16 u32 u64 f64"),
        family="move",
        picks=True,
    ),
    TargetOp(
        "TileD",
        *operands("x > y"),
        "A tensor repeated along each of its axes.",
        unit=Unit.MOVE,
        attributes=(Attribute("multiples", "ints"),),
        columns=(*columns(STORAGE), *_BFLOAT16),
        kernels=on(f"310 310P 310B 610 910 A2 A3: ?; CS: f16 i32 b; 950: {MOVED} b"),
        aicpu=columns("i8 i16 i64 u8 u16 u32 u64 f64"),
        family="move",
    ),
    TargetOp(
        "TransData",
        *operands("src > dst"),
        "The same tensor stored in another format; padding is zero.",
        unit=Unit.MOVE,
        attributes=(
            Attribute("src_format", "string"),
            Attribute("dst_format", "string"),
            Attribute("src_subformat", "int", 0),
            Attribute("dst_subformat", "int", 0),
            Attribute("groups", "int", 1),
        ),
        columns=(*columns(STORAGE), *_BFLOAT16, *_INT4),
        kernels=on(
            "310 310B 910 A2 A3 CS: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 bf16; "
            "310P 610: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64; "
            "950: f16 f32 bf16 i8 u8 i16 u16 i32 u32",
        ),
        aicpu=columns("f64"),
        family="move",
    ),
    TargetOp(
        "TransposeD",
        *operands("x > y"),
        "Axes in another order.",
        unit=Unit.MOVE,
        attributes=(Attribute("perm", "ints"),),
        columns=columns(STORAGE),
        kernels=on(
            "310 310P 310B 610 910 CS: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 b; "
            "A2 A3 950: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 b bf16",
        ),
        aicpu=columns("f64"),
        family="move",
        passes=2.0,
    ),
    TargetOp(
        "Unsqueeze",
        *operands("x > y"),
        "Axes of size 1 inserted.",
        unit=Unit.LOCAL,
        attributes=(Attribute("axes", "ints", ()),),
        columns=columns(_NAMED),
        takes=Layout.VIEW,
    ),
)
