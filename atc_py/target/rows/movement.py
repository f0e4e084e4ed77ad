"""Data movement: bits are copied, not looked at."""

from __future__ import annotations

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
    I4,
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
    same,
)
from atc_py.target.soc import Resource

__all__ = ["ROWS"]

_NAMED = (*ANY, BF16)
"""Dtypes that operators take which only rename."""

_BFLOAT16 = (Column((BF16,), (BF16,), Resource.BFLOAT16),)
_INT4 = (Column((I4,), (I4,), Resource.QUANT_INT4),)

ROWS = (
    TargetOp(
        "ConcatD",
        inputs("x*"),
        Y,
        Unit.MOVE,
        "Tensors joined along one axis.",
        attributes=(Attribute("concat_dim", "int"), Attribute("N", "int", 1)),
        columns=same(*STORAGE),
        kernels=DECIDED_LATER,
        aicpu=(F64,),
        family="move",
        takes=Layout.JOIN,
    ),
    TargetOp(
        "ConfusionTransposeD",
        inputs("x"),
        Y,
        Unit.MOVE,
        "Axes in another order, then another shape; or another shape, then axes in another order.",
        attributes=(
            Attribute("perm", "ints"),
            Attribute("shape", "ints"),
            Attribute("transpose_first", "bool"),
        ),
        columns=(*same(*STORAGE), *_BFLOAT16),
        kernels=DECIDED_LATER,
        aicpu=(F64,),
        family="move",
        takes=Layout.HEADS,
        passes=2.0,
    ),
    TargetOp(
        "Flatten",
        inputs("x"),
        Y,
        Unit.LOCAL,
        "A matrix whose rows run over the axes before `axis`.",
        attributes=(Attribute("axis", "int", 1),),
        columns=same(*_NAMED),
        takes=Layout.VIEW,
    ),
    TargetOp(
        "PadV3D",
        inputs("x"),
        Y,
        Unit.MOVE,
        "Borders added: a constant, the edge repeated, or the inside mirrored.",
        attributes=(
            Attribute("paddings", "ints"),
            Attribute("constant_values", "float", 0.0),
            Attribute("mode", "string", "constant"),
        ),
        columns=same(F16, F32, I8, U8, I32),
        kernels=on("310 310P 310B 610 910 A2 A3 CS: f16 f32 i8 u8 i32"),
        aicpu=(I16, I64, U16, U32, U64, F64, BOOL),
        family="move",
    ),
    TargetOp(
        "Reshape",
        inputs("x", "shape#"),
        Y,
        Unit.LOCAL,
        "The same elements in the same order under another shape; a dim of 0 stands for that "
        "of x at its place unless allowzero, one of -1 for what is left.",
        attributes=(
            Attribute("axis", "int", 0),
            Attribute("num_axes", "int", -1),
            Attribute("allowzero", "int", 0),
        ),
        columns=tuple(Column((dtype, I64), (dtype,)) for dtype in _NAMED),
        takes=Layout.VIEW,
    ),
    TargetOp(
        "SplitVD",
        inputs("x"),
        (Operand("y", variadic=True),),
        Unit.MOVE,
        "A tensor cut along one axis into parts of given sizes.",
        attributes=(
            Attribute("size_splits", "ints"),
            Attribute("split_dim", "int"),
            Attribute("num_split", "int"),
        ),
        columns=same(*STORAGE),
        kernels=on("310 310P 310B 610 910 A2 A3: ?; CS: f16 i8 i16 i32 i64 u8 u16 u32 u64"),
        aicpu=(F64,),
        family="move",
        takes=Layout.JOIN,
    ),
    TargetOp(
        "Squeeze",
        inputs("x"),
        Y,
        Unit.LOCAL,
        "Axes of size 1 removed; none named means all of them.",
        attributes=(Attribute("axis", "ints", ()),),
        columns=same(*_NAMED),
        takes=Layout.VIEW,
    ),
    TargetOp(
        "StridedSliceD",
        inputs("x"),
        Y,
        Unit.MOVE,
        "Every n-th element between two bounds on each axis, numpy's slicing.",
        attributes=(
            Attribute("begin", "ints"),
            Attribute("end", "ints"),
            Attribute("strides", "ints"),
            Attribute("begin_mask", "int", 0),
            Attribute("end_mask", "int", 0),
        ),
        columns=same(F16, F32, I32, U8, BOOL, I8),
        kernels=DECIDED_LATER,
        aicpu=(I16, I64, U16, U32, U64, F64),
        family="move",
        picks=True,
    ),
    TargetOp(
        "TileD",
        inputs("x"),
        Y,
        Unit.MOVE,
        "A tensor repeated along each of its axes.",
        attributes=(Attribute("multiples", "ints"),),
        columns=(*same(*STORAGE), *_BFLOAT16),
        kernels=on("310 310P 310B 610 910 A2 A3: ?; CS: f16 i32 b"),
        aicpu=(I8, I16, I64, U8, U16, U32, U64, F64),
        family="move",
    ),
    TargetOp(
        "TransData",
        inputs("src"),
        (Operand("dst"),),
        Unit.MOVE,
        "The same tensor stored in another format; padding is zero.",
        attributes=(
            Attribute("src_format", "string"),
            Attribute("dst_format", "string"),
            Attribute("src_subformat", "int", 0),
            Attribute("dst_subformat", "int", 0),
            Attribute("groups", "int", 1),
        ),
        columns=(*same(*STORAGE), *_BFLOAT16, *_INT4),
        kernels=on(
            "310 310B 910 A2 A3 CS: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 bf16; "
            "310P 610: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64",
        ),
        aicpu=(F64,),
        family="move",
    ),
    TargetOp(
        "TransposeD",
        inputs("x"),
        Y,
        Unit.MOVE,
        "Axes in another order.",
        attributes=(Attribute("perm", "ints"),),
        columns=same(*STORAGE),
        kernels=on(
            "310 310P 310B 610 910 CS: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 b; "
            "A2 A3: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 b bf16",
        ),
        aicpu=(F64,),
        family="move",
        passes=2.0,
    ),
    TargetOp(
        "Unsqueeze",
        inputs("x"),
        Y,
        Unit.LOCAL,
        "Axes of size 1 inserted.",
        attributes=(Attribute("axes", "ints", ()),),
        columns=same(*_NAMED),
        takes=Layout.VIEW,
    ),
)
