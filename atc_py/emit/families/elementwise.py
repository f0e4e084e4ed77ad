"""Functions of each element: unary, activations, arithmetic, comparisons, the choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.emit.elementwise import ElementwiseFamily, rows_and_planes
from atc_py.emit.formula import Formula, loaded
from atc_py.emit.functions import MASK, ROUNDED_ONCE, SCRATCH, compute_type
from atc_py.emit.scratch import Scratch
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from atc_py.emit.plan import KernelFacts

__all__ = ["FAMILIES"]

_MOST_SUMMANDS = 16
_SIGNED = frozenset({DType.INT8, DType.INT16, DType.INT32, DType.INT64})


class _Functions(ElementwiseFamily):
    """Functions of elements of one dtype."""

    def formula(self, kernel: KernelFacts) -> Formula:
        """Say how a kernel computes: in the dtype, in float32, or on the scalar unit."""
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

    def covers(self, kernel: KernelFacts) -> bool:
        """Return True if the unified buffer takes all operands."""
        return len(kernel.inputs) <= _MOST_SUMMANDS

    def exact(self, kernel: KernelFacts) -> bool:
        """Return True for integers and bools, and for what is rounded once."""
        return kernel.op in ROUNDED_ONCE or not kernel.outputs[0].dtype.is_float


class _Choices(_Functions):
    """The choice between two tensors."""

    def formula(self, kernel: KernelFacts) -> Formula:
        """Move 16 bits or 32, whatever they mean; bytes go through half."""
        size = kernel.outputs[0].dtype.itemsize
        compute = {1: "half", 2: "half", 4: "float"}.get(size, "scalar")
        others = [Scratch("others", "half")] if size == 1 else []
        scratch = (Scratch("words", "half"), *others, MASK)
        return Formula(
            compute, loaded(kernel.inputs), scratch=() if compute == "scalar" else scratch
        )


FAMILIES = rows_and_planes(
    _Functions(
        "unary",
        {
            "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "ClipByValue",
            "Cos", "Cosh", "Erf", "Exp", "Floor", "Log", "LogicalNot", "Muls", "Neg",
            "Reciprocal", "Relu", "Round", "Sign", "Sin", "Sinh", "Sqrt", "Tanh",
        },
    ),
    _Functions(
        "activation",
        {
            "Celu", "Elu", "GeluV2", "HardSigmoid", "HardSwish", "LeakyRelu", "PRelu", "Selu",
            "Sigmoid", "Softplus", "Softsign", "Swish", "Threshold",
        },
    ),
    _Functions(
        "binary",
        {
            "AccumulateNV2", "Add", "Addcmul", "FloorMod", "LogicalAnd", "LogicalOr", "Maximum",
            "Minimum", "Mod", "Mul", "Pow", "RealDiv", "Sub",
        },
    ),
    _Functions("compare", {"Equal", "Greater", "GreaterEqual", "Less", "LessEqual"}),
    _Choices("select", {"SelectV2"}),
)  # fmt: skip
