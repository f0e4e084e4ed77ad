"""Work along one axis that keeps it: running sums, and the largest elements in order."""

from atc_py.target.rows.parts import MOVED, Needed, attributes, operator

_DIRECTION = attributes(exclusive=False, reverse=False)

_SUMS = "y[i] = sum of x[j] for j <= i along axis; exclusive leaves x[i] out, reverse has j >= i"

_RANKED = "T f16 > T i32"

ROWS = (
    operator(
        "Cumsum",
        "Running sums along an axis that only the run knows.",
        "x axis# > y",
        form="T i32|i64 > T",
        attributes=_DIRECTION,
        kernels="310 310P 310B 610 910 CS: f16 f32 i32; A2 A3: f16 f32 bf16 i32; "
        "950: f16 f32 bf16 i32 i64 i8 u8 u64",
        aicpu="f16 f32 f64 i32",
        family="rows",
        formula=_SUMS,
    ),
    operator(
        "CumsumD",
        "Running sums along an axis, from the front or back, with or without the element itself.",
        attributes=(*attributes(axis=Needed.INT), *_DIRECTION),
        columns="f16 f32 i32 i8 u8",
        kernels="310 310P 310B 610 910 A2 A3 CS: f16 f32 i32 i8 u8; "
        "950: f16 f32 bf16 i32 i64 i8 u8 u64",
        family="rows",
        formula=_SUMS,
    ),
    operator(
        "TopK",
        "The k largest or smallest elements along an axis, in order, and where they are.",
        "x k# > values indices",
        form="T i64 > T i32",
        attributes=attributes(sorted=True, largest=True, dim=-1),
        kernels=f"950: {MOVED}",
        aicpu="f16 f32 f64",
        family="rows",
        selects=True,
        formula=(
            "values[i] = the i-th largest x along dim (smallest without largest), the lower "
            "place first among equals\n"
            "indices[i] = its place"
        ),
        passes=20.0,
    ),
    # Dtypes are those of TopKV2 in CANN 8.1, which has the same arithmetic; on 310 those of 2022.
    operator(
        "TopKD",
        "The k largest or smallest elements along the last axis, in order, and where they are.",
        "x assist_seq > values indices",
        form=_RANKED,
        attributes=attributes(k=Needed.INT, sorted=True, dim=-1, largest=True),
        columns="f16",
        kernels="310 610 910 CS: f16; 310P 310B: f16 f32; A2 A3: f16 f32 bf16; 950: -",
        family="rows",
        selects=True,
        formula=(
            "values[i] = the i-th largest x along the last axis (smallest without largest), the "
            "lower place first among equals\n"
            "indices[i] = its place"
        ),
        passes=20.0,
    ),
)
