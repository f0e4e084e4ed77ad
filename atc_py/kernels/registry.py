"""The register of families, which write the kernels of operators."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from atc_py.ir import Engine
from atc_py.kernels import families as package
from atc_py.kernels.families.skeleton import AICPU, skeleton
from atc_py.kernels.family import Family
from atc_py.kernels.family_modules import MODULES
from atc_py.kernels.plan import KernelFacts


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
    """The families that claim an operator, the one in blocks first.

    Of a listed operator the modules of its families alone are imported.
    """
    if op not in MODULES:
        return _by_operator().get(op, ())
    listed = (family for name in MODULES[op] for family in _families_in(name))
    claiming = [family for family in listed if op in family.operators]
    return tuple(sorted(claiming, key=lambda family: not family.in_blocks))


@cache
def families() -> tuple[Family, ...]:
    """Every family, in the order of their modules."""
    return tuple(family for _, family in listed_families())


@cache
def _by_operator() -> Mapping[str, tuple[Family, ...]]:
    """The families of each operator.

    Raises:
        ValueError: two families claim one operator for the same kind of storage.
    """
    found: dict[tuple[str, bool], tuple[Family, str]] = {}
    for module, family in listed_families():
        for op in sorted(family.operators):
            claim = op, family.in_blocks
            if claim in found:
                raise ValueError(f"{op} is claimed in {found[claim][1]} and in {module}")
            found[claim] = family, module
    by_operator: dict[str, tuple[Family, ...]] = {}
    for (op, _), (family, _) in sorted(found.items(), key=lambda each: not each[0][1]):
        by_operator[op] = (*by_operator.get(op, ()), family)
    return by_operator


def listed_families() -> list[tuple[str, Family]]:
    """Every family with the module that lists it."""
    return [
        (f"{package.__name__}.{module.name}", family)
        for module in pkgutil.iter_modules(package.__path__)
        for family in _families_in(module.name)
    ]


def _families_in(module: str) -> tuple[Family, ...]:
    listed: tuple[Family, ...] = getattr(
        importlib.import_module(f"{package.__name__}.{module}"), "FAMILIES", ()
    )
    return listed
