"""Losses of classes: what runs along the classes, and one number of each label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.families.along_axes import room_of
from atc_py.kernels.family import Family, InputSample
from atc_py.kernels.fields import extended
from atc_py.kernels.plan import KernelFacts, Launch, Plan
from atc_py.kernels.reduction import axes_tiling, folded

_CLASSES = 1
"""The axis of scores that runs over classes."""


class _Losses(Family):
    """The cross entropy of a softmax."""

    name = template = "loss"
    operators = frozenset({"SoftmaxCrossEntropyLoss"})

    def plan(self, launch: Launch) -> Plan:
        """Cut as a softmax along the classes is; one core adds up where losses are reduced."""
        room, buffers = room_of(launch)
        tiling = axes_tiling(folded(launch.inputs[0], (_CLASSES,)), room, launch.soc)
        if launch.kernel.attributes["reduction"] != "none":
            tiling = extended(type(tiling), tiling, core_num=1)
        return Plan(tiling, tiling.core_num, buffers(tiling.buffer_length), launch.moved)

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        return {
            "T": "float",
            "bytes": False,
            "block": 0,
            "lanes": 0,
            "result": 1,
            "parameters": ("weight", "loss"),
            "reduction": kernel.attributes["reduction"],
            "weighted": len(kernel.inputs) > 2,  # noqa: PLR2004  (scores and labels)
        }

    def exact(self, kernel: KernelFacts) -> bool:
        return False

    def sums(self, kernel: KernelFacts) -> bool:
        return True

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        scores, labels = sample.shapes[:2]
        if sample.position != 1 or scores is None or labels is None:
            return None
        return generator.integers(-1, scores[_CLASSES] + 1, labels)


FAMILIES = (_Losses(),)
