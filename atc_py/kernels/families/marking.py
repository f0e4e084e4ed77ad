"""One-hot: one value where a new axis runs over an index, another elsewhere."""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.box_family import number
from atc_py.kernels.family import Family, InputSample
from atc_py.kernels.fields import Tiling, narrow, wide
from atc_py.kernels.plan import Buffer, Launch, Plan
from atc_py.kernels.tiling import DEPTH, ElementFootprint, vector_tiling

_BEYOND = 2
"""How far drawn indices reach beyond the axis, where they mark nothing."""


class MarkTiling(Tiling):
    """The elements of the result, cut into tiles."""

    total: int = wide("elements of the result")
    tile_length: int = narrow("elements of a tile, whole blocks")
    tile_count: int = wide("tiles")
    core_num: int = narrow("cores that have work; core c takes tiles c, c + core_num ...")
    depth: int = wide("extent of the new axis")
    inner: int = wide("indices behind the new axis")


class _OneHot(Family):
    """One value where a new axis runs over an index, another elsewhere."""

    name = template = "mark"
    operators = frozenset({"OneHot", "OneHotD"})

    def plan(self, launch: Launch) -> Plan:
        x, result, port = launch.inputs[0], launch.outputs[0], launch.kernel.outputs[0]
        flat = vector_tiling(prod(result), ElementFootprint.of([port.dtype]), launch.soc)
        axis = number(launch.kernel.attributes["axis"]) % len(result)
        tiles = -(-flat.total_length // flat.tile_length)
        tiling = MarkTiling(
            total=flat.total_length,
            tile_length=flat.tile_length,
            tile_count=tiles,
            core_num=max(1, min(flat.core_num, tiles)),
            depth=result[axis],
            inner=prod(x[axis:]),
        )
        size = DEPTH * flat.tile_length * port.dtype.itemsize
        return Plan(
            tiling, tiling.core_num, (Buffer(f"{port.name}Queue", "ub", size),), launch.moved
        )

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw indices of the new axis, from both ends, and some beyond it."""
        if sample.position != 0:
            return None
        reach = number(sample.attributes.get("depth", 1)) + _BEYOND
        return generator.integers(-reach, reach, sample.shapes[0])


FAMILIES = (_OneHot(),)
