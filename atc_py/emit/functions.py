"""Functions of each element: what they are computed in, what they need, how they are rounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.emit.scratch import Scratch
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CANCELLING", "MASK", "ROUNDED_ONCE", "SCRATCH", "ZERO_OF_ZEROS", "compute_type"]

ROUNDED_ONCE = frozenset({
    "Abs", "AccumulateNV2", "Add", "Addcmul", "Ceil", "ClipByValue", "Floor", "FloorMod",
    "LeakyRelu", "LogicalAnd", "LogicalNot", "LogicalOr", "Maximum", "Minimum", "Mod", "Mul",
    "Muls", "Neg", "PRelu", "RealDiv", "Reciprocal", "Relu", "Round", "SelectV2", "Sign",
    "Sqrt", "Sub", "Threshold",
})  # fmt: skip
"""Operators whose results are rounded once, or not at all: equal to the simulator's in all bits.

AccumulateNV2 and Addcmul add in float32 in the simulator's order."""

ZERO_OF_ZEROS = frozenset({
    "Abs", "AccumulateNV2", "Add", "Asin", "Asinh", "Atan", "Atanh", "Cast", "Ceil", "Erf",
    "Floor", "GeluV2", "HardSwish", "Maximum", "Minimum", "Mul", "Neg", "Relu", "Round", "Selu",
    "Sign", "Sin", "Sinh", "Softsign", "Sqrt", "Sub", "Tanh",
})  # fmt: skip
"""Operators that are 0 where all their operands are, whatever their attributes."""

_IN_HALF = frozenset({
    "Abs", "Add", "Ceil", "ClipByValue", "Equal", "Floor", "Greater", "GreaterEqual", "Less",
    "LessEqual", "Maximum", "Minimum", "Mul", "Neg", "RealDiv", "Reciprocal", "Relu",
    "Sign", "Sqrt", "Sub",
})  # fmt: skip
"""Operators that are one instruction of half: rounded once, as float32 rounded afterwards is."""

_IN_INT32 = frozenset({
    "Abs", "AccumulateNV2", "Add", "Addcmul", "ClipByValue", "Equal", "Maximum", "Minimum",
    "Mul", "Neg", "Relu", "Sub",
})  # fmt: skip
"""Operators that the vector unit has for int32."""

CANCELLING = frozenset({"GeluV2"})
"""Functions whose value is a small rest of larger numbers: of 1/2 and half the error function."""

_LOGIC = frozenset({"LogicalAnd", "LogicalNot", "LogicalOr"})
MASK = Scratch("mask", "uint8_t", mask=True)
_LOW = Scratch("low", "float")

SCRATCH: Mapping[str, tuple[Scratch, ...]] = {
    **dict.fromkeys(
        (
            "Celu", "Elu", "GeluV2", "HardSwish", "LeakyRelu", "PRelu", "Selu", "Softplus",
            "Softsign", "Swish",
        ),
        (_LOW,),
    ),
    **dict.fromkeys(
        ("Equal", "Greater", "GreaterEqual", "Less", "LessEqual"),
        (Scratch("ones", "half"), MASK),
    ),
    "FloorMod": (Scratch("sign", "float"), MASK),
    "LogicalNot": (Scratch("words", "half"),),
    "Threshold": (_LOW, MASK),
}  # fmt: skip
"""What formulas need beside their operands and their result."""


def compute_type(op: str, dtype: DType) -> str:
    """The C++ type that the vector unit computes `op` of `dtype` in.

    `scalar` where it has no such arithmetic.
    """
    if op in _LOGIC:
        return "uint8_t"
    if dtype is DType.FLOAT16 and op in _IN_HALF:
        return "half"
    if dtype in {DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16}:
        return "float"
    return "int32_t" if dtype is DType.INT32 and op in _IN_INT32 else "scalar"
