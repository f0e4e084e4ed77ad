"""Facts that several fusion rules read: attributes that are lists of integers, and views."""

from atc_py.ir import AttrValue

VIEWS = frozenset({"Flatten", "Reshape", "Squeeze", "Unsqueeze"})
"""Operators that hand on their elements in order under other dims."""


def ints(value: AttrValue) -> tuple[int, ...]:
    """An attribute of type ints."""
    return tuple(int(item) for item in value) if isinstance(value, tuple) else ()
