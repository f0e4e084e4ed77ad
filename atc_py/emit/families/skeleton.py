"""Skeletons: kernels whose frame is written and whose arithmetic is left to write."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from atc_py.emit.family import Family
from atc_py.emit.plan import Buffer, Plan
from atc_py.emit.tiling import DEPTH, Footprint, shard_tiling, vector_tiling
from atc_py.tensor.shapes import element_count

if TYPE_CHECKING:
    from atc_py.emit.plan import Launch

__all__ = ["AICPU", "skeleton"]


_FRAMED = frozenset({"recurrent"})
"""Families with a frame of their own; the others share `skeleton.cpp.j2`."""


def _total(launch: Launch) -> int:
    """Elements of all results."""
    return sum(element_count(shape) for shape in launch.outputs)


def _shards(launch: Launch) -> Plan:
    """The elements of all results, cut over the AI CPU's cores."""
    tiling = shard_tiling(_total(launch), launch.soc)
    return Plan(tiling, tiling.shard_count, moved=launch.moved)


def _framed_plan(launch: Launch) -> Plan:
    """The elements of all results; buffers follow when the kernel is written."""
    dtypes = [launch.kernel.inputs[0].dtype, launch.kernel.outputs[0].dtype]
    tiling = vector_tiling(_total(launch), Footprint.of(dtypes), launch.soc)
    return Plan(tiling, tiling.core_num, moved=launch.moved)


def _flat_plan(launch: Launch) -> Plan:
    """The elements of all results, cut over cores and tiles."""
    footprint = Footprint.of([launch.kernel.outputs[0].dtype])
    tiling = vector_tiling(_total(launch), footprint, launch.soc)
    size = DEPTH * tiling.tile_length * launch.kernel.outputs[0].dtype.itemsize
    queue = Buffer(f"{launch.kernel.outputs[0].name}Queue", "ub", size)
    return Plan(tiling, tiling.core_num, (queue,), launch.moved)


@cache
def skeleton(name: str) -> Family:
    """The family of operators whose rows name `name` and that nobody has written yet."""
    if name in _FRAMED:
        return Family(name, name, frozenset(), _framed_plan)
    return Family(name, "skeleton", frozenset(), _flat_plan)


AICPU = Family("aicpu", "aicpu", frozenset(), _shards)
