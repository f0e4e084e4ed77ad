"""Elements picked or replaced, one for each index: GatherElements and ScatterElements."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.box_tiling import number
from atc_py.kernels.boxes import dense
from atc_py.kernels.family import Family, InputSample
from atc_py.kernels.fields import extended, narrow, numbers, wide
from atc_py.kernels.plan import Buffer, Launch, Plan
from atc_py.kernels.tiling import DEPTH, DealtTiling, ElementFootprint, dealt_tiling
from atc_py.tensor.shapes import Shape


class GatherTiling(DealtTiling):
    """The elements of the result, cut into tiles; indices are counted row by row of the last axis."""

    axis_length: int = wide("elements along the axis that indices reach into")
    axis_step: int = wide("elements from one to the next along that axis")
    length: int = wide("indices of a row")
    step: int = wide("elements from index to index of a row, 0 where the axis is the last")
    row_dims: tuple[int, ...] = numbers("dims of the axes of rows", pad=1)
    row_steps: tuple[int, ...] = numbers("elements from row to row along them", pad=0)


class ScatterTiling(GatherTiling):
    """The elements of the result, cut into tiles, and the updates that are put into them."""

    rows: int = wide("rows of updates")
    chunk_length: int = narrow("updates that are loaded at once, whole blocks")


def _axis(attributes: Mapping[str, Any], rank: int) -> int:
    return number(attributes.get("dim", attributes.get("axis"))) % rank


def _tiling(launch: Launch, footprint: ElementFootprint) -> GatherTiling:
    """Cut the result as one range of elements; places are those of the first input."""
    data, indices = launch.inputs[:2]
    axis = _axis(launch.kernel.attributes, len(data))
    steps = [0 if at == axis else step for at, step in enumerate(dense(data))]
    return extended(
        GatherTiling,
        dealt_tiling(prod(launch.outputs[0]), footprint, launch.soc),
        axis_length=data[axis],
        axis_step=dense(data)[axis],
        length=indices[-1],
        step=steps[-1],
        row_dims=indices[:-1],
        row_steps=tuple(steps[:-1]),
    )


class _Elements(Family):
    """Elements of a tensor, one for each index."""

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw indices of the axis from both ends; some of them meet."""
        data, indices = sample.shapes[:2]
        if sample.position != 1 or data is None or indices is None:
            return None
        length = max(data[_axis(sample.attributes, len(data))], 1)
        return generator.integers(-length, length, indices)


class _Gather(_Elements):
    """Elements of a tensor that are picked."""

    name = template = "gather"
    operators = frozenset({"GatherElements"})

    def plan(self, launch: Launch) -> Plan:
        kernel = launch.kernel
        ports = (kernel.inputs[1], kernel.outputs[0])
        tiling = _tiling(launch, ElementFootprint.of([port.dtype for port in ports]))
        buffers = tuple(
            Buffer(f"{port.name}Queue", "ub", DEPTH * tiling.tile_length * port.dtype.itemsize)
            for port in ports
        )
        written = prod(launch.outputs[0]) * ports[1].dtype.itemsize
        read = written + prod(launch.inputs[1]) * ports[0].dtype.itemsize
        return Plan(tiling, tiling.core_num, buffers, (read, written))


class _Scatter(_Elements):
    """Elements of a tensor that are replaced."""

    name = template = "scatter"
    operators = frozenset({"ScatterElements"})

    def plan(self, launch: Launch) -> Plan:
        """Cut the result; each tile of it looks through the updates, chunk by chunk."""
        ports, indices = launch.kernel.inputs[:3], launch.inputs[1]
        footprint = ElementFootprint.of([port.dtype for port in ports])
        base = _tiling(launch, footprint)
        chunk = _chunk_length(indices, footprint, footprint.capacity(launch.soc))
        tiling = extended(ScatterTiling, base, rows=prod(indices[:-1]), chunk_length=chunk)
        lengths = (base.tile_length, chunk, chunk)
        buffers = tuple(
            Buffer(name, "ub", DEPTH * length * port.dtype.itemsize)
            for name, length, port in zip(
                ("tile", "indicesQueue", "updatesQueue"), lengths, ports, strict=True
            )
        )
        return Plan(tiling, tiling.core_num, buffers, launch.moved)


def _chunk_length(indices: Shape, footprint: ElementFootprint, capacity: int) -> int:
    whole = -(-indices[-1] // footprint.align) * footprint.align
    return max(footprint.align, min(whole, capacity))


FAMILIES = (_Gather(), _Scatter())
