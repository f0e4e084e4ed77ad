"""NonZero: indices of the elements that are not zero."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from atc_py.emit.family import Family
from atc_py.emit.fields import narrow, numbers, wide
from atc_py.emit.plan import Buffer, Plan
from atc_py.emit.tiling import BLOCK, DEPTH, ElementFootprint, vector_tiling

if TYPE_CHECKING:
    from atc_py.emit.plan import KernelFacts, Launch

__all__ = ["FAMILIES", "NonZeroTiling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NonZeroTiling:
    """The elements of x, cut into tiles; every core has neighboring ones."""

    total: int = wide("elements of x")
    tile_length: int = narrow("elements of a tile, whole blocks")
    tile_count: int = wide("tiles")
    core_num: int = narrow("cores that have work")
    core_tiles: int = wide("tiles of every core but the last")
    rank: int = wide("axes of x, which are rows of the result")
    buffer_rows: int = wide("rows that the buffer of the result holds, at least 1")
    x_dims: tuple[int, ...] = numbers("dims of x", pad=1)


class _NonZero(Family):
    """Indices of the elements that are not zero, a row for each axis."""

    name = template = "nonzero"
    operators = frozenset({"NonZero"})

    def covers(self, kernel: KernelFacts) -> bool:
        """Return True for ONNX's layout, in which axes are rows."""
        return bool(kernel.attributes["transpose"])

    def plan(self, launch: Launch) -> Plan:
        """Cut x as one range of elements; a tile has room for all of its indices."""
        x, source, result = launch.inputs[0], launch.kernel.inputs[0], launch.kernel.outputs[0]
        rows = max(1, len(x))
        sizes = source.dtype.itemsize, rows * result.dtype.itemsize
        align = BLOCK // min(source.dtype.itemsize, result.dtype.itemsize)
        flat = vector_tiling(prod(x), ElementFootprint(align, DEPTH * sum(sizes)), launch.soc)
        tiles = -(-flat.total_length // flat.tile_length)
        core_tiles = max(1, -(-tiles // max(1, flat.core_num)))
        tiling = NonZeroTiling(
            total=flat.total_length,
            tile_length=flat.tile_length,
            tile_count=tiles,
            core_num=max(1, -(-tiles // core_tiles)),
            core_tiles=core_tiles,
            rank=len(x),
            buffer_rows=rows,
            x_dims=x,
        )
        buffers = tuple(
            Buffer(f"{port.name}Queue", "ub", DEPTH * flat.tile_length * size)
            for port, size in zip((source, result), sizes, strict=True)
        )
        return Plan(tiling, tiling.core_num, buffers, launch.moved)


FAMILIES = (_NonZero(),)
