"""Arithmetic on shapes: element counts, broadcasting, and the text form of `--input-shape`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "MAX_RANK",
    "Shape",
    "broadcast_shapes",
    "element_count",
    "format_shape",
    "is_addressable",
    "normalise_axis",
]

MAX_RANK = 32
"""Axes that an array of any numpy can have; no network comes near it."""

_MAX_ELEMENTS = 2**59
"""numpy counts bytes in 63 bits, and elements have up to 8 of them."""

Shape = tuple[int, ...]
"""Extents of the axes, outermost first; () is a scalar."""


def element_count(shape: Iterable[int]) -> int:
    """Number of elements of a tensor of `shape`; 1 for a scalar, exact whatever the size."""
    return math.prod(shape)


def is_addressable(shape: Iterable[int]) -> bool:
    """Whether numpy can have an array of `shape`: it sizes an empty one without its zeros."""
    return element_count(extent for extent in shape if extent) <= _MAX_ELEMENTS


def format_shape(shape: Iterable[int]) -> str:
    """`shape` as people write it: `1x3x224x224`, or `scalar`."""
    return "x".join(str(extent) for extent in shape) or "scalar"


def normalise_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front.

    Raises:
        ValueError: `axis` is outside [-rank, rank - 1].
    """
    if not -rank <= axis < rank:
        raise ValueError(f"axis must be in [{-rank}, {rank - 1}], found {axis}")
    return axis % rank


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The common shape of `shapes` by ONNX's multidirectional (numpy's) rule.

    Raises:
        ValueError: two extents differ and neither is 1.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(_broadcast_extent(extents, shapes) for extents in zip(*padded, strict=True))


def _broadcast_extent(extents: tuple[int, ...], shapes: tuple[Shape, ...]) -> int:
    """The one extent other than 1 among `extents`, or 1."""
    wide = {extent for extent in extents if extent != 1}
    if len(wide) > 1:
        listed = " and ".join(format_shape(shape) for shape in shapes)
        raise ValueError(f"shapes {listed} do not broadcast")
    return wide.pop() if wide else 1
