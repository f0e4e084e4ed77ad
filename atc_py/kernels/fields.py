"""Fields of tilings: the C++ type of each, and what its comment in the kernel says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_facts: object) -> Any:
        """A decorator without effect: what it tells is for type checkers."""
        return lambda kind: kind


_T = TypeVar("_T", bound="Tiling")


class Declared(msgspec.Struct, frozen=True):
    """A field of a class of tilings."""

    doc: str  # its comment in the kernel
    ctype: str  # its type in C++; of an array that of the elements
    # what arrays are filled up with on the left; None where the field is not such an array
    pad: int | None = None
    by_operand: bool = False  # True for an array with an element for each operand


def wide(doc: str) -> Any:
    """Declare a field bounded by a tensor's size: 64 bits in the kernel."""
    return Declared(doc, "uint64_t")


def narrow(doc: str) -> Any:
    """Declare a field bounded by a buffer or a core count: 32 bits in the kernel."""
    return Declared(doc, "uint32_t")


def numbers(doc: str, pad: int, *, signed: bool = False) -> Any:
    """Declare a field that is an array of 64 bits: `name[kArray]`, or `name[N][kArray]`.

    Rows of one kernel may have arrays of several lengths: they are filled up with `pad` on the
    left of the last axis, and the kernel's `kArray` is the common length of all its arrays.
    """
    return Declared(doc, _ctype(signed=signed), pad=pad)


def by_operand(doc: str, *, signed: bool = False) -> Any:
    """Declare a field that is an array of 64 bits with one element for each operand."""
    return Declared(doc, _ctype(signed=signed), by_operand=True)


def _ctype(*, signed: bool) -> str:
    return "int64_t" if signed else "uint64_t"


@dataclass_transform(
    kw_only_default=True,
    frozen_default=True,
    field_specifiers=(wide, narrow, numbers, by_operand),
)
class Tiling:
    """Numbers of a kernel for one set of shapes, given by keyword.

    Type checkers take its classes for frozen dataclasses. They are not, since making a dataclass
    takes longer than computing all tilings of a small model.
    """

    # the fields by name, those of the last base first, as dataclasses have them
    declared: ClassVar[Mapping[str, Declared]] = {}

    def __init_subclass__(cls) -> None:
        own = {
            name: each
            for kind in reversed(cls.__mro__)
            for name, each in vars(kind).items()
            if isinstance(each, Declared)
        }
        cls.declared = own

    def __init__(self, **given: Any) -> None:
        if given.keys() != self.declared.keys():
            wrong = ", ".join(sorted(given.keys() ^ self.declared.keys()))
            raise TypeError(f"{type(self).__name__} takes its fields and no others: {wrong}")
        # In the order of the fields, which is that of the kernel's list.
        self.__dict__.update({name: given[name] for name in self.declared})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).items()))

    def __repr__(self) -> str:
        listed = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({listed})"


def extended(kind: type[_T], *bases: Tiling, **more: Any) -> _T:
    """A tiling of class `kind` with the numbers of `bases`, whose classes it extends.

    Args:
        kind: a class of tilings.
        *bases: tilings of classes that `kind` has the fields of.
        **more: the other fields of `kind`, and those of `bases` that are to change.
    """
    numbers_of_bases = {name: each for base in bases for name, each in vars(base).items()}
    return kind(**numbers_of_bases | more)
