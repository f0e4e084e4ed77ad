"""Triangles: matrices of which the elements on one side of a diagonal become 0."""

from collections.abc import Mapping
from math import prod
from typing import Any

from atc_py.kernels.family import Family
from atc_py.kernels.fields import Tiling, narrow, wide
from atc_py.kernels.plan import Buffer, KernelFacts, Launch, Plan
from atc_py.kernels.tiling import DEPTH, ElementFootprint, vector_tiling


class TriangleTiling(Tiling):
    """The elements of a stack of matrices, cut into tiles."""

    total: int = wide("elements of the result")
    tile_length: int = narrow("elements of a tile, whole blocks")
    tile_count: int = wide("tiles")
    core_num: int = narrow("cores that have work; core c takes tiles c, c + core_num ...")
    rows: int = wide("rows of a matrix")
    columns: int = wide("columns of a matrix")


class _Triangles(Family):
    """Upper and lower triangles."""

    name = template = "triangle"
    operators = frozenset({"Trilu"})

    def plan(self, launch: Launch) -> Plan:
        result = launch.outputs[0]
        x, y = launch.kernel.inputs[0], launch.kernel.outputs[0]
        flat = vector_tiling(prod(result), ElementFootprint.of([x.dtype, y.dtype]), launch.soc)
        tiles = -(-flat.total_length // flat.tile_length)
        tiling = TriangleTiling(
            total=flat.total_length,
            tile_length=flat.tile_length,
            tile_count=tiles,
            core_num=max(1, min(flat.core_num, tiles)),
            rows=result[-2],
            columns=result[-1],
        )
        size = DEPTH * flat.tile_length * y.dtype.itemsize
        queues = tuple(Buffer(f"{port.name}Queue", "ub", size) for port in (x, y))
        return Plan(tiling, tiling.core_num, queues, launch.moved)

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        return {"upper": bool(kernel.attributes.get("upper", 0))}


FAMILIES = (_Triangles(),)
