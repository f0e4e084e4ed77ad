"""The register of families, which write the kernels of operators."""

from functools import cache

from atc_py.ir import Engine
from atc_py.kernels.family import Family, KernelFacts, Launch, Plan, queues
from atc_py.kernels.tiling import ElementFootprint, shard_tiling, vector_tiling
from atc_py.system.register import Register
from atc_py.tensor.shapes import element_count


def _keys(family: Family, name: str | None) -> list[tuple[str, bool]]:
    # Naming all operators of some families takes all rows; asking for one does not.
    operators = family.operators
    names = operators if name is None else [name] if name in operators else []
    return [(op, family.in_blocks) for op in names]


FAMILIES: Register[tuple[str, bool], Family] = Register(
    "family of", "atc_py.kernels.families", listed="FAMILIES", keys=_keys
)
"""By operator and whether the family's operands are stored in blocks."""


def family_of(kernel: KernelFacts) -> Family:
    if kernel.key.engine is Engine.AICPU:
        return AICPU
    for family in families_of(kernel.op):
        if (kernel.takes_blocks or not family.in_blocks) and family.covers(kernel):
            return family
    return skeleton(kernel.row.family)


@cache
def families_of(op: str) -> tuple[Family, ...]:
    """The families that claim an operator, the one in blocks first."""
    claiming = FAMILIES.named(op)
    return tuple(claiming[key] for key in sorted(claiming, reverse=True))


class _Flat(Family):
    """Operators whose rows name a family that is not written yet."""

    template = "skeleton"

    def __init__(self, name: str) -> None:
        self.name = name

    def plan(self, launch: Launch) -> Plan:
        footprint = ElementFootprint.of([launch.kernel.outputs[0].dtype])
        tiling = vector_tiling(_total(launch), footprint, launch.soc)
        queue = queues(launch.kernel.outputs[:1], tiling.tile_length)
        return Plan(tiling, tiling.core_num, queue, launch.moved)


class _AiCpu(Family):
    """Kernels of the AI CPU."""

    name = template = "aicpu"

    def plan(self, launch: Launch) -> Plan:
        tiling = shard_tiling(_total(launch), launch.soc)
        return Plan(tiling, tiling.shard_count, moved=launch.moved)


def _total(launch: Launch) -> int:
    return sum(element_count(shape) for shape in launch.outputs)


@cache
def skeleton(name: str) -> Family:
    """The family of operators whose rows name `name`, which is not written yet."""
    return _Flat(name)


def is_skeleton(family: Family) -> bool:
    return isinstance(family, _Flat)


AICPU = _AiCpu()
