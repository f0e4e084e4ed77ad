"""Triangles: matrices of which the elements on one side of a diagonal become 0."""

from collections.abc import Mapping
from math import prod
from typing import Any

from atc_py.kernels.family import Family, KernelFacts, Launch, Plan, queues
from atc_py.kernels.tiling import DealtTiling, ElementFootprint, dealt_tiling, extended, wide


class TriangleTiling(DealtTiling):
    """The elements of a stack of matrices, cut into tiles."""

    rows: int = wide("rows of a matrix")
    columns: int = wide("columns of a matrix")


class _Triangles(Family):
    """Upper and lower triangles."""

    name = template = "triangle"
    operators = frozenset({"Trilu"})

    def plan(self, launch: Launch) -> Plan:
        result = launch.outputs[0]
        x, y = launch.kernel.inputs[0], launch.kernel.outputs[0]
        footprint = ElementFootprint.of([x.dtype, y.dtype])
        tiling = extended(
            TriangleTiling,
            dealt_tiling(prod(result), footprint, launch.soc),
            rows=result[-2],
            columns=result[-1],
        )
        return Plan(tiling, tiling.core_num, queues((x, y), tiling.tile_length), launch.moved)

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        return {"upper": bool(kernel.attributes.get("upper", 0))}


FAMILIES = (_Triangles(),)
