"""Quantization: floats to small integers and back, and sums of products to either."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.cpp import C_TYPES
from atc_py.kernels.elementwise import ElementwiseFamily, rows_and_planes
from atc_py.kernels.family import InputSample, KernelFacts
from atc_py.kernels.ports import Formula, KernelPort, Loaded, Scratch, loaded
from atc_py.tensor.dtypes import DType

_MODES = {
    "Round": "CAST_RINT",
    "Floor": "CAST_FLOOR",
    "Ceil": "CAST_CEIL",
    "Trunc": "CAST_TRUNC",
}
_VALUES = Scratch("values", "float")
_HALVES = Scratch("halves", "half")
_SHORTS = Scratch("shorts", "int16_t")


def _quant(kernel: KernelFacts) -> Formula:
    """Every step in the dtype that `compute_type` names."""
    step = C_TYPES[DType(kernel.attributes["compute_type"])]
    narrow = (_SHORTS, _HALVES) if step == "float" and kernel.outputs[0].ctype == "int8_t" else ()
    context = (
        ("step", step),
        ("mode", _MODES[str(kernel.attributes["round_mode"])]),
        ("sqrt_mode", kernel.attributes["sqrt_mode"]),
        ("words", False),
    )
    scratch = (Scratch("values", step), *narrow)
    return Formula("vector", loaded(kernel.inputs), scratch=scratch, context=context)


def _anti_quant(kernel: KernelFacts) -> Formula:
    """Every step in the dtype that `compute_type` names, whatever dtype the result has."""
    step = C_TYPES[DType(kernel.attributes["compute_type"])]
    scratch = () if kernel.outputs[0].ctype == step else (Scratch("values", step),)
    if step == "float":
        scratch = (*scratch, _HALVES)
    context = (
        ("step", step), ("sqrt_mode", kernel.attributes["sqrt_mode"]), ("words", False)
    )  # fmt: skip
    return Formula("vector", loaded(kernel.inputs), scratch=scratch, context=context)


def _dequant(kernel: KernelFacts) -> Formula:
    """Int32 times a factor a channel, from words or in float16."""
    x, scale = kernel.inputs
    words = scale.dtype is DType.UINT64
    factor = _factor(scale) if words else Loaded("factor", scale, scale.ctype)
    scratch = [_VALUES]
    if not words:
        scratch.append(Scratch("factorWide", "float"))
    if kernel.outputs[0].ctype != "half":
        scratch.append(_HALVES)
    context = (
        ("words", words),
        ("relu", kernel.attributes["relu_flag"]),
        ("sqrt_mode", kernel.attributes["sqrt_mode"]),
    )
    operands = (*loaded((x,)), factor)
    return Formula("vector", operands, scratch=tuple(scratch), along_channels=True, context=context)


def _requant(kernel: KernelFacts) -> Formula:
    """The kernel of int32 sums, or two int16 tensors, times factor plus offset a channel."""
    x, words, *addend = kernel.inputs
    operands = (
        *loaded((x,)),
        _factor(words),
        Loaded("offset", words, "float", "LoadOffset"),
        *loaded(addend),
    )
    summand = [Scratch("addend", "float")] if addend else []
    scratch = (_VALUES, *summand, _SHORTS, _HALVES)
    return Formula(
        "vector", operands, scratch=scratch, along_channels=True, context=_of_words(kernel, addend)
    )


def _dequant_s16(kernel: KernelFacts) -> Formula:
    x, words, *addend = kernel.inputs
    operands = (
        *loaded((x,)), Loaded("shift", words, "int32_t", "LoadShift"), *loaded(addend)
    )  # fmt: skip
    return Formula("scalar", operands, along_channels=True, context=_of_words(kernel, addend))


def _of_words(kernel: KernelFacts, addend: list[KernelPort]) -> tuple[tuple[str, object], ...]:
    """The template facts of kernels whose second operand holds words."""
    name = kernel.inputs[-1].name if addend else None
    return (("words", True), ("relu", kernel.attributes["relu_flag"]), ("addend", name))


def _factor(words: KernelPort) -> Loaded:
    return Loaded("factor", words, "float", "LoadFactor")


_FORMULAS = {
    "AscendAntiQuant": _anti_quant,
    "AscendDequant": _dequant,
    "AscendDequantS16": _dequant_s16,
    "AscendQuant": _quant,
    "AscendRequant": _requant,
    "AscendRequantS16": _requant,
}


class _Quantization(ElementwiseFamily):
    """Operators between floats, small integers and sums of products."""

    def formula(self, kernel: KernelFacts) -> Formula:
        return _FORMULAS[kernel.op](kernel)

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw words of factors, shifts and offsets; sums of products that the factors bring in range.

        Some sums are so large that results saturate.
        """
        import numpy as np

        from atc_py.tensor.scale_words import HardwareWords, encode_hardware

        shape = sample.shapes[sample.position] or ()
        if sample.dtype is DType.UINT64:
            zeros = np.zeros(shape, np.bool_)
            parts = HardwareWords(
                generator.uniform(1e-3, 2e-2, shape).astype(np.float32),
                generator.integers(1, 17, shape),
                generator.integers(-256, 256, shape),
                zeros,
                zeros,
            )
            return encode_hardware(parts)
        if sample.dtype is DType.INT32:
            return generator.integers(-(2**20), 2**20, shape) >> generator.integers(0, 12, shape)
        if sample.dtype is DType.INT16:
            return generator.integers(-(2**15), 2**15, shape)
        if sample.op == "AscendDequant":
            return generator.uniform(1e-3, 2e-2, shape)
        return generator.standard_normal(shape) * 30


FAMILIES = rows_and_planes(_Quantization("quant", _FORMULAS.keys()))
