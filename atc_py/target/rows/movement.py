"""Data movement: bits are copied, not looked at."""

from functools import partial

from atc_py.target.layouts import Layout
from atc_py.target.row import Unit
from atc_py.target.rows.parts import (
    ANY,
    MOVED,
    STORAGE,
    UNDECIDED,
    Needed,
    attributes,
    columns,
    of_moves,
    operator,
)
from atc_py.target.soc import Resource

_NAMED = f"{ANY} bf16"
"""Dtypes that operators take which only rename."""

_BFLOAT16 = columns("bf16", needs=Resource.BFLOAT16)
_INT4 = columns("i4", needs=Resource.QUANT_INT4)

_view = partial(operator, unit=Unit.LOCAL, takes=Layout.VIEW)

ROWS = (
    of_moves(
        "ConcatD",
        "Tensors joined along one axis.",
        "x* > y",
        attributes=attributes(concat_dim=Needed.INT, N=1),
        columns=STORAGE,
        kernels=f"{UNDECIDED}; 950: {MOVED} b f64",
        aicpu="f64",
        takes=Layout.JOIN,
    ),
    of_moves(
        "ConfusionTransposeD",
        "Axes in another order, then another shape; or another shape, then axes in another order.",
        attributes=attributes(perm=Needed.INTS, shape=Needed.INTS, transpose_first=Needed.BOOL),
        columns=(*columns(STORAGE), *_BFLOAT16),
        kernels=f"{UNDECIDED}; 950: {MOVED}",
        aicpu="f64",
        takes=Layout.HEADS,
        passes=2.0,
    ),
    _view(
        "Flatten",
        "A matrix whose rows run over the axes before `axis`.",
        attributes=attributes(axis=1),
        columns=_NAMED,
    ),
    of_moves(
        "PadV3D",
        "Borders added: a constant, the edge repeated, or the inside mirrored.",
        attributes=attributes(paddings=Needed.INTS, constant_values=0.0, mode="constant"),
        columns="f16 f32 i8 u8 i32",
        kernels=f"310 310P 310B 610 910 A2 A3 CS: f16 f32 i8 u8 i32; 950: {MOVED} b f64",
        aicpu="i16 i64 u16 u32 u64 f64 b",
    ),
    operator(
        "PhonyConcat",
        "Tensors joined along one axis, which are computed where the result has them.",
        "x* > y",
        unit=Unit.LOCAL,
        attributes=attributes(concat_dim=Needed.INT, N=1),
        columns=f"{ANY} bf16",
        takes=Layout.JOIN,
    ),
    _view(
        "Reshape",
        "The same elements in the same order under another shape; a dim of 0 stands for that "
        "of x at its place unless allowzero, one of -1 for what is left.",
        "x shape# > y",
        form="T i64 > T",
        attributes=attributes(axis=0, num_axes=-1, allowzero=0),
        columns=_NAMED,
    ),
    of_moves(
        "SplitVD",
        "A tensor cut along one axis into parts of given sizes.",
        "x > y*",
        attributes=attributes(size_splits=Needed.INTS, split_dim=Needed.INT, num_split=Needed.INT),
        columns=STORAGE,
        kernels="310 310P 310B 610 910 A2 A3: ?; CS: f16 i8 i16 i32 i64 u8 u16 u32 u64; "
        f"950: {MOVED} b",
        aicpu="f64",
        takes=Layout.JOIN,
    ),
    _view(
        "Squeeze",
        "Axes of size 1 removed; none named means all of them.",
        attributes=attributes(axis=()),
        columns=_NAMED,
    ),
    of_moves(
        "StridedSliceD",
        "Every n-th element between two bounds on each axis, numpy's slicing.",
        attributes=attributes(
            begin=Needed.INTS, end=Needed.INTS, strides=Needed.INTS, begin_mask=0, end_mask=0
        ),
        columns="f16 f32 i32 u8 b i8",
        kernels=f"{UNDECIDED}; 950: {MOVED} b",
        aicpu="i16 i64 u16 u32 u64 f64",
        picks=True,
    ),
    of_moves(
        "TileD",
        "A tensor repeated along each of its axes.",
        attributes=attributes(multiples=Needed.INTS),
        columns=(*columns(STORAGE), *_BFLOAT16),
        kernels=f"310 310P 310B 610 910 A2 A3: ?; CS: f16 i32 b; 950: {MOVED} b",
        aicpu="i8 i16 i64 u8 u16 u32 u64 f64",
    ),
    of_moves(
        "TransData",
        "The same tensor stored in another format; padding is zero.",
        "src > dst",
        attributes=attributes(
            src_format=Needed.STRING,
            dst_format=Needed.STRING,
            src_subformat=0,
            dst_subformat=0,
            groups=1,
        ),
        columns=(*columns(STORAGE), *_BFLOAT16, *_INT4),
        kernels="310 310B 910 A2 A3 CS: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 bf16; "
        "310P 610: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64; "
        "950: f16 f32 bf16 i8 u8 i16 u16 i32 u32",
        aicpu="f64",
    ),
    of_moves(
        "TransposeD",
        "Axes in another order.",
        attributes=attributes(perm=Needed.INTS),
        columns=STORAGE,
        kernels="310 310P 310B 610 910 CS: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 b; "
        "A2 A3 950: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 b bf16",
        aicpu="f64",
        passes=2.0,
    ),
    _view(
        "Unsqueeze",
        "Axes of size 1 inserted.",
        attributes=attributes(axes=()),
        columns=_NAMED,
    ),
)
