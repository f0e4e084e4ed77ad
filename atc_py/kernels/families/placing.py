"""Elements put where indices say: slices of a copy of a tensor, marks along a new axis."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.box_tiling import number
from atc_py.kernels.boxes import dense
from atc_py.kernels.family import Family, InputSample
from atc_py.kernels.fields import Tiling, extended, narrow, numbers, wide
from atc_py.kernels.plan import Buffer, Launch, Plan
from atc_py.kernels.tiling import (
    BLOCK,
    DEPTH,
    DealtTiling,
    ElementFootprint,
    dealt_tiling,
    vector_cores,
)


class PlaceTiling(Tiling):
    """Rows of the result, each core's own; updates are written where they belong to a core."""

    rows: int = wide("rows of the result")
    inner: int = wide("elements of a row")
    core_num: int = narrow("cores that have work")
    core_rows: int = wide("rows of every core but the last")
    chunk_length: int = narrow("elements that are moved at once, whole blocks")
    count: int = wide("updates")
    length: int = wide("indices of an update")
    reached: tuple[int, ...] = numbers("extents of the axes that indices reach into", pad=1)
    steps: tuple[int, ...] = numbers("rows from index to index along these axes", pad=0)


class _Places(Family):
    """Rows of a tensor that are replaced."""

    name = template = "place"
    operators = frozenset({"TensorScatterUpdate"})

    def plan(self, launch: Launch) -> Plan:
        """Assign rows to cores in ranges, so that the order of a row's updates is kept."""
        x, indices = launch.inputs[:2]
        itemsize = launch.kernel.outputs[0].dtype.itemsize
        length = indices[-1]
        reached = x[:length]
        rows, inner = prod(reached), prod(x[length:])
        core_rows = max(1, -(-rows // vector_cores(launch.soc)))
        per_block = BLOCK // itemsize
        room = launch.soc.ub_kib * 1024 // DEPTH // itemsize
        chunk = max(1, min(room // per_block, -(-core_rows * inner // per_block))) * per_block
        tiling = PlaceTiling(
            rows=rows,
            inner=inner,
            core_num=max(1, -(-rows // core_rows)),
            core_rows=core_rows,
            chunk_length=chunk,
            count=prod(indices[:-1]),
            length=length,
            reached=reached,
            steps=dense(reached),
        )
        through = Buffer("through", "ub", DEPTH * chunk * itemsize)
        return Plan(tiling, tiling.core_num, (through,), launch.moved)

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw tuples of indices into x, counted from both ends; some of them meet."""
        x, indices = sample.shapes[:2]
        if sample.position != 1 or x is None or indices is None:
            return None
        high = np.maximum(np.array(x[: indices[-1]], np.int64), 1)
        return generator.integers(-high, high, indices)


_BEYOND = 2
"""How far drawn indices reach beyond the axis, where they mark nothing."""


class MarkTiling(DealtTiling):
    """The elements of the result, cut into tiles."""

    depth: int = wide("extent of the new axis")
    inner: int = wide("indices behind the new axis")


class _OneHot(Family):
    """One value where a new axis runs over an index, another elsewhere."""

    name = template = "mark"
    operators = frozenset({"OneHot", "OneHotD"})

    def plan(self, launch: Launch) -> Plan:
        x, result, port = launch.inputs[0], launch.outputs[0], launch.kernel.outputs[0]
        footprint = ElementFootprint.of([port.dtype])
        axis = number(launch.kernel.attributes["axis"]) % len(result)
        tiling = extended(
            MarkTiling,
            dealt_tiling(prod(result), footprint, launch.soc),
            depth=result[axis],
            inner=prod(x[axis:]),
        )
        size = DEPTH * tiling.tile_length * port.dtype.itemsize
        return Plan(
            tiling, tiling.core_num, (Buffer(f"{port.name}Queue", "ub", size),), launch.moved
        )

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw indices of the new axis, from both ends, and some beyond it."""
        if sample.position != 0:
            return None
        reach = number(sample.attributes.get("depth", 1)) + _BEYOND
        return generator.integers(-reach, reach, sample.shapes[0])


FAMILIES = (_OneHot(), _Places())
