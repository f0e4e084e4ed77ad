"""ScatterElements: a copy of a tensor with one element for each index replaced."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from atc_py.emit.box_family import number
from atc_py.emit.boxes import dense
from atc_py.emit.family import Family
from atc_py.emit.fields import narrow, numbers, wide
from atc_py.emit.plan import Buffer, Plan
from atc_py.emit.tiling import DEPTH, ElementFootprint, vector_tiling

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atc_py.emit.family import InputSample
    from atc_py.emit.plan import Launch

__all__ = ["FAMILIES", "ScatterTiling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterTiling:
    """The elements of the result, cut into tiles; updates are looked at row by row."""

    total: int = wide("elements of the result")
    tile_length: int = narrow("elements of a tile, whole blocks")
    tile_count: int = wide("tiles")
    core_num: int = narrow("cores that have work; core c takes tiles c, c + core_num ...")
    axis_length: int = wide("elements along the axis that indices reach into")
    axis_step: int = wide("elements from one to the next along that axis")
    rows: int = wide("rows of updates")
    length: int = wide("updates of a row")
    step: int = wide("elements from update to update of a row, 0 where the axis is the last")
    chunk_length: int = narrow("updates that are loaded at once, whole blocks")
    row_dims: tuple[int, ...] = numbers("dims of the axes of rows", pad=1)
    row_steps: tuple[int, ...] = numbers("elements from row to row along them", pad=0)


class _Scatter(Family):
    """Elements of a tensor that are replaced, one for each index."""

    name = template = "scatter"
    operators = frozenset({"ScatterElements"})

    def plan(self, launch: Launch) -> Plan:
        """Cut the result as one range of elements; rows of updates are those of the last axis."""
        data, indices = launch.inputs[:2]
        axis = number(launch.kernel.attributes["axis"]) % len(data)
        dtypes = [port.dtype for port in launch.kernel.inputs[:3]]
        steps = [0 if at == axis else step for at, step in enumerate(dense(data))]
        footprint = ElementFootprint.of(dtypes)
        flat = vector_tiling(prod(data), footprint, launch.soc)
        tiles = -(-flat.total_length // flat.tile_length)
        whole = -(-indices[-1] // footprint.align) * footprint.align
        chunk = max(footprint.align, min(whole, footprint.capacity(launch.soc)))
        tiling = ScatterTiling(
            total=flat.total_length,
            tile_length=flat.tile_length,
            tile_count=tiles,
            core_num=max(1, min(flat.core_num, tiles)),
            axis_length=data[axis],
            axis_step=dense(data)[axis],
            rows=prod(indices[:-1]),
            length=indices[-1],
            step=steps[-1],
            chunk_length=chunk,
            row_dims=indices[:-1],
            row_steps=tuple(steps[:-1]),
        )
        sizes = (flat.tile_length, chunk, chunk)
        buffers = tuple(
            Buffer(name, "ub", DEPTH * length * dtype.itemsize)
            for name, length, dtype in zip(
                ("tile", "indicesQueue", "updatesQueue"), sizes, dtypes, strict=True
            )
        )
        return Plan(tiling, tiling.core_num, buffers, launch.moved)

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw indices of the axis from both ends; some of them meet."""
        data, indices = sample.shapes[:2]
        if sample.position != 1 or data is None or indices is None:
            return None
        length = max(data[number(sample.attributes["axis"])], 1)
        return generator.integers(-length, length, indices)


FAMILIES = (_Scatter(),)
