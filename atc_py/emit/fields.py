"""Fields of tilings: the C++ type of each, and what its comment in the kernel says."""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any, TypeVar

__all__ = ["by_operand", "extended", "narrow", "numbers", "wide"]

_T = TypeVar("_T")


def wide(doc: str) -> Any:
    """Declare a field bounded by a tensor's size: 64 bits in the kernel."""
    return field(metadata={"doc": doc, "ctype": "uint64_t"})


def narrow(doc: str) -> Any:
    """Declare a field bounded by a buffer or a core count: 32 bits in the kernel."""
    return field(metadata={"doc": doc, "ctype": "uint32_t"})


def numbers(doc: str, pad: int, *, signed: bool = False) -> Any:
    """Declare a field that is an array of 64 bits: `name[kArray]`, or `name[N][kArray]`.

    Rows of one kernel may have arrays of several lengths: they are filled up with `pad` on the
    left of the last axis, and the kernel's `kArray` is the common length of all its arrays.
    """
    return field(metadata={"doc": doc, "ctype": _ctype(signed=signed), "pad": pad})


def by_operand(doc: str, *, signed: bool = False) -> Any:
    """Declare a field that is an array of 64 bits with one element for each operand."""
    return field(metadata={"doc": doc, "ctype": _ctype(signed=signed), "by_operand": True})


def _ctype(*, signed: bool) -> str:
    """Return the C++ type of the elements of an array."""
    return "int64_t" if signed else "uint64_t"


def extended(kind: type[_T], *bases: object, **more: Any) -> _T:
    """Return a tiling of class `kind` with the numbers of `bases`, whose classes it extends.

    Args:
        kind: a dataclass whose fields are made by the functions above.
        *bases: tilings of classes that `kind` has the fields of.
        **more: the other fields of `kind`, and those of `bases` that are to change.
    """
    numbers_of_bases = {
        each.name: getattr(base, each.name)
        for base in bases
        for each in fields(base)  # type: ignore[arg-type]
    }
    return kind(**numbers_of_bases | more)
