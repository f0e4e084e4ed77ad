"""Arithmetic on shapes: element counts, broadcasting, and the text form of `--input-shape`."""

import math
from collections.abc import Iterable

from atc_py.text import Text

MAX_RANK = 32
"""Axes that an array of any numpy can have; no network comes near it."""

_MAX_ELEMENTS = 2**59
"""numpy counts bytes in 63 bits, and elements have up to 8 of them."""

Shape = tuple[int, ...]
"""Lengths of the axes, outermost first; () is a scalar."""

Dims = tuple[int | None, ...]
"""Lengths of the axes, outermost first; None for an open one, which only a run knows."""


class OpenShapeError(ValueError):
    """Dims were asked for that only a run knows."""

    def __init__(self, reason: Text) -> None:
        super().__init__(reason)


def element_count(shape: Iterable[int]) -> int:
    return math.prod(shape)


def is_addressable(shape: Iterable[int]) -> bool:
    """True if numpy can hold `shape`; it sizes an empty array without its zeros."""
    return element_count(dim for dim in shape if dim) <= _MAX_ELEMENTS


def format_shape(shape: Iterable[int | None]) -> str:
    """`shape` as people write it: `1x3x224x224`, `?x3` with an open dim, or `scalar`."""
    return "x".join("?" if dim is None else str(dim) for dim in shape) or "scalar"


def closed_shape(dims: Dims) -> Shape:
    """`dims` as a shape, all of whose dims are known; OpenShapeError where one is open."""
    if None in dims:
        raise OpenShapeError(Text("the shape {dims} has open dims", dims=format_shape(dims)))
    return tuple(dims)  # type: ignore[arg-type]  # no None among them


def normalize_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front; ValueError where it is outside [-rank, rank - 1]."""
    if not -rank <= axis < rank:
        text = Text("axis must be in [{low}, {high}], found {found}")
        raise ValueError(text.with_values(low=-rank, high=rank - 1, found=axis))
    return axis % rank


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The common shape of `shapes` by ONNX's multidirectional (numpy's) rule, or ValueError."""
    return closed_shape(broadcast_dims(*shapes))


def broadcast_dims(*shapes: Dims) -> Dims:
    """The common shape of `shapes` with open dims as far as it is known, or ValueError.

    Beside a known dim other than 1 an open one can only be 1 or the same.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    return tuple(_broadcast_dim(dims, shapes) for dims in zip(*padded, strict=True))


def _broadcast_dim(dims: Dims, shapes: tuple[Dims, ...]) -> int | None:
    """The one known dim other than 1; else None if one is open, or 1."""
    wide = {dim for dim in dims if dim is not None and dim != 1}
    if len(wide) > 1:
        listed = " and ".join(format_shape(shape) for shape in shapes)
        raise ValueError(Text("shapes {listed} do not broadcast", listed=listed))
    if wide:
        return wide.pop()
    return None if None in dims else 1


def window_count(
    length: int, pads: tuple[int, int], reach: int, stride: int, *, ceil: bool = False
) -> int:
    """Count windows along an axis of `length` elements; less than 1 where none fits.

    `reach` counts elements from the first of a window to the last. With `ceil`, ONNX's ceil_mode, a
    last window may overhang the padding after the axis, unless it starts there; one that is larger
    than the axis may be that one.
    """
    room = length + sum(pads) - reach
    count = (-(-room // stride) if ceil else room // stride) + 1
    overhangs_all = ceil and (count - 1) * stride >= length + pads[0]
    return count - 1 if overhangs_all else count
