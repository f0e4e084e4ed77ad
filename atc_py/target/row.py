"""The shape of an operator's row: operands, attributes, dtype columns, limits."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from atc_py.target.kernels import Kernels, Pair
from atc_py.target.layouts import LAYOUTS, Layout
from atc_py.target.soc import Resource, Soc, SocFamily
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from atc_py.target.vector import VectorFunction


AttributeValue: TypeAlias = bool | int | float | str | DType | tuple[int, ...] | tuple[float, ...]


class Unit(Enum):
    """The part of an AI Core that does an operator's work; LOCAL operators need none."""

    CUBE = "cube"
    VECTOR = "vector"
    MOVE = "move"
    LOCAL = "local"


class Operand(msgspec.Struct, frozen=True):
    """An input or output."""

    name: str  # CANN's name
    optional: bool = False
    variadic: bool = False  # stands for one or more; only the last operand can
    # an int64 tensor that the operator reads as numbers (a shape, an axis); it keeps its dtype in
    # every precision mode
    value_depend: bool = False
    # kernels are compiled for the numbers of a constant, as CANN's are; one kernel serves one
    # choice of them
    compiled: bool = False


class Attribute(msgspec.Struct, frozen=True):
    """An attribute; `default` None means that it must be given."""

    name: str  # CANN's name
    type: str  # int, float, bool, string, ints, floats or dtype
    default: AttributeValue | None = None  # the value when a node does not carry it
    # kernels do not carry the default: only a node that says otherwise has one of its own
    unsaid: bool = False


class Column(msgspec.Struct, frozen=True):
    """One combination of dtypes that an AI Core kernel takes."""

    inputs: tuple[DType, ...]  # dtypes by position; a variadic operand repeats the last one
    outputs: tuple[DType, ...]  # dtypes by position; a variadic operand repeats the last one
    needs: Resource | None = None  # what the SoC must have, or None
    # what a node's attributes become when it takes the column: those that name a dtype that the
    # column decides
    attributes: tuple[tuple[str, DType], ...] = ()


class Limit(msgspec.Struct, frozen=True):
    """A bound on an attribute within which the AI Core kernel takes the node."""

    attribute: str  # an attribute of type ints
    positions: tuple[int, ...]  # the elements that are bound
    low: int  # smallest value allowed, of each element or of the product
    high: int  # largest value allowed
    product: bool = False  # bind the product of the elements instead of each


class Values(msgspec.Struct, frozen=True):
    """The values of an attribute with which the AI Core kernel takes the node."""

    attribute: str  # an attribute other than a list
    one_of: tuple[AttributeValue, ...]  # its values; the default is one of them


class TargetOp(msgspec.Struct, frozen=True):
    """One row: everything that the compiler knows about a target operator."""

    name: str  # CANN's name of the graph operator
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    summary: str  # what it computes, one sentence
    unit: Unit = Unit.VECTOR
    attributes: tuple[Attribute, ...] = ()
    # dtype combinations of the AI Core kernel, preferred ones first: those of the generic device,
    # and of SoCs whose columns are not published
    columns: tuple[Column, ...] = ()
    # dtype combinations of the AI Core kernels by SoC family, as published; None where CANN's
    # operator information has no entry of this name
    kernels: Kernels | None = None
    aicpu: tuple[Column, ...] = ()  # dtype combinations of the AI CPU kernel
    # bounds on attributes, or their values, outside which the AI Core kernel refuses the node
    limits: tuple[Limit | Values, ...] = ()
    family: str = ""  # template family of its kernel stub; empty for LOCAL operators
    # every element of its results is an element of its inputs, but for its sign and its fraction,
    # or a constant, so that nothing is rounded; taken for granted of MOVE and LOCAL operators
    selects: bool = False
    # its result approaches a finite limit other than 0, such as the 1 of Sigmoid, or is the
    # logarithm of one that does. Kernels add and divide terms of that limit's size, so that a
    # result near 0 is as exact as the limit and not as exact as itself
    saturates: bool = False
    # what an element of the result is, line by line, where the summary does not say it all; kernels
    # that are left to write quote it
    formula: str = ""
    # which storage formats its kernels take; None for what its family has
    takes: Layout | None = None
    # how the vector unit computes it, of a function of each element; None of others and of
    # functions whose kernels are left to write
    vector: VectorFunction | None = None
    # vector instructions for each element, read off its formula; None for what its family takes
    passes: float | None = None
    picks: bool = False  # True if it reads a part of its first input, as much as its results hold

    def __hash__(self) -> int:
        """The hash of the name: equal rows have one, and hashing all facts takes long."""
        return hash(self.name)

    @property
    def layout(self) -> Layout:
        """Storage formats that its AI Core kernel takes."""
        return self.takes or LAYOUTS.get(self.family, Layout.ROWS)

    @property
    def launches_kernel(self) -> bool:
        return self.unit is not Unit.LOCAL

    @property
    def rounds(self) -> bool:
        """True if results are computed and so rounded to their dtype."""
        return not self.selects and self.unit in {Unit.CUBE, Unit.VECTOR}

    @property
    def is_exact(self) -> bool:
        """True if results are rounded once at most, and so the same however it is computed."""
        return not self.rounds or (self.vector is not None and self.vector.rounded_once)

    @property
    def in_place(self) -> bool:
        """True if its AI Core kernel may write its result over an operand of the same dims.

        It computes element by element: that of an operand has been read, by the same core, when
        the result's element of the same place is written.
        """
        return self.family in _ELEMENT_BY_ELEMENT

    def columns_on(self, soc: Soc) -> tuple[Column, ...]:
        """The dtype combinations of the AI Core kernel on `soc`, preferred ones first.

        They are those published for its family, else `columns` as far as it has their resources.
        An operator that launches no kernel has its columns everywhere.
        """
        published = self.published_on(soc)
        if published is None:
            return tuple(column for column in self.columns if soc.has(column.needs))
        return _as_columns(published)

    def takes_on(self, soc: Soc, dtype: DType) -> bool:
        """True if its AI Core kernel on `soc` has a column whose first input is `dtype`."""
        return any(dtype in column.inputs[:1] for column in self.columns_on(soc))

    def published_on(self, soc: Soc) -> tuple[Pair, ...] | None:
        """The published facts of its AI Core kernel on `soc`; none where it has no kernel.

        None stands for what is not published: a family without operator information, an operator
        that has no entry of this name, or dtypes that are decided when the kernel is compiled.
        """
        if self.kernels is None or not self.launches_kernel:
            return None
        return self.kernels.published(soc.family)

    def is_undescribed_on(self, soc: Soc) -> bool:
        """True if it launches a kernel that no source describes of a SoC that has definitions.

        Elsewhere what is not described is known to be decided when a kernel is compiled.
        """
        return (
            soc.family is SocFamily.ASCEND950
            and self.launches_kernel
            and self.kernels is not None
            and not self.kernels.describes(soc.family)
        )

    def attribute(self, name: str) -> Attribute | None:
        return next((row for row in self.attributes if row.name == name), None)

    @property
    def reads_numbers(self) -> bool:
        return any(operand.value_depend for operand in self.inputs)

    def numbers_at(self, count: int) -> tuple[int, ...]:
        """Positions of those of `count` inputs that the operator reads as numbers."""
        operands = enumerate(map(self.input_at, range(count)))
        return tuple(position for position, row in operands if row and row.value_depend)

    def input_at(self, position: int) -> Operand | None:
        return _operand_at(self.inputs, position)

    def output_at(self, position: int) -> Operand | None:
        return _operand_at(self.outputs, position)


@lru_cache(maxsize=1024)
def _as_columns(pairs: tuple[Pair, ...]) -> tuple[Column, ...]:
    return tuple(Column(inputs, outputs) for inputs, outputs in pairs)


_ELEMENT_BY_ELEMENT = frozenset({"accumulate", "binary", "cast", "unary"})
"""Families whose kernels read a tile of each operand and write the tile of the same place."""


def _operand_at(operands: tuple[Operand, ...], position: int) -> Operand | None:
    """The operand at `position`; a variadic last one takes all further positions."""
    if position < len(operands):
        return operands[position]
    return operands[-1] if operands and operands[-1].variadic else None


FLOAT32_PRODUCTS, HF32_PRODUCTS = "enable_float_32_execution", "enable_hi_float_32_execution"
"""CANN's names of the two implementations."""

PRODUCTS = Attribute("impl_mode", "string", FLOAT32_PRODUCTS, unsaid=True)
"""Of operators of the cube: with HF32_PRODUCTS the cube rounds float32 operands to HF32."""


def rounds_to_hf32(attributes: Mapping[str, object]) -> bool:
    """True if a node with these attributes rounds float32 operands to HF32."""
    return attributes.get(PRODUCTS.name) == HF32_PRODUCTS
