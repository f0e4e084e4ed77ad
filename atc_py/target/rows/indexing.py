"""Elements picked, placed or marked by index."""

from atc_py.target.kernels import on
from atc_py.target.row import Attribute, TargetOp, Unit
from atc_py.target.rows.parts import (
    ANY,
    I64,
    MOVED,
    STORAGE,
    UNDECIDED,
    columns,
    operands,
)

_PICKED = "T i32|i64 > T"
"""Elements of the first input, picked by the second."""

_PLACED = "T i32|i64 T > T"
"""The third input, put into the first by the second."""

ROWS = (
    TargetOp(
        "GatherElements",
        *operands("x index > y"),
        "One element for each index, picked along one axis; negative indices count from its end.",
        unit=Unit.MOVE,
        attributes=(Attribute("dim", "int", 0),),
        kernels=on(
            "310 610 CS: -; 310P 310B 910: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64; "
            "A2 A3: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 bf16; "
            f"950: {MOVED} b",
            _PICKED,
        ),
        aicpu=columns(ANY, _PICKED),
        family="move",
        formula=(
            "y[.., i, ..] = x[.., index[.., i, ..], ..] along dim; a negative index counts from "
            "the end"
        ),
        picks=True,
    ),
    TargetOp(
        "GatherNd",
        *operands("x indices > y"),
        "Slices picked by tuples of indices, one for each batch.",
        unit=Unit.MOVE,
        attributes=(
            Attribute("batch_dims", "int", 0),
            Attribute("negative_index_support", "bool", default=False),
        ),
        columns=columns("f16 f32 i32 i64 i8 u8 b", _PICKED),
        kernels=on(
            "310 310P 310B 610 910: f16 f32 i32 i64 i8 u8 b; "
            "A2 A3: f16 f32 bf16 i32 i64 i8 u8 b; CS: f16 i32 i8 u8 b; "
            f"950: {MOVED} b f64",
            _PICKED,
        ),
        aicpu=columns("f64 i64 i16 u16 u32 u64", _PICKED),
        family="move",
        picks=True,
    ),
    TargetOp(
        "GatherV2D",
        *operands("x indices > y"),
        "Slices along one axis, picked by index.",
        unit=Unit.MOVE,
        attributes=(
            Attribute("axis", "int"),
            Attribute("negative_index_support", "bool", default=False),  # that of GatherV2
        ),
        columns=columns(STORAGE, _PICKED),
        kernels=on(f"{UNDECIDED}; 950: {MOVED} b f64", _PICKED),
        aicpu=columns("f64", _PICKED),
        family="move",
        picks=True,
    ),
    TargetOp(
        "NonZero",
        *operands("x > y"),
        "Indices of the elements that are not zero, in row-major order, a row for each axis.",
        attributes=(
            Attribute("transpose", "bool", default=False),
            Attribute("dtype", "dtype", I64),
        ),
        columns=columns("f32", "T > i64"),
        kernels=on(
            "310 310B 610 CS: -; 310P 910: f16 f32 i8 u8 b; A2 A3: "
            "(f16|f32|bf16|i8|u8|b > i64|i32); 950: "
            "(f16|f32|bf16|i8|u8|i16|u16|i32|u32|i64|b > i64|i32)",
            "T > i32",
        ),
        aicpu=columns(ANY, "T > i64"),
        family="region",
        selects=True,
        formula=(
            "y[axis, n] = index along axis of the n-th element of x that is not 0, in row-major "
            "order"
        ),
    ),
    TargetOp(
        "OneHotD",
        *operands("x on_value off_value > y"),
        "on_value where a new axis runs over an index, off_value elsewhere; negative indices "
        "count from depth, and one outside [-depth, depth - 1] marks nothing.",
        unit=Unit.MOVE,
        attributes=(Attribute("depth", "int"), Attribute("axis", "int", -1)),
        columns=columns("f16 f32 i32 i8 u8", "i32 T T > T"),
        kernels=on(
            "310 310B 610 910 A2 A3: f16 f32 i32 i8 u8; 310P: f16 f32 i32 i8 u8 (i32 b b > b); "
            "CS: f16 i32 i8 u8; 950: f16 f32 i32 i64 i8 u8",
            "i32|u8 T T > T",
        ),
        aicpu=(
            *columns("f64 i16 i64 u16 u32 u64 b", "i32 T T > T"),
            *columns(ANY, "i64|u64 T T > T"),
        ),
        family="move",
    ),
    TargetOp(
        "ReverseSequence",
        *operands("x seq_lengths > y"),
        "The first seq_lengths[b] elements of each sequence b in reverse order, the rest kept.",
        unit=Unit.MOVE,
        attributes=(Attribute("seq_dim", "int"), Attribute("batch_dim", "int", 0)),
        kernels=on(
            "310 310B 610 910 A2 A3 CS: -; 310P: f16 f32 i8 u8 i16 u16 i32 i64 b; "
            "950: f16 f32 bf16 i8 u8 i16 u16 i32 i64 b f64",
            _PICKED,
        ),
        aicpu=columns(ANY, _PICKED),
        family="move",
        formula=(
            "y[b, t] = x[b, n - 1 - t] for t < n = seq_lengths[b], else x[b, t]; t along "
            "seq_dim, b along batch_dim"
        ),
    ),
    # Its reductions (add, mul) are not on the lists.
    TargetOp(
        "ScatterElements",
        *operands("data indices updates > y"),
        "A copy of data with one element for each index replaced along one axis; negative indices "
        "count from its end, and of several updates of one element the last one stays.",
        unit=Unit.MOVE,
        attributes=(Attribute("axis", "int", 0), Attribute("reduction", "string", "none")),
        columns=columns("f16 f32 i32 i8 u8", _PLACED),
        kernels=on(
            "310 310P 610 CS: -; 310B 910: f16 f32 i32 i8 u8; A2 A3: f16 f32 i32 i8 u8 bf16; "
            "950: f16 f32 bf16 i32 i64 i16 i8 u8",
            _PLACED,
        ),
        aicpu=columns(f"{ANY} bf16", _PLACED),
        family="move",
    ),
    # Its AI Core kernel is ScatterNdUpdate, on a copy that TensorMove makes.
    TargetOp(
        "TensorScatterUpdate",
        *operands("x indices updates > y"),
        "A copy of x with the slices at tuples of indices replaced by updates; negative indices "
        "count from the end of their axis.",
        unit=Unit.MOVE,
        columns=columns("f16 f32 b", _PLACED),
        family="move",
    ),
    TargetOp(
        "Where",
        *operands("x > y"),
        "Indices of the elements that are not zero, in row-major order, a row for each element.",
        aicpu=columns(ANY, "T > i64"),
        family="region",
        selects=True,
        formula="y[n] = indices of the n-th element of x that is not 0, in row-major order",
    ),
)
