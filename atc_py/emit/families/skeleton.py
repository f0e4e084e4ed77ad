"""Skeletons: kernels whose frame is written and whose arithmetic is left to write."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from atc_py.emit.family import Family
from atc_py.emit.geometry import tile_node
from atc_py.emit.plan import Buffer, Plan
from atc_py.emit.tiling import DEPTH, Footprint, vector_tiling
from atc_py.shapes import element_count

if TYPE_CHECKING:
    from atc_py.emit.plan import Launch

__all__ = ["AICPU", "skeleton"]


_FRAMED = frozenset({"recurrent"})
"""Families with a frame of their own; the others share `skeleton.cpp.j2`."""


def _plan(launch: Launch) -> Plan:
    """The tiling that the operator's row asks for; buffers follow when the kernel is written."""
    tiling = tile_node(launch.node, launch.kernel.row, launch.kernel.key, launch.soc)
    cores = getattr(tiling, "core_num", getattr(tiling, "shard_count", 1))
    return Plan(tiling, cores, moved=launch.moved)


def _flat_plan(launch: Launch) -> Plan:
    """The elements of all results, cut over cores and tiles."""
    total = sum(element_count(shape) for shape in launch.outputs)
    footprint = Footprint.of([launch.kernel.outputs[0].dtype])
    tiling = vector_tiling(total, footprint, launch.soc)
    size = DEPTH * tiling.tile_length * launch.kernel.outputs[0].dtype.itemsize
    queue = Buffer(f"{launch.kernel.outputs[0].name}Queue", "ub", size)
    return Plan(tiling, tiling.core_num, (queue,), launch.moved)


@cache
def skeleton(name: str) -> Family:
    """The family of operators whose rows name `name` and that nobody has written yet."""
    if name in _FRAMED:
        return Family(name, name, frozenset(), _plan)
    return Family(name, "skeleton", frozenset(), _flat_plan)


AICPU = Family("aicpu", "aicpu", frozenset(), _plan)
