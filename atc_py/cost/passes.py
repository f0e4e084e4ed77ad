"""How often the vector unit goes over the elements of an operator.

An instruction of the vector unit works off 256 bytes a cycle. How many an operator takes is read
off its formula: one for each arithmetic step, with a division, a root and an exponential counted
as a handful. CANN does not publish them; the least is one, whatever the operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.target import Unit

if TYPE_CHECKING:
    from atc_py.target import TargetOp

__all__ = ["passes_of"]

_DIVISION, _EXP, _LOG, _POLYNOMIAL = 2.0, 3.0, 3.0, 10.0

_BY_OPERATOR = {
    "Acos": _POLYNOMIAL, "Acosh": _POLYNOMIAL, "Addcmul": 2.0, "Asin": _POLYNOMIAL,
    "Asinh": _POLYNOMIAL, "Atan": _POLYNOMIAL, "Atanh": _POLYNOMIAL,
    "Celu": 4 + _EXP, "ClipByValue": 2.0, "Cos": _POLYNOMIAL, "Cosh": 3 + 2 * _EXP,
    "Elu": 3 + _EXP, "Erf": _POLYNOMIAL + _EXP, "Exp": _EXP, "FloorMod": 2 + _DIVISION,
    "GeluV2": 6 + _EXP + _DIVISION, "HardSigmoid": 4.0, "HardSwish": 5.0, "LeakyRelu": 2.0,
    "Log": _LOG, "Mod": 2 + _DIVISION, "Pow": _EXP + _LOG, "RealDiv": _DIVISION,
    "Reciprocal": _DIVISION, "Selu": 4 + _EXP, "Sigmoid": 2 + _EXP + _DIVISION, "Sign": 3.0,
    "Sin": _POLYNOMIAL, "Sinh": 3 + 2 * _EXP, "Softplus": 2 + _EXP + _LOG,
    "Softsign": 2 + _DIVISION, "Sqrt": 2.0, "Swish": 3 + _EXP + _DIVISION,
    "Tanh": 4 + _EXP + _DIVISION, "Threshold": 2.0,
    "BNInfer": 2.0, "BatchNorm": 3.0, "LRN": 8.0, "PRelu": 3.0,
    "AscendQuant": 4.0, "AscendDequant": 3.0, "AscendRequant": 3.0, "AscendAntiQuant": 3.0,
    "AscendDequantS16": 3.0, "AscendRequantS16": 3.0,
    "ArgMaxD": 3.0, "ArgMinD": 3.0, "LpNorm": 3.0, "SquareSumV1": 3.0,
    "LayerNorm": 9.0, "RmsNorm": 6.0, "MVNV2": 8.0, "LpNormalize": 5.0,
    "LogSoftmaxV2": 6 + _EXP + _LOG, "ScaledMaskedSoftmax": 10 + _EXP + _DIVISION, "TopK": 20.0,
    "NonMaxSuppressionV7": 20.0, "Resize": 8.0,
    "DynamicGRUV2": 3 + _EXP + _DIVISION, "DynamicRNN": 3 + _EXP + _DIVISION,
    "CommonGRU": 3 + _EXP + _DIVISION, "CommonLSTM": 3 + _EXP + _DIVISION,
    "TransposeD": 2.0,
}  # fmt: skip
"""Operators that differ from their family."""

_BY_FAMILY = {"reduce": 2.0, "rows": 4.0, "softmax": 6 + _EXP + _DIVISION, "region": 4.0}
"""Families whose operators take more than one instruction."""


def passes_of(row: TargetOp, overlap: float) -> float:
    """Vector instructions for each element of the largest operand; 0 where it only moves.

    Args:
        row: the operator.
        overlap: how often a pool's windows cover an element; 1 for others.
    """
    if row.family == "pool":
        return overlap
    known = _BY_OPERATOR.get(row.name)
    if known is not None:
        return known
    if row.unit is Unit.MOVE:
        return 0.0
    return _BY_FAMILY.get(row.family, 1.0)
