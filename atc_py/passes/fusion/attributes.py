"""Facts that several fusion rules read: attributes that are lists of integers, and views."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atc_py.ir import AttrValue

__all__ = ["VIEWS", "ints"]

VIEWS = frozenset({"Flatten", "Reshape", "Squeeze", "Unsqueeze"})
"""Operators that hand on their elements in order under other dims."""


def ints(value: AttrValue) -> tuple[int, ...]:
    """Return an attribute of type ints."""
    return tuple(int(item) for item in value) if isinstance(value, tuple) else ()
