"""Diagonals and triangles of matrices.

CANN's operator information has no entry of these names. Trilu's dtypes are those that its page gives
for Atlas training products, taken for all families; MatrixDiagV2's those of Atlas inference products.
"""

from atc_py.target.row import Attribute, Column, Operand, TargetOp, Unit
from atc_py.target.rows.parts import (
    ANY,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Y,
    inputs,
)
from atc_py.tensor.dtypes import DType

_NUMBERS = (F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64)


def _placed(dtype: DType) -> Column:
    """The column of MatrixDiagV2 for elements of a dtype."""
    return Column((dtype, I32, I32, I32, dtype), (dtype,))


ROWS = (
    TargetOp(
        "MatrixDiagV2",
        inputs("diagonal", "k#", "num_rows#", "num_cols#", "padding_value"),
        (Operand("output"),),
        Unit.MOVE,
        "Matrices with given diagonals, k places above the main one, and one value elsewhere.",
        aicpu=tuple(_placed(dtype) for dtype in _NUMBERS),
        family="region",
        formula=(
            "output[.., i, j] = diagonal[.., min(i, j)] where j - i = k, padding_value elsewhere"
        ),
    ),
    TargetOp(
        "Trilu",
        (Operand("x"), Operand("k", optional=True, value_depend=True)),
        Y,
        Unit.MOVE,
        "The upper or lower triangle of matrices, 0 elsewhere; k moves its diagonal to the right.",
        attributes=(Attribute("upper", "int", 0),),
        columns=tuple(Column((dtype, I64), (dtype,)) for dtype in ANY),
        family="triangle",
    ),
)
