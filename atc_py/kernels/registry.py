"""The register of families, which write the kernels of operators."""

from functools import cache

from atc_py.ir import Engine
from atc_py.kernels.families.skeleton import AICPU, skeleton
from atc_py.kernels.family import Family
from atc_py.kernels.plan import KernelFacts
from atc_py.system.register import Register


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
    """The family that writes `kernel`."""
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
