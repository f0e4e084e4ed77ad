"""Values of images between their pixels: positions in int32, weights, and Gather of whole rows of channels.

Positions never pass through a float of fewer than 11 bits: each axis is rounded by itself, and places in the
whole image are sums of int32.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from atc_py.fix import tables
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__ = [
    "PixelTap",
    "image_numbers",
    "linear_taps",
    "pixel_rows",
    "sampled",
    "shifted",
    "zero_frame",
]


@dataclass(frozen=True, slots=True)
class PixelTap:
    """One of the pixels along an axis that a value is made of.

    Attributes:
        position: name of its int32 position along the axis, one for each value.
        weight: name of its share in the value; "" for a whole.
    """

    position: str
    weight: str = ""


def zero_frame(site: Site, x: str, axes: int) -> str:
    """Write zeros around images with `axes` axes: one before and one after."""
    ones = [0, 0, *([1] * axes)]
    return site.pad(x, [*ones, *ones])


def pixel_rows(site: Site, x: str, dims: Sequence[int]) -> str:
    """Write images of `dims` (batch, channels, axes) as a matrix of pixels with their channels."""
    pixels = prod(dims[2:])
    x = site.reshape(x, [dims[0], dims[1], pixels])
    return site.reshape(site.transpose(x, [0, 2, 1]), [dims[0] * pixels, dims[1]])


def linear_taps(site: Site, place: str, size: int, dtype: DType) -> tuple[PixelTap, PixelTap]:
    """Write the two pixels around each place along an axis of `size` pixels in a frame of zeros.

    Places are float, counted from the first pixel within the frame; beyond it all is 0.
    """
    low, high, one = (site.const(each, dtype, "bound") for each in (-1, size, 1))
    held = site.op("Clip", [place, low, high])
    last = site.const(size - 1, dtype, "bound")
    first = site.op("Clip", [site.op("Floor", [held]), low, last])
    share = site.op("Sub", [held, first])
    position = shifted(site, site.cast(first, DType.INT32), 1)
    return (
        PixelTap(position, site.op("Sub", [one, share])),
        PixelTap(shifted(site, position, 1), share),
    )


def shifted(site: Site, positions: str, by: int) -> str:
    """Write int32 positions plus a constant."""
    return site.op("Add", [positions, site.const(by, DType.INT32, "by")]) if by else positions


def image_numbers(site: Site, count: int) -> str:
    """Write the numbers of `count` images; "" for a single one."""
    numbers = tables.arange(count).reshape(count, 1, 1)
    return site.const(numbers, DType.INT32, "image") if count > 1 else ""


def sampled(
    site: Site,
    rows: str,
    sizes: Sequence[int],
    taps: Sequence[Sequence[PixelTap]],
    image: str,
    join: str = "Add",
) -> str:
    """Write the values at places given by the taps of each axis: groups x places x channels.

    Args:
        site: the node.
        rows: pixels with their channels; see `pixel_rows`.
        sizes: of the axes of the images.
        taps: for each axis; positions and weights are groups x places x 1.
        image: name of the image of each group, groups x 1 x 1; "" where there is one.
        join: operator of two values that makes one of those of the taps; Max for weights of 0 or more.
    """
    return _along(site, rows, list(zip(sizes, taps, strict=True)), image, join)


def _along(
    site: Site, rows: str, axes: Sequence[tuple[int, Sequence[PixelTap]]], start: str, join: str
) -> str:
    """Write what `join` makes of the taps of the first axis, and of the others for each."""
    if not axes:
        return site.op("Gather", [rows, site.squeeze(start, [2])], axis=0)
    size, taps = axes[0]
    if start:
        start = site.op("Mul", [start, site.const(size, DType.INT32, "size")])
    total = ""
    for tap in taps:
        index = site.op("Add", [start, tap.position]) if start else tap.position
        part = _along(site, rows, axes[1:], index, join)
        if tap.weight:
            part = site.op("Mul", [part, tap.weight])
        total = part if not total else site.op(join, [total, part])
    return total
