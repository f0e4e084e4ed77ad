"""Families: which template writes the kernel of an operator, and how its work is planned."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from atc_py.ir import Engine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from atc_py.emit.plan import KernelFacts, Launch, Plan
    from atc_py.target import Soc
    from atc_py.tensor.dtypes import DType
    from atc_py.tensor.shapes import Shape

__all__ = ["Family", "Sample", "families", "family_of"]


def _every(_kernel: KernelFacts) -> bool:
    """The answer of a family that writes every kernel of its operators."""
    return True


def _nothing(_kernel: KernelFacts) -> Mapping[str, Any]:
    """The context of a template that needs no more than every template has."""
    return {}


def _never(_kernel: KernelFacts) -> bool:
    """The answer of a family whose results are no sums."""
    return False


def _always(_launch: Launch) -> bool:
    """The answer of a family whose kernels take all shapes."""
    return True


def _alone(_kernel: KernelFacts, _soc: Soc) -> bool:
    """The answer of a family whose kernels apply no functions to their results."""
    return False


@dataclass(frozen=True, slots=True)
class Sample:
    """An input that random data are drawn for.

    Attributes:
        op: target operator.
        attributes: by name; dtypes as their names.
        shapes: of all inputs of the node by position, None where absent.
        position: of the input among them.
        dtype: of the input.
    """

    op: str
    attributes: Mapping[str, Any]
    shapes: tuple[Shape | None, ...]
    position: int
    dtype: DType


def _plain(_sample: Sample, _generator: np.random.Generator) -> None:
    """No data of the family's own: floats are normal, integers small, bools fair."""


@dataclass(frozen=True, slots=True)
class Family:
    """Operators whose kernels one template writes.

    A module of `atc_py.emit.families` declares families in a tuple `FAMILIES`; it is found there
    without being listed anywhere. Operators that no family claims get the skeleton that their
    row names.

    Attributes:
        name: as the list of kernels shows it.
        template: `<template>.cpp.j2` below `templates/kernels`.
        operators: target operators whose AI Core kernels it writes.
        plan: works out the tiling, buffers and bytes of one set of shapes.
        covers: whether it writes this kernel of them; another's dtypes, formats or attributes
            fall back to the skeleton.
        context: what the template knows beside the names that every template has, as `own`.
        exact: whether the kernel's numbers are the simulator's bit for bit; within 2 units in the
            last place of float16 elsewhere.
        sums: whether results are sums that may cancel; the size of what is summed up, which is
            the result of the inputs' magnitudes, then counts for how close numbers must be.
        draw: data for an input that plain random numbers do not fit (indices, words); None for
            one that they do.
        fuses: whether its template applies the links of a kernel, which all fit `formulas.j2`.
        blocked: what writes kernels of these operators whose operands lie in blocked formats;
            without it, or where it does not cover a kernel, this one writes rows of the origin's.
        in_blocks: whether its kernels address operands as they are stored in blocks.
        fits: whether such a kernel does so for a launch's shapes.
    """

    name: str
    template: str
    operators: frozenset[str]
    plan: Callable[[Launch], Plan]
    covers: Callable[[KernelFacts], bool] = _every
    context: Callable[[KernelFacts], Mapping[str, Any]] = _nothing
    exact: Callable[[KernelFacts], bool] = _every
    sums: Callable[[KernelFacts], bool] = _never
    draw: Callable[[Sample, np.random.Generator], NDArray[Any] | None] = _plain
    fuses: Callable[[KernelFacts, Soc], bool] = _alone
    blocked: Family | None = None
    in_blocks: bool = False
    fits: Callable[[Launch], bool] = _always

    def addresses(self, kernel: KernelFacts) -> str:
        """`storage` where the kernel takes its operands as they are stored, otherwise `origin`."""
        return "storage" if self.in_blocks or not kernel.is_blocked else "origin"


def family_of(kernel: KernelFacts) -> Family:
    """What writes `kernel`."""
    from atc_py.emit.families.skeleton import AICPU, skeleton

    if kernel.key.engine is Engine.AICPU:
        return AICPU
    family = families().get(kernel.op)
    blocked = family.blocked if family is not None and kernel.takes_blocks else None
    for each in (blocked, family):
        if each is not None and each.covers(kernel):
            return each
    return skeleton(kernel.row.family)


@cache
def families() -> Mapping[str, Family]:
    """Every family, by operator.

    Raises:
        ValueError: two families claim one operator.
    """
    from atc_py.emit import families as package

    found: dict[str, tuple[Family, str]] = {}
    for module in pkgutil.iter_modules(package.__path__):
        name = f"{package.__name__}.{module.name}"
        for family in getattr(importlib.import_module(name), "FAMILIES", ()):
            for op in sorted(family.operators):
                if op in found:
                    raise ValueError(f"{op} is claimed in {found[op][1]} and in {name}")
                found[op] = family, name
    return {op: family for op, (family, _) in found.items()}
