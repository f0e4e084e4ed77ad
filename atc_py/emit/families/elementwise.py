"""Functions of each element: unary, activations, arithmetic, comparisons, the choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.dtypes import DType
from atc_py.emit.elementwise import Formula, Scratch, elementwise_family, loaded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atc_py.emit.family import Family
    from atc_py.emit.plan import KernelFacts

__all__ = ["FAMILIES"]

_ROUNDED_ONCE = frozenset({
    "Abs", "AccumulateNV2", "Add", "Addcmul", "Ceil", "ClipByValue", "Floor", "FloorMod",
    "LeakyRelu", "LogicalAnd", "LogicalNot", "LogicalOr", "Maximum", "Minimum", "Mod", "Mul",
    "Muls", "Neg", "PRelu", "RealDiv", "Reciprocal", "Relu", "Round", "SelectV2", "Sign",
    "Sqrt", "Sub", "Threshold",
})  # fmt: skip
"""Operators whose results are rounded once, or not at all: equal to the simulator's in all bits.

AccumulateNV2 and Addcmul add in float32 in the simulator's order."""

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

_MOST_SUMMANDS = 16
_LOGIC = frozenset({"LogicalAnd", "LogicalNot", "LogicalOr"})
_SIGNED = frozenset({DType.INT8, DType.INT16, DType.INT32, DType.INT64})
_MASK = Scratch("mask", "uint8_t", mask=True)
_LOW = Scratch("low", "float")

_SCRATCH: Mapping[str, tuple[Scratch, ...]] = {
    **dict.fromkeys(
        (
            "Celu", "Elu", "GeluV2", "HardSwish", "LeakyRelu", "PRelu", "Selu", "Softplus",
            "Softsign", "Swish",
        ),
        (_LOW,),
    ),
    **dict.fromkeys(
        ("Equal", "Greater", "GreaterEqual", "Less", "LessEqual"),
        (Scratch("ones", "half"), _MASK),
    ),
    "FloorMod": (Scratch("sign", "float"), _MASK),
    "LogicalNot": (Scratch("words", "half"),),
    "Threshold": (_LOW, _MASK),
}  # fmt: skip
"""What formulas need beside their operands and their result."""


def _compute(op: str, dtype: DType) -> str:
    """The C++ type that the vector unit computes in; `scalar` where it has no such arithmetic."""
    if op in _LOGIC:
        return "uint8_t"
    if dtype is DType.FLOAT16 and op in _IN_HALF:
        return "half"
    if dtype in {DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16}:
        return "float"
    return "int32_t" if dtype is DType.INT32 and op in _IN_INT32 else "scalar"


def _formula(kernel: KernelFacts) -> Formula:
    """Functions of elements of one dtype."""
    dtype = kernel.inputs[0].dtype
    compute = _compute(kernel.op, dtype)
    ports = kernel.inputs[:1] if kernel.op == "ClipByValue" else kernel.inputs
    return Formula(
        compute,
        loaded(ports),
        wide=compute == "float" and dtype is not DType.FLOAT32,
        scratch=() if compute == "scalar" else _SCRATCH.get(kernel.op, ()),
        along_channels=kernel.op == "PRelu",
        context=(
            ("signed", dtype in _SIGNED),
            ("approximate", kernel.attributes.get("approximate")),
        ),
    )


def _select(kernel: KernelFacts) -> Formula:
    """The choice moves 16 bits or 32, whatever they mean; bytes go through half."""
    size = kernel.outputs[0].dtype.itemsize
    compute = {1: "half", 2: "half", 4: "float"}.get(size, "scalar")
    scratch = [Scratch("words", "half"), *([Scratch("others", "half")] if size == 1 else []), _MASK]
    return Formula(
        compute, loaded(kernel.inputs), scratch=() if compute == "scalar" else tuple(scratch)
    )


def _exact(kernel: KernelFacts) -> bool:
    """Integers and bools are exact, and so is what is rounded once."""
    return kernel.op in _ROUNDED_ONCE or not kernel.outputs[0].dtype.is_float


def _family(
    name: str,
    operators: set[str],
    formula: Callable[[KernelFacts], Formula] = _formula,
    covers: Callable[[KernelFacts], bool] = lambda _kernel: True,
) -> Family:
    return elementwise_family(name, frozenset(operators), formula, _exact, covers)


FAMILIES = (
    _family(
        "unary",
        {
            "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "ClipByValue",
            "Cos", "Cosh", "Erf", "Exp", "Floor", "Log", "LogicalNot", "Muls", "Neg",
            "Reciprocal", "Relu", "Round", "Sign", "Sin", "Sinh", "Sqrt", "Tanh",
        },
    ),
    _family(
        "activation",
        {
            "Celu", "Elu", "GeluV2", "HardSigmoid", "HardSwish", "LeakyRelu", "PRelu", "Selu",
            "Sigmoid", "Softplus", "Softsign", "Swish", "Threshold",
        },
    ),
    _family(
        "binary",
        {
            "AccumulateNV2", "Add", "Addcmul", "FloorMod", "LogicalAnd", "LogicalOr", "Maximum",
            "Minimum", "Mod", "Mul", "Pow", "RealDiv", "Sub",
        },
        covers=lambda kernel: len(kernel.inputs) <= _MOST_SUMMANDS,
    ),
    _family("compare", {"Equal", "Greater", "GreaterEqual", "Less", "LessEqual"}),
    _family("select", {"SelectV2"}, _select),
)  # fmt: skip
