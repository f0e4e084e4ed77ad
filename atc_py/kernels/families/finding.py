"""Results as many as data decide: boxes that overlap no better one, elements other than 0."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.box_tiling import number
from atc_py.kernels.family import Buffer, Family, InputSample, KernelFacts, Launch, Plan, queues
from atc_py.kernels.tiling import BLOCK, DEPTH, Tiling, narrow, vector_cores, wide

_CLASSES = "BatchMultiClassNonMaxSuppression"
_WORD = 4
"""Bytes of a mark in the workspace."""

_MOST_FOUND = 1024
"""Indices that leave the unified buffer at once."""


class SuppressTiling(Tiling):
    """Boxes of images, for each of some classes."""

    core_num: int = narrow("cores that have work")
    images: int = wide("images")
    boxes: int = wide("boxes of an image")
    kinds: int = wide("boxes of one place: one for each class, or one for all")
    classes: int = wide("classes")
    rows: int = wide("rows of the result")
    room: int = wide("marks of an image in the workspace")


class FindTiling(Tiling):
    """Elements of a tensor, all on one core."""

    total: int = wide("elements of x")
    rank: int = narrow("axes of x")
    tile_length: int = narrow("indices that leave the unified buffer at once")


class _Suppression(Family):
    """Boxes without those that overlap a better one."""

    name = template = "suppress"
    operators = frozenset({_CLASSES, "NonMaxSuppressionV7"})

    def plan(self, launch: Launch) -> Plan:
        """Give each core images, or one core all where results follow one another."""
        kernel, (boxes, scores) = launch.kernel, launch.inputs[:2]
        images, cores, kinds = boxes[0], 1, 1
        count, classes = (scores[2], scores[1])
        room = count
        if kernel.op == _CLASSES:
            count, classes = scores[1], scores[2]
            kinds = boxes[1] if kernel.attributes["transpose_box"] else boxes[2]
            most = number(kernel.attributes["max_size_per_class"])
            room = count + classes * min(count, most)
            cores = max(1, min(vector_cores(launch.soc), images))
        tiling = SuppressTiling(
            core_num=cores,
            images=images,
            boxes=count,
            kinds=kinds,
            classes=classes,
            rows=launch.outputs[0][0],
            room=room,
        )
        blocks = tuple(Buffer(f"{port.name}Queue", "ub", DEPTH * BLOCK) for port in kernel.outputs)
        marks = room * (images if kernel.op == _CLASSES else 1)
        return Plan(tiling, cores, blocks, launch.moved, marks * _WORD)

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        return {
            "workspace": True,
            "attributes": kernel.attributes,
            "given": {port.name: port for port in kernel.inputs},
        }

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw boxes around some places, of which many overlap; positive scores; windows."""
        shape = sample.shapes[sample.position]
        if sample.op != _CLASSES or shape is None:
            return None
        axis = 2 if sample.attributes["transpose_box"] else 3
        if sample.position == 0:
            half = (*shape[:axis], 2, *shape[axis + 1 :])
            low = generator.integers(0, 4, half) + generator.uniform(0, 0.5, half)
            return np.concatenate([low, low + generator.uniform(-0.1, 1.5, half)], axis)
        if sample.position == 1:
            return generator.uniform(0, 1, shape)
        if sample.position == 2:  # noqa: PLR2004  (clip_window)
            return np.tile([0.5, 0.25, 4.0, 3.5], (shape[0], 1))
        return None


class _Places(Family):
    """Places of elements other than 0."""

    name = template = "find"
    operators = frozenset({"NonZero"})

    def plan(self, launch: Launch) -> Plan:
        x, port = launch.inputs[0], launch.kernel.outputs[0]
        tiling = FindTiling(total=prod(x), rank=len(x), tile_length=_MOST_FOUND)
        return Plan(tiling, 1, queues((port,), _MOST_FOUND), launch.moved)


FAMILIES = (_Suppression(), _Places())
