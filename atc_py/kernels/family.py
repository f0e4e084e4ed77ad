"""Families: operators whose kernels one template writes; what they see of a kernel, and plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.ir import AttrValue, Node, TensorType
from atc_py.kernels.keys import KernelKey
from atc_py.kernels.links import Link
from atc_py.kernels.ports import KernelPort
from atc_py.kernels.tiling import DEPTH, Tiling
from atc_py.target import Soc, TargetOp
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape, element_count


class KernelFacts(msgspec.Struct, frozen=True):
    """A kernel as families see it, whatever shapes it works on."""

    key: KernelKey  # everything that the kernel depends on
    row: TargetOp
    inputs: tuple[KernelPort, ...]  # the inputs that are there
    outputs: tuple[KernelPort, ...]
    # functions of each element after the operator, which the kernel applies as well
    links: tuple[Link, ...] = ()
    has_blocked_links: bool = False  # whether one of them reads an operand in a blocked format

    @property
    def op(self) -> str:
        return self.key.op

    @property
    def operands(self) -> tuple[KernelPort, ...]:
        """All operands that the kernel reads: the operator's inputs, then those of its links."""
        read = (each.port for link in self.links for each in link.operands if each is not None)
        return (*self.inputs, *read)

    @property
    def is_blocked(self) -> bool:
        ports = (*self.inputs, *self.outputs)
        return self.has_blocked_links or any(port.storage is not None for port in ports)

    @property
    def takes_blocks(self) -> bool:
        """True if it may address blocks where there are any."""
        return self.is_blocked and not self.key.by_rows

    @property
    def attributes(self) -> Mapping[str, AttrValue]:
        """Attributes by name, the row's defaults filled in."""
        return dict(self.key.attributes)


class Launch(msgspec.Struct, frozen=True):
    """A launch of a kernel on one set of shapes, for which a family plans."""

    kernel: KernelFacts
    node: Node  # one of the nodes with these shapes
    soc: Soc
    followers: tuple[Node, ...] = ()  # the nodes of the kernel's links

    @property
    def inputs(self) -> tuple[Shape, ...]:
        """Shapes of the inputs that are there; a dim that only the run knows counts as 1."""
        return tuple(counted(value.type) for value in self.node.present_inputs)

    @property
    def outputs(self) -> tuple[Shape, ...]:
        return tuple(counted(value.type) for value in self.node.outputs)

    @property
    def stored_inputs(self) -> tuple[Shape, ...]:
        pairs = zip(self.kernel.inputs, self.inputs, strict=True)
        return tuple(port.stored(shape) for port, shape in pairs)

    @property
    def stored_outputs(self) -> tuple[Shape, ...]:
        pairs = zip(self.kernel.outputs, self.outputs, strict=True)
        return tuple(port.stored(shape) for port, shape in pairs)

    @property
    def linked(self) -> tuple[Shape, ...]:
        """Shapes of the other operands of the links, in the order of the kernel's operands."""
        return tuple(
            counted(value.type)
            for link, node in zip(self.kernel.links, self.followers, strict=True)
            for value, operand in zip(node.inputs, link.operands, strict=True)
            if value is not None and operand is not None
        )

    @property
    def moved(self) -> tuple[int, int]:
        """Bytes of all inputs and of all results in their storage, each once."""
        sides = (
            zip((*self.inputs, *self.linked), self.kernel.operands, strict=True),
            zip(self.outputs, self.kernel.outputs, strict=True),
        )
        read, written = (
            sum(element_count(port.stored(shape)) * port.dtype.itemsize for shape, port in side)
            for side in sides
        )
        return read, written


def counted(type_: TensorType) -> Shape:
    """The dims to plan with; an open one counts as 1 until the run knows it."""
    dims = type_.dims
    return tuple(1 if dim is None else dim for dim in dims) if None in dims else dims  # type: ignore[return-value]


class Buffer(msgspec.Struct, frozen=True):
    """A queue or a piece of scratch memory of one core."""

    name: str  # the member of the kernel's class
    storage: str  # ub, l1, l0a, l0b or l0c
    nbytes: int  # of all its buffers together


def queues(ports: Iterable[KernelPort], length: int) -> tuple[Buffer, ...]:
    """A queue for each operand, whose buffers hold `length` elements."""
    return tuple(
        Buffer(f"{port.name}Queue", "ub", DEPTH * length * port.dtype.itemsize) for port in ports
    )


class Plan(msgspec.Struct, frozen=True):
    """Plan of a kernel for one set of shapes."""

    tiling: Tiling  # it becomes a row of the kernel's `kRows`
    cores: int  # cores that have work
    buffers: tuple[Buffer, ...] = ()  # the use of a core's memory
    moved: tuple[int, int] = (0, 0)  # bytes read and written in the device's memory
    workspace: int = 0  # bytes of the device's memory that the kernel needs beside its operands

    def used(self, storage: str) -> int:
        return sum(buffer.nbytes for buffer in self.buffers if buffer.storage == storage)

    def as_json(self) -> dict[str, Any]:
        return {
            "cores": self.cores,
            "tiling": dict(vars(self.tiling)),
            "buffers": [
                {"name": each.name, "storage": each.storage, "bytes": each.nbytes}
                for each in self.buffers
            ],
            "read_bytes": self.moved[0],
            "written_bytes": self.moved[1],
            "workspace_bytes": self.workspace,
        }


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
