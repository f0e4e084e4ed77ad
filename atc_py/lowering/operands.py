"""Operands that say how to compute: axes and lists of numbers, checked by what they are for."""

from atc_py.lowering.builder import Builder
from atc_py.tensor.shapes import normalize_axis
from atc_py.text import Text


def axis_of(b: Builder, axis: int, rank: int, field: str = "attribute axis") -> int:
    """`axis` from the front.

    Raises:
        AtcError: BAD_NODE at `field` when it is outside the rank.
    """
    try:
        return normalize_axis(axis, rank)
    except ValueError as error:
        raise b.bad(Text("{error}", error=error), field) from None


def numbers_of(b: Builder, position: int, name: str) -> tuple[int, ...] | None:
    """A constant input as integers, or None when it is absent.

    Raises:
        AtcError: UNSUPPORTED_FORM when it is computed at run time.
    """
    array = b.constant_input(position, name)
    return None if array is None else tuple(int(number) for number in array.reshape(-1))
