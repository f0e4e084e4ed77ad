"""Families: operators whose kernels one template writes, and how their work is planned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.plan import KernelFacts, Launch, Plan
from atc_py.target import Soc
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape


class InputSample(msgspec.Struct, frozen=True):
    """An input that random data are drawn for."""

    op: str
    attributes: Mapping[str, Any]  # by name; dtypes as their names
    shapes: tuple[Shape | None, ...]  # of all inputs of the node by position, None where absent
    position: int  # of the input among them
    dtype: DType
    results: tuple[Shape, ...] = ()  # shapes of the node's results


class Family(ABC):
    """Operators whose kernels one template writes.

    A module of `atc_py.kernels.families` lists its families in a tuple `FAMILIES`; they are found there
    without being listed anywhere else. What no family covers gets the skeleton that the operator's
    row names.
    """

    name: str  # as the list of kernels shows it
    template: str  # `<template>.cpp.j2` below `templates/kernels`
    operators: AbstractSet[str] = frozenset()  # target operators whose AI Core kernels it writes
    # True if its kernels address operands as they are stored in blocks. An operator has at most one
    # such family, which is asked first where operands are blocked, and at most one whose kernels
    # address rows of the origin formats
    in_blocks: bool = False

    @abstractmethod
    def plan(self, launch: Launch) -> Plan:
        """Work out the tiling, buffers and bytes of one set of shapes."""

    def covers(self, kernel: KernelFacts) -> bool:
        """True if it writes this kernel of its operators, with its dtypes and attributes."""
        return True

    def fits(self, launch: Launch) -> bool:
        """True if a kernel in blocks takes the shapes of a launch."""
        return True

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        """The value of `own` in its template, beside the names that every template has."""
        return {}

    def exact(self, kernel: KernelFacts) -> bool:
        """True if the kernel's numbers are the simulator's bit for bit.

        They are within 2 units in the last place of float16 elsewhere.
        """
        return True

    def sums(self, kernel: KernelFacts) -> bool:
        """True if results are sums that may cancel.

        The size of the terms, which is the result of the inputs' magnitudes, then counts
        for how close numbers must be.
        """
        return False

    def fuses(self, kernel: KernelFacts, soc: Soc) -> bool:
        """True if its template applies the links of a kernel, which all fit `formulas.j2`."""
        return False

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw data for an input that plain random numbers do not fit: indices, words.

        Returns:
            The data, or None where floats may be normal, integers small and bools fair.
        """
        return None

    def addresses(self, kernel: KernelFacts) -> str:
        """`storage` if the kernel takes its operands as they are stored, else `origin`."""
        return "storage" if self.in_blocks or not kernel.is_blocked else "origin"
