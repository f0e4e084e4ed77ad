"""Functions of each element: unary, activations, arithmetic, comparisons, the choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.emit.elementwise import Formula, elementwise_family, loaded
from atc_py.emit.functions import MASK, ROUNDED_ONCE, SCRATCH, compute_type
from atc_py.emit.scratch import Scratch
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from atc_py.emit.family import Family
    from atc_py.emit.plan import KernelFacts

__all__ = ["FAMILIES"]

_MOST_SUMMANDS = 16
_SIGNED = frozenset({DType.INT8, DType.INT16, DType.INT32, DType.INT64})


def _formula(kernel: KernelFacts) -> Formula:
    """Functions of elements of one dtype."""
    dtype = kernel.inputs[0].dtype
    compute = compute_type(kernel.op, dtype)
    ports = kernel.inputs[:1] if kernel.op == "ClipByValue" else kernel.inputs
    return Formula(
        compute,
        loaded(ports),
        wide=compute == "float" and dtype is not DType.FLOAT32,
        scratch=() if compute == "scalar" else SCRATCH.get(kernel.op, ()),
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
    scratch = [Scratch("words", "half"), *([Scratch("others", "half")] if size == 1 else []), MASK]
    return Formula(
        compute, loaded(kernel.inputs), scratch=() if compute == "scalar" else tuple(scratch)
    )


def _exact(kernel: KernelFacts) -> bool:
    """Integers and bools are exact, and so is what is rounded once."""
    return kernel.op in ROUNDED_ONCE or not kernel.outputs[0].dtype.is_float


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
