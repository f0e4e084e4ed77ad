"""Functions of each element that a kernel applies to its result while it has it in the buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.emit.functions import ROUNDED_ONCE, SCRATCH, compute_type
from atc_py.emit.keys import Reach
from atc_py.emit.scratch import Scratch
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import element_count

if TYPE_CHECKING:
    from atc_py.emit.keys import LinkKey
    from atc_py.emit.ports import Port
    from atc_py.ir import AttrValue
    from atc_py.tensor.shapes import Dims

__all__ = ["Link", "LinkOperand", "link_scratch", "linked", "reach_of"]

_LINKED = frozenset({
    "Abs", "Acos", "Acosh", "Add", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "ClipByValue",
    "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "GeluV2", "HardSigmoid", "HardSwish", "LeakyRelu",
    "Log", "Maximum", "Minimum", "Mod", "Mul", "Muls", "Neg", "Pow", "RealDiv", "Reciprocal",
    "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt",
    "Sub", "Swish", "Tanh",
})  # fmt: skip
"""Operators that `formulas.j2` writes in place, with one tensor beside operands and result."""

_FLOATS = frozenset({DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16})
_SINGLES = frozenset({"ClipByValue"})
"""Operators whose further operands are read as single values."""


@dataclass(frozen=True, slots=True)
class LinkOperand:
    """An operand of a link beside the result so far.

    Attributes:
        port: as the kernel's signature has it.
        reach: what of it belongs to an element.
        single: whether the formula reads it as one value, without a tensor.
    """

    port: Port
    reach: Reach
    single: bool

    @property
    def name(self) -> str:
        """Its name in the kernel."""
        return self.port.name


@dataclass(frozen=True, slots=True)
class Link:
    """A function that a kernel applies to its result, as templates see it.

    Attributes:
        key: what the kernel depends on of it.
        number: from 1.
        operands: by position; None for the result so far.
    """

    key: LinkKey
    number: int
    operands: tuple[LinkOperand | None, ...]

    @property
    def op(self) -> str:
        """The target operator."""
        return self.key.op

    @property
    def stem(self) -> str:
        """What its constants' names begin with."""
        return f"kThen{self.number}"

    @property
    def compute(self) -> str:
        """C++ type of its arithmetic."""
        return compute_type(self.op, self.key.dtype)

    @property
    def wide(self) -> bool:
        """Whether it goes through float32."""
        return self.compute == "float" and self.key.dtype is not DType.FLOAT32

    @property
    def approximate(self) -> AttrValue | None:
        """How a Gelu is approximated."""
        return dict(self.key.attributes).get("approximate")

    @property
    def tensors(self) -> tuple[LinkOperand, ...]:
        """The operands that are loaded tile by tile."""
        return tuple(each for each in self.operands if each is not None and not each.single)

    @property
    def singles(self) -> tuple[str, ...]:
        """Names of the operands that are read as single values."""
        return tuple(each.name for each in self.operands if each is not None and each.single)

    def named(self, result: str, tail: str) -> tuple[str, ...]:
        """All operands as the kernel calls them: `result`, or the tensor's name with `tail`."""
        return tuple(result if each is None else each.name + tail for each in self.operands)

    @property
    def exact(self) -> bool:
        """Whether its numbers are the simulator's bit for bit."""
        return self.op in ROUNDED_ONCE

    @property
    def fits(self) -> bool:
        """Whether `formulas.j2` writes it: an operator of its list on floats.

        What a function of one tensor reads besides must be single values.
        """
        if self.op not in _LINKED or self.key.dtype not in _FLOATS:
            return False
        if self.op not in _SINGLES:
            return True
        first, *others = self.operands
        return first is None and all(
            each is not None and each.reach is Reach.ONE for each in others
        )


def linked(key: LinkKey, number: int, ports: tuple[Port | None, ...]) -> Link:
    """The link of `key` whose operands are `ports`, by position."""
    single = key.op in _SINGLES
    operands = tuple(
        None if port is None or entry is None else LinkOperand(port, entry.reach, single)
        for port, entry in zip(ports, key.inputs, strict=True)
    )
    return Link(key, number, operands)


def reach_of(operand: Dims, result: Dims) -> Reach:
    """What of an operand of known extents belongs to an element of the result."""
    shape = tuple(extent or 0 for extent in operand)
    whole = tuple(extent or 0 for extent in result)
    count = element_count(shape)
    if count == 1:
        return Reach.ONE
    if count == element_count(whole):
        return Reach.WHOLE
    matrix = len("mn")
    stacked = len(shape) >= matrix and shape[-matrix:] == whole[-matrix:]
    return Reach.STACK if stacked else Reach.REPEATED


def link_scratch(links: tuple[Link, ...], result: str) -> tuple[Scratch, ...]:
    """Tensors that links need beside their operands and the result, each once.

    Args:
        links: in order.
        result: name of the result in the kernel; where a link goes through float32, it does so in
            `<result>Wide`.
    """
    found: dict[str, Scratch] = {}
    for link in links:
        wide = [result, *(each.name for each in link.tensors)] if link.wide else []
        scratch = SCRATCH.get(link.op, ()) if link.compute == "float" else ()
        for each in (*(Scratch(f"{name}Wide", "float") for name in wide), *scratch):
            found.setdefault(each.name, each)
    return tuple(found.values())
