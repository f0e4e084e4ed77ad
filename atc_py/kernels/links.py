"""Functions of each element that a kernel applies to its result while it has it in the buffer."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

import msgspec

from atc_py.ir import AttrValue
from atc_py.kernels.cpp import C_TYPES
from atc_py.kernels.keys import LinkKey, Reach
from atc_py.kernels.ports import KernelPort, Scratch
from atc_py.target import TargetOp, find_operator, operators
from atc_py.target.vector import Form, Operands, Temporary, VectorFunction
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims, element_count

_FLOATS = frozenset({DType.FLOAT16, DType.FLOAT32, DType.BFLOAT16})


class LinkOperand(msgspec.Struct, frozen=True):
    """An operand of a link beside the result so far."""

    port: KernelPort  # as the kernel's signature has it
    reach: Reach  # the part of it that belongs to an element
    single: bool  # whether the formula reads it as one value, without a tensor

    @property
    def name(self) -> str:
        return self.port.name


class Link(msgspec.Struct, frozen=True):
    """A function that a kernel applies to its result, as templates see it."""

    key: LinkKey  # the facts about it that the kernel depends on
    number: int  # from 1
    operands: tuple[LinkOperand | None, ...]  # by position; None for the result so far
    function: VectorFunction  # how the vector unit computes it
    exact: bool  # True if its numbers are the simulator's bit for bit

    @property
    def op(self) -> str:
        return self.key.op

    @property
    def stem(self) -> str:
        """Prefix of its constants' names."""
        return f"kThen{self.number}"

    @property
    def compute(self) -> str:
        return compute_type(self.function, self.key.dtype)

    @property
    def form(self) -> str:
        return self.function.form.value

    @property
    def wide(self) -> bool:
        return self.compute == "float" and self.key.dtype is not DType.FLOAT32

    @property
    def approximate(self) -> AttrValue | None:
        return dict(self.key.attributes).get("approximate")

    @property
    def tensors(self) -> tuple[LinkOperand, ...]:
        return tuple(each for each in self.operands if each is not None and not each.single)

    @property
    def singles(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.operands if each is not None and each.single)

    def named(self, result: str, tail: str) -> tuple[str, ...]:
        """All operands as the kernel names them: `result`, or the name with `tail`."""
        return tuple(result if each is None else each.name + tail for each in self.operands)

    @property
    def fits(self) -> bool:
        """True if `formulas.j2` writes it: a function of floats that may be linked.

        The other operands of a function of one tensor, or of channels, must be single values.
        """
        if not self.function.linked or self.key.dtype not in _FLOATS:
            return False
        if self.function.operands is Operands.TENSORS:
            return True
        first, *others = self.operands
        return first is None and all(
            each is not None and each.reach is Reach.ONE for each in others
        )


def linked(
    key: LinkKey, number: int, ports: tuple[KernelPort | None, ...], row: TargetOp
) -> Link | None:
    """The link of `key` whose operands are `ports`, by position.

    `number` counts from 1; a port is None for the result so far.

    Returns:
        The link, or None where the operator is not a vector function.
    """
    if row.vector is None:
        return None
    whole = row.vector.operands is Operands.TENSORS
    operands = tuple(
        None if port is None or entry is None else LinkOperand(port, entry.reach, not whole)
        for port, entry in zip(ports, key.inputs, strict=True)
    )
    return Link(key, number, operands, row.vector, row.is_exact)


def reach_of(operand: Dims, result: Dims) -> Reach:
    shape = tuple(dim or 0 for dim in operand)
    whole = tuple(dim or 0 for dim in result)
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
        scratch = scratch_of(link.function) if link.compute == "float" else ()
        for each in (*(Scratch(f"{name}Wide", "float") for name in wide), *scratch):
            found.setdefault(each.name, each)
    return tuple(found.values())


def compute_type(function: VectorFunction, dtype: DType) -> str:
    """The C++ type that the vector unit computes a function of `dtype` in.

    It is `scalar` where the unit has no such arithmetic.
    """
    if function.bits:
        return "uint16_t"
    if dtype in function.native:
        return C_TYPES[dtype]
    return "float" if dtype in _FLOATS else "scalar"


def scratch_of(function: VectorFunction) -> tuple[Scratch, ...]:
    """The buffers that a function's formula needs beside its operands and its result."""
    return tuple(tensor_of(each) for each in function.scratch)


def tensor_of(temporary: Temporary) -> Scratch:
    return Scratch(temporary.name, C_TYPES[temporary.dtype], temporary.is_mask)


class _FunctionsOf(AbstractSet[str]):
    """The operators that are functions of one form; asked for one, it imports no other's row."""

    def __init__(self, form: Form) -> None:
        self._form = form

    def __contains__(self, op: object) -> bool:
        row = find_operator(op) if isinstance(op, str) else None
        return row is not None and self._has(row)

    def __iter__(self) -> Iterator[str]:
        return (row.name for row in operators() if self._has(row))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _has(self, row: TargetOp) -> bool:
        return row.vector is not None and row.vector.form is self._form


def operators_of(form: Form) -> AbstractSet[str]:
    return _FunctionsOf(form)


def instruction_of(op: str) -> str:
    """The vector instruction that an operator is; empty where its formula is a template's."""
    row = find_operator(op)
    return "" if row is None or row.vector is None else row.vector.instruction
