"""Diagonals and triangles of matrices.

CANN's operator information has no entry of these names. Trilu's dtypes are those that its page gives
for Atlas training products, taken for all families; MatrixDiagV2's those of Atlas inference products.
"""

from atc_py.target.kernels import on
from atc_py.target.row import Attribute, TargetOp, Unit
from atc_py.target.rows.parts import (
    ANY,
    MOVED,
    columns,
    operands,
)

ROWS = (
    TargetOp(
        "MatrixDiagV2",
        *operands("diagonal k# num_rows# num_cols# padding_value > output"),
        "Matrices with given diagonals, k places above the main one, and one value elsewhere.",
        unit=Unit.MOVE,
        aicpu=columns("f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64", "T i32 i32 i32 T > T"),
        family="region",
        formula=(
            "output[.., i, j] = diagonal[.., min(i, j)] where j - i = k, padding_value elsewhere"
        ),
    ),
    TargetOp(
        "Trilu",
        *operands("x k?# > y"),
        "The upper or lower triangle of matrices, 0 elsewhere; k moves its diagonal to the right.",
        unit=Unit.MOVE,
        attributes=(Attribute("upper", "int", 0),),
        columns=columns(ANY, "T i64 > T"),
        kernels=on(f"950: {MOVED} b f64", "T i64 > T"),
        family="triangle",
    ),
)
