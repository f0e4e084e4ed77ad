"""Numbers counted up in steps."""

from atc_py.target.rows.parts import operator

ROWS = (
    operator(
        "Range",
        "start + i * delta for every i before limit is reached.",
        "start limit delta > y",
        kernels="310: -; 310P 910: f16 f32 i32 i64; 310B 610: f16 f32 i32; "
        "A2 A3 950: f16 f32 bf16 i32 i64; CS: f32 i32",
        aicpu="f32 f64 i16 i32 i64",
        family="region",
        formula="y[i] = start + i * delta for 0 <= i < ceil((limit - start) / delta)",
    ),
)
