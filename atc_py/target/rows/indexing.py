"""Elements picked, placed or marked by index."""

from atc_py.target.kernels import on
from atc_py.target.row import Attribute, Column, TargetOp, Unit
from atc_py.target.rows.parts import (
    ANY,
    BF16,
    BOOL,
    DECIDED_LATER,
    F16,
    F32,
    F64,
    FLOATS,
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

_INDICES = (I32, I64)
_MARKS = (F16, F32, I32, I8, U8)
"""What OneHotD fills with on the AI Core."""


def _picked(*dtypes: DType) -> tuple[Column, ...]:
    """Columns of operators that pick elements of their first input by their second."""
    return tuple(Column((dtype, index), (dtype,)) for dtype in dtypes for index in _INDICES)


def _placed(*dtypes: DType) -> tuple[Column, ...]:
    """Columns of operators that put their third input into the first by the second."""
    return tuple(Column((dtype, index, dtype), (dtype,)) for dtype in dtypes for index in _INDICES)


def _marked(indices: tuple[DType, ...], marks: tuple[DType, ...]) -> tuple[Column, ...]:
    return tuple(Column((index, mark, mark), (mark,)) for mark in marks for index in indices)


ROWS = (
    TargetOp(
        "GatherElements",
        inputs("x", "index"),
        Y,
        Unit.MOVE,
        "One element for each index, picked along one axis; negative indices count from its end.",
        attributes=(Attribute("dim", "int", 0),),
        kernels=on(
            "310 610 CS: -; 310P 310B 910: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64; "
            "A2 A3: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 bf16",
            "T i32|i64 > T",
        ),
        aicpu=_picked(*ANY),
        family="move",
        formula=(
            "y[.., i, ..] = x[.., index[.., i, ..], ..] along dim; a negative index counts from "
            "the end"
        ),
        picks=True,
    ),
    TargetOp(
        "GatherNd",
        inputs("x", "indices"),
        Y,
        Unit.MOVE,
        "Slices picked by tuples of indices, one for each batch.",
        attributes=(
            Attribute("batch_dims", "int", 0),
            Attribute("negative_index_support", "bool", default=False),
        ),
        columns=_picked(F16, F32, I32, I64, I8, U8, BOOL),
        kernels=on(
            "310 310P 310B 610 910: f16 f32 i32 i64 i8 u8 b; "
            "A2 A3: f16 f32 bf16 i32 i64 i8 u8 b; CS: f16 i32 i8 u8 b",
            "T i32|i64 > T",
        ),
        aicpu=_picked(F64, I64, I16, U16, U32, U64),
        family="move",
        picks=True,
    ),
    TargetOp(
        "GatherV2D",
        inputs("x", "indices"),
        Y,
        Unit.MOVE,
        "Slices along one axis, picked by index.",
        attributes=(
            Attribute("axis", "int"),
            Attribute("negative_index_support", "bool", default=False),  # that of GatherV2
        ),
        columns=_picked(*STORAGE),
        kernels=DECIDED_LATER,
        aicpu=_picked(F64),
        family="move",
        picks=True,
    ),
    TargetOp(
        "NonZero",
        inputs("x"),
        Y,
        Unit.VECTOR,
        "Indices of the elements that are not zero, in row-major order, a row for each axis.",
        attributes=(
            Attribute("transpose", "bool", default=False),
            Attribute("dtype", "dtype", I64),
        ),
        columns=(Column((F32,), (I64,)),),
        kernels=on(
            "310 310B 610 CS: -; 310P 910: f16 f32 i8 u8 b; "
            "A2 A3: (f16|f32|bf16|i8|u8|b > i64|i32)",
            "T > i32",
        ),
        aicpu=tuple(Column((dtype,), (I64,)) for dtype in ANY),
        family="region",
        selects=True,
        formula=(
            "y[axis, n] = index along axis of the n-th element of x that is not 0, in row-major "
            "order"
        ),
    ),
    TargetOp(
        "OneHotD",
        inputs("x", "on_value", "off_value"),
        Y,
        Unit.MOVE,
        "on_value where a new axis runs over an index, off_value elsewhere; negative indices "
        "count from depth, and one outside [-depth, depth - 1] marks nothing.",
        attributes=(Attribute("depth", "int"), Attribute("axis", "int", -1)),
        columns=_marked((I32,), _MARKS),
        kernels=on(
            "310 310B 610 910 A2 A3: f16 f32 i32 i8 u8; "
            "310P: f16 f32 i32 i8 u8 (i32 b b > b); CS: f16 i32 i8 u8",
            "i32|u8 T T > T",
        ),
        aicpu=(
            *_marked((I32,), (F64, I16, I64, U16, U32, U64, BOOL)),
            *_marked((I64, U64), ANY),
        ),
        family="move",
    ),
    TargetOp(
        "ReverseSequence",
        inputs("x", "seq_lengths"),
        Y,
        Unit.MOVE,
        "The first seq_lengths[b] elements of each sequence b in reverse order, the rest kept.",
        attributes=(Attribute("seq_dim", "int"), Attribute("batch_dim", "int", 0)),
        kernels=on(
            "310 310B 610 910 A2 A3 CS: -; 310P: f16 f32 i8 u8 i16 u16 i32 i64 b",
            "T i32|i64 > T",
        ),
        aicpu=_picked(*ANY),
        family="move",
        formula=(
            "y[b, t] = x[b, n - 1 - t] for t < n = seq_lengths[b], else x[b, t]; t along "
            "seq_dim, b along batch_dim"
        ),
    ),
    # Its reductions (add, mul) are not on the lists.
    TargetOp(
        "ScatterElements",
        inputs("data", "indices", "updates"),
        Y,
        Unit.MOVE,
        "A copy of data with one element for each index replaced along one axis; negative indices "
        "count from its end, and of several updates of one element the last one stays.",
        attributes=(Attribute("axis", "int", 0), Attribute("reduction", "string", "none")),
        columns=_placed(F16, F32, I32, I8, U8),
        kernels=on(
            "310 310P 610 CS: -; 310B 910: f16 f32 i32 i8 u8; A2 A3: f16 f32 i32 i8 u8 bf16",
            "T i32|i64 T > T",
        ),
        aicpu=_placed(*ANY, BF16),
        family="move",
    ),
    # Its AI Core kernel is ScatterNdUpdate, on a copy that TensorMove makes.
    TargetOp(
        "TensorScatterUpdate",
        inputs("x", "indices", "updates"),
        Y,
        Unit.MOVE,
        "A copy of x with the slices at tuples of indices replaced by updates; negative indices "
        "count from the end of their axis.",
        columns=_placed(*FLOATS, BOOL),
        family="move",
    ),
    TargetOp(
        "Where",
        inputs("x"),
        Y,
        Unit.VECTOR,
        "Indices of the elements that are not zero, in row-major order, a row for each element.",
        aicpu=tuple(Column((dtype,), (I64,)) for dtype in ANY),
        family="region",
        selects=True,
        formula="y[n] = indices of the n-th element of x that is not 0, in row-major order",
    ),
)
