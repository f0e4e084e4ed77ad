"""Functions of each element: unary, activations, arithmetic, comparisons, the choice."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.elementwise import ElementwiseFamily, rows_and_planes
from atc_py.kernels.family import InputSample
from atc_py.kernels.links import compute_type, operators_of, scratch_of, tensor_of
from atc_py.kernels.plan import KernelFacts
from atc_py.kernels.ports import Formula, Scratch, loaded
from atc_py.target.vector import MASK, Form, Operands, VectorFunction
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import element_count

_MOST_SUMMANDS = 16

_NUMBERS = (0.0, 1.0, -2.5, 65504.0, -65504.0, inf, -inf, nan)
"""What questions are asked of: small and large numbers, infinities and NaN."""

_SIGNED = frozenset({DType.INT8, DType.INT16, DType.INT32, DType.INT64})


class _Functions(ElementwiseFamily):
    """Functions of one form, of elements of one dtype: the operators whose rows say so."""

    def __init__(self, form: Form) -> None:
        super().__init__(form.value, operators_of(form))

    def formula(self, kernel: KernelFacts) -> Formula:
        function, dtype = _function(kernel), kernel.inputs[0].dtype
        compute = compute_type(function, dtype)
        singles = function.operands is Operands.SINGLES
        return Formula(
            compute,
            loaded(kernel.inputs[:1] if singles else kernel.inputs),
            wide=compute == "float" and dtype is not DType.FLOAT32,
            scratch=() if compute == "scalar" else scratch_of(function),
            along_channels=function.operands is Operands.CHANNELS,
            context=(
                ("bits", function.bits),
                ("signed", dtype in _SIGNED),
                ("approximate", kernel.attributes.get("approximate")),
            ),
        )

    def covers(self, kernel: KernelFacts) -> bool:
        """True if the unified buffer takes all operands."""
        return len(kernel.inputs) <= _MOST_SUMMANDS

    def exact(self, kernel: KernelFacts) -> bool:
        """True for integers and bools, and for functions that round at most once."""
        return kernel.row.is_exact or not kernel.outputs[0].dtype.is_float


class _Questions(_Functions):
    """Questions about each element."""

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        shape = sample.shapes[sample.position] or ()
        drawn = generator.choice(_NUMBERS, element_count(shape))
        return drawn.reshape(shape).astype(sample.dtype.numpy)


class _Choices(_Functions):
    """The choice between two tensors."""

    def formula(self, kernel: KernelFacts) -> Formula:
        """Move 16 bits or 32, whatever they mean; bytes go through half."""
        size = kernel.outputs[0].dtype.itemsize
        compute = {1: "half", 2: "half", 4: "float"}.get(size, "scalar")
        others = [Scratch("others", "half")] if size == 1 else []
        scratch = (Scratch("words", "half"), *others, tensor_of(MASK))
        return Formula(
            compute, loaded(kernel.inputs), scratch=() if compute == "scalar" else scratch
        )


def _function(kernel: KernelFacts) -> VectorFunction:
    if kernel.row.vector is None:
        raise ValueError(f"{kernel.op} is not a vector function")
    return kernel.row.vector


FAMILIES = rows_and_planes(
    _Functions(Form.UNARY),
    _Functions(Form.ACTIVATION),
    _Functions(Form.BINARY),
    _Functions(Form.COMPARE),
    _Questions(Form.TEST),
    _Choices(Form.SELECT),
)
