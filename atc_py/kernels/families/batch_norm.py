"""Batch normalization of inference: a function of each element and of its channel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.elementwise import ElementwiseFamily, rows_and_planes
from atc_py.kernels.family import InputSample, KernelFacts
from atc_py.kernels.ports import Formula, Scratch, loaded
from atc_py.tensor.dtypes import DType

_VARIANCE = 4
"""Position of the variance among the inputs."""


class _BatchNorm(ElementwiseFamily):
    """Elements less a mean, divided by a deviation, times a scale, plus an offset."""

    def formula(self, kernel: KernelFacts) -> Formula:
        """Compute in float32, with a float32 tensor for each operand that is not."""
        narrow = (port for port in kernel.inputs if port.dtype is not DType.FLOAT32)
        return Formula(
            "float",
            loaded(kernel.inputs),
            scratch=tuple(Scratch(f"{port.name}Wide", "float") for port in narrow),
            along_channels=True,
        )

    def covers(self, kernel: KernelFacts) -> bool:
        return len(kernel.inputs) > _VARIANCE

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        if sample.position != _VARIANCE:
            return None
        return np.abs(generator.standard_normal(sample.shapes[_VARIANCE]))


class _FoldedNorm(ElementwiseFamily):
    """Elements plus a number of their channel, times another."""

    def formula(self, kernel: KernelFacts) -> Formula:
        """Compute in half or float32; bfloat16 goes through float32 and is rounded once."""
        native = kernel.inputs[0].dtype in {DType.FLOAT16, DType.FLOAT32}
        compute = kernel.inputs[0].ctype if native else "float"
        return Formula(compute, loaded(kernel.inputs), wide=not native)


FAMILIES = rows_and_planes(
    _BatchNorm("batch_norm", {"BNInfer", "BatchNorm"}),
    _FoldedNorm("bn_inference", {"BNInferenceD"}),
)
