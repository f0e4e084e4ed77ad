"""Elements picked, placed or marked by index."""

from atc_py.target.kernels import Kernels
from atc_py.target.row import Attribute
from atc_py.target.rows.parts import (
    ANY,
    I64,
    MOVED,
    STORAGE,
    UNDECIDED,
    Needed,
    attributes,
    columns,
    of_moves,
    operator,
)

_PICKED = "T i32|i64 > T"
"""Elements of the first input, picked by the second."""

_PLACED = "T i32|i64 T > T"
"""The third input, put into the first by the second."""

ROWS = (
    of_moves(
        "GatherElements",
        "One element for each index, picked along one axis; negative indices count from its end.",
        "x index > y",
        form=_PICKED,
        attributes=attributes(dim=0),
        kernels="310 610 CS: -; 310P 310B 910: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64; "
        "A2 A3: f16 f32 i8 i16 i32 i64 u8 u16 u32 u64 bf16; "
        f"950: {MOVED} b",
        aicpu=ANY,
        formula=(
            "y[.., i, ..] = x[.., index[.., i, ..], ..] along dim; a negative index counts from "
            "the end"
        ),
        picks=True,
    ),
    of_moves(
        "GatherNd",
        "Slices picked by tuples of indices, one for each batch.",
        "x indices > y",
        form=_PICKED,
        attributes=attributes(batch_dims=0, negative_index_support=False),
        columns="f16 f32 i32 i64 i8 u8 b",
        kernels="310 310P 310B 610 910: f16 f32 i32 i64 i8 u8 b; "
        "A2 A3: f16 f32 bf16 i32 i64 i8 u8 b; CS: f16 i32 i8 u8 b; "
        f"950: {MOVED} b f64",
        aicpu="f64 i64 i16 u16 u32 u64",
        picks=True,
    ),
    of_moves(
        "GatherV2D",
        "Slices along one axis, picked by index.",
        "x indices > y",
        form=_PICKED,
        attributes=(
            Attribute("axis", "int"),
            Attribute("negative_index_support", "bool", default=False),  # that of GatherV2
        ),
        columns=STORAGE,
        kernels=f"{UNDECIDED}; 950: {MOVED} b f64",
        aicpu="f64",
        picks=True,
    ),
    operator(
        "NonZero",
        "Indices of the elements that are not zero, in row-major order, a row for each axis.",
        form="T > i64",
        attributes=attributes(transpose=False, dtype=I64),
        columns="f32",
        kernels=Kernels(
            "310 310B 610 CS: -; 310P 910: f16 f32 i8 u8 b; A2 A3: "
            "(f16|f32|bf16|i8|u8|b > i64|i32); 950: "
            "(f16|f32|bf16|i8|u8|i16|u16|i32|u32|i64|b > i64|i32)",
            "T > i32",
        ),
        aicpu=ANY,
        family="region",
        selects=True,
        formula=(
            "y[axis, n] = index along axis of the n-th element of x that is not 0, in row-major "
            "order"
        ),
    ),
    of_moves(
        "OneHotD",
        "on_value where a new axis runs over an index, off_value elsewhere; negative indices "
        "count from depth, and one outside [-depth, depth - 1] marks nothing.",
        "x on_value off_value > y",
        form="i32 T T > T",
        attributes=attributes(depth=Needed.INT, axis=-1),
        columns="f16 f32 i32 i8 u8",
        kernels=Kernels(
            "310 310B 610 910 A2 A3: f16 f32 i32 i8 u8; 310P: f16 f32 i32 i8 u8 (i32 b b > b); "
            "CS: f16 i32 i8 u8; 950: f16 f32 i32 i64 i8 u8",
            "i32|u8 T T > T",
        ),
        aicpu=(
            *columns("f64 i16 i64 u16 u32 u64 b", "i32 T T > T"),
            *columns(ANY, "i64|u64 T T > T"),
        ),
    ),
    of_moves(
        "ReverseSequence",
        "The first seq_lengths[b] elements of each sequence b in reverse order, the rest kept.",
        "x seq_lengths > y",
        form=_PICKED,
        attributes=attributes(seq_dim=Needed.INT, batch_dim=0),
        kernels="310 310B 610 910 A2 A3 CS: -; 310P: f16 f32 i8 u8 i16 u16 i32 i64 b; "
        "950: f16 f32 bf16 i8 u8 i16 u16 i32 i64 b f64",
        aicpu=ANY,
        formula=(
            "y[b, t] = x[b, n - 1 - t] for t < n = seq_lengths[b], else x[b, t]; t along "
            "seq_dim, b along batch_dim"
        ),
    ),
    # Its reductions (add, mul) are not on the lists.
    of_moves(
        "ScatterElements",
        "A copy of data with one element for each index replaced along one axis; negative indices "
        "count from its end, and of several updates of one element the last one stays.",
        "data indices updates > y",
        form=_PLACED,
        attributes=attributes(axis=0, reduction="none"),
        columns="f16 f32 i32 i8 u8",
        kernels="310 310P 610 CS: -; 310B 910: f16 f32 i32 i8 u8; A2 A3: f16 f32 i32 i8 u8 bf16; "
        "950: f16 f32 bf16 i32 i64 i16 i8 u8",
        aicpu=f"{ANY} bf16",
    ),
    # Its AI Core kernel is ScatterNdUpdate, on a copy that TensorMove makes.
    of_moves(
        "TensorScatterUpdate",
        "A copy of x with the slices at tuples of indices replaced by updates; negative indices "
        "count from the end of their axis.",
        "x indices updates > y",
        form=_PLACED,
        columns="f16 f32 b",
    ),
    operator(
        "Where",
        "Indices of the elements that are not zero, in row-major order, a row for each element.",
        form="T > i64",
        aicpu=ANY,
        family="region",
        selects=True,
        formula="y[n] = indices of the n-th element of x that is not 0, in row-major order",
    ),
)
