"""Numbers counted up in steps."""

from atc_py.target.kernels import on
from atc_py.target.row import TargetOp
from atc_py.target.rows.parts import columns, operands

ROWS = (
    TargetOp(
        "Range",
        *operands("start limit delta > y"),
        "start + i * delta for every i before limit is reached.",
        kernels=on(
            "310: -; 310P 910: f16 f32 i32 i64; 310B 610: f16 f32 i32; "
            "A2 A3 950: f16 f32 bf16 i32 i64; CS: f32 i32",
        ),
        aicpu=columns("f32 f64 i16 i32 i64"),
        family="region",
        formula="y[i] = start + i * delta for 0 <= i < ceil((limit - start) / delta)",
    ),
)
