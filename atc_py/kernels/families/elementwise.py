"""Functions of each element: unary, activations, arithmetic, comparisons, the choice, casts."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.cpp import C_TYPES
from atc_py.kernels.elementwise import ElementwiseFamily, rows_and_planes
from atc_py.kernels.family import InputSample, KernelFacts
from atc_py.kernels.links import compute_type, operators_of, scratch_of, tensor_of
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


F16, F32, BF16 = DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16
I8, I16, I32, I64, U8 = DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.UINT8

_STEPS: Mapping[tuple[DType, DType], str] = {
    **dict.fromkeys(
        [(F16, F32), (BF16, F32), (I8, F16), (U8, F16), (I16, F32), (I32, I64)], "CAST_NONE"
    ),
    **dict.fromkeys([(F32, F16), (F32, BF16), (I16, F16), (I32, F32), (I64, F32)], "CAST_RINT"),
    **dict.fromkeys(
        [(F16, I32), (F16, I16), (F16, I8), (F16, U8), (F32, I16), (F32, I32), (F32, I64)],
        "CAST_TRUNC",
    ),
}
"""Conversions of the vector unit, and how each of them rounds as ONNX's Cast does."""

_OVER: Mapping[tuple[DType, DType], DType] = {
    (F16, BF16): F32,
    (BF16, F16): F32,
    (BF16, I32): F32,
    (BF16, I16): F32,
    (I8, F32): F16,
    (U8, F32): F16,
    (I32, F16): F32,
}
"""The dtype between two others where two conversions equal one."""


def _chain(source: DType, target: DType) -> tuple[DType, ...]:
    """The dtypes from `source` to `target`, both included; empty where there is no path.

    A bool is a byte of 0 or 1.
    """
    source = U8 if source is DType.BOOL else source
    if (source, target) in _STEPS:
        return source, target
    middle = _OVER.get((source, target))
    return () if middle is None else (source, middle, target)


def _limits(dtype: DType) -> tuple[str, str]:
    bits = 8 * dtype.itemsize
    if dtype.value.startswith("u"):
        return "0", f"{2**bits - 1}u" if bits < 64 else f"{2**bits - 1}ull"  # noqa: PLR2004
    end = "ll" if bits == 64 else ""  # noqa: PLR2004
    return f"-{2 ** (bits - 1) - 1}{end} - 1", f"{2 ** (bits - 1) - 1}{end}"


class _Casts(ElementwiseFamily):
    """Conversions to another dtype."""

    def formula(self, kernel: KernelFacts) -> Formula:
        x, y = kernel.inputs[0], kernel.outputs[0]
        chain = _chain(x.dtype, y.dtype)
        if not chain:
            limits = _limits(y.dtype) if y.dtype.is_integer else ("", "")
            context = (("low", limits[0]), ("high", limits[1]))
            return Formula("scalar", loaded(kernel.inputs), context=context)
        names = [x.name, *(["middle"] if len(chain) > 2 else []), y.name]  # noqa: PLR2004
        steps = [
            {"source": names[at], "target": names[at + 1], "mode": _STEPS[chain[at], chain[at + 1]]}
            for at in range(len(chain) - 1)
        ]
        scratch = tuple(Scratch("middle", C_TYPES[dtype]) for dtype in chain[1:-1])
        return Formula(
            "vector", loaded(kernel.inputs), scratch=scratch, context=(("chain", steps),)
        )


FAMILIES = rows_and_planes(
    _Functions(Form.UNARY),
    _Functions(Form.ACTIVATION),
    _Functions(Form.BINARY),
    _Functions(Form.COMPARE),
    _Questions(Form.TEST),
    _Choices(Form.SELECT),
    _Casts(Form.CAST.value, operators_of(Form.CAST)),
)
