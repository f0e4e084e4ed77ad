"""Diagonals and triangles of matrices.

CANN's operator information has no entry of these names. Trilu's dtypes are those that its page gives
for Atlas training products, taken for all families; MatrixDiagV2's those of Atlas inference products.
"""

from atc_py.target.row import Unit
from atc_py.target.rows.parts import ANY, MOVED, attributes, operator

ROWS = (
    operator(
        "MatrixDiagV2",
        "Matrices with given diagonals, k places above the main one, and one value elsewhere.",
        "diagonal k# num_rows# num_cols# padding_value > output",
        form="T i32 i32 i32 T > T",
        unit=Unit.MOVE,
        aicpu="f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64",
        family="region",
        formula=(
            "output[.., i, j] = diagonal[.., min(i, j)] where j - i = k, padding_value elsewhere"
        ),
    ),
    operator(
        "Trilu",
        "The upper or lower triangle of matrices, 0 elsewhere; k moves its diagonal to the right.",
        "x k?# > y",
        form="T i64 > T",
        unit=Unit.MOVE,
        attributes=attributes(upper=0),
        columns=ANY,
        kernels=f"950: {MOVED} b f64",
        family="triangle",
    ),
)
