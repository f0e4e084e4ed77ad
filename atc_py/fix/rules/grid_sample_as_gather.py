"""Rule grid-sample-as-gather: pixels around each place of the grid by Gather, times their weights.

Places are those of ONNX's definition, in float32 also where the grid is of float16; pads count for each
pixel by itself. Linear and nearest places beyond the border are moved to it before; cubic ones are not, as in
onnxruntime and PyTorch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.sampling import (
    PixelTap,
    image_numbers,
    linear_taps,
    pixel_rows,
    sampled,
    shifted,
    zero_frame,
)
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_RANKS = frozenset({4, 5})

_KINDS = {"bilinear": "linear", "bicubic": "cubic"}
"""Names of the modes before opset 20, and after."""

_ALPHA = -0.75
"""The parameter of cubic interpolation that ONNX fixes."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis of the images, and the places along it.

    Attributes:
        size: its pixels.
        corners: whether -1 and 1 are centers of pixels, not edges.
        dtype: of the places.
    """

    size: int
    corners: bool
    dtype: DType

    @property
    def border(self) -> tuple[float, float]:
        """First and last place of the image."""
        return (0, self.size - 1) if self.corners else (-0.5, self.size - 0.5)


@fix_rule(
    "grid-sample-as-gather",
    ("GridSample",),
    Exactness.BOUNDED,
    RuleText(
        before=Words("GridSample", "GridSample"),
        after=Words(
            "places by Mul, Add, Floor, Clip; pixels by Gather with int32 positions; Mul, Add",
            "由 Mul、Add、Floor、Clip 求坐标，以 int32 位置 Gather 像素，再 Mul、Add",
        ),
        condition=Words(
            "dims are known; X has rank 4 or 5; align_corners with reflection needs two pixels along "
            "each axis",
            "形状已知；X 的秩为 4 或 5；align_corners 且 reflection 时各轴至少两个像素",
        ),
        float16=Words(
            "places have 11 bits: an eighth of a pixel at 128, a whole one above 1024",
            "坐标只有 11 位：128 处为 1/8 像素，1024 以上为整像素",
        ),
    ),
    example=RuleCase("GridSample", (Fed((2, 3, 5, 6)), Fed((2, 4, 3, 2))), opset=16),
    near_miss=RuleCase("Upsample", (Fed((1, 2, 3, 4)),), {"scales": [1.0, 1.0, 2.0, 2.0]}, opset=7),
    bound=1e-4,
    deviations=("GridSample/ties-go-far",),
    lists=True,
)
def grid_sample_as_gather(site: Site) -> Sequence[str]:
    """Write the values at the places of the grid."""
    x, grid = site.shape(0), site.shape(1)
    require(len(x) in _RANKS and len(grid) == len(x), "X has rank 4 or 5", "X 的秩为 4 或 5")
    require(site.element in FLOATS, "X is float16 or float32", "X 为 float16 或 float32")
    given, dtype = site.input(1).dtype, DType.FLOAT32
    require(given in FLOATS, "the grid is float16 or float32", "grid 为 float16 或 float32")
    corners = site.flag("align_corners", default=False)
    axes = [_Axis(size, corners, dtype) for size in x[2:]]
    mode = site.text("mode", "linear")
    kind, padding = _KINDS.get(mode, mode), site.text("padding_mode", "zeros")
    wide = padding != "reflection" or not corners or min(x[2:]) > 1
    require(wide, "each axis has two pixels", "各轴至少两个像素")
    grids = site.name(1) if given is dtype else site.cast(site.name(1), dtype)
    flat = site.reshape(grids, [x[0], prod(grid[1:-1]), len(axes)])
    taps = []
    for at, axis in enumerate(axes):
        component = len(axes) - 1 - at
        place = _place(site, site.slice(flat, 2, component, component + 1), axis)
        taps.append(_taps(site, place, axis, kind, padding))
    if dtype is not site.element:
        taps = [[_in_dtype(site, tap) for tap in each] for each in taps]
    framed = padding == "zeros"
    images = zero_frame(site, site.name(0), len(axes)) if framed else site.name(0)
    sizes = [axis.size + 2 * framed for axis in axes]
    rows = pixel_rows(site, images, [*x[:2], *sizes])
    values = sampled(site, rows, sizes, taps, image_numbers(site, x[0]))
    values = site.transpose(values, [0, 2, 1])
    return [site.reshape(values, [x[0], x[1], *grid[1:-1]])]


def _in_dtype(site: Site, tap: PixelTap) -> PixelTap:
    """Return a tap whose weight has the dtype of X."""
    return PixelTap(tap.position, site.cast(tap.weight, site.element) if tap.weight else "")


def _place(site: Site, part: str, axis: _Axis) -> str:
    """Write places in pixels of places between -1 and 1."""
    one, half, size, last = (
        site.const(each, axis.dtype, "number") for each in (1, 0.5, axis.size, axis.size - 1)
    )
    moved = site.op("Add", [part, one])
    if axis.corners:
        return site.op("Mul", [site.op("Mul", [moved, half]), last])
    return site.op("Mul", [site.op("Sub", [site.op("Mul", [moved, size]), one]), half])


def _taps(site: Site, place: str, axis: _Axis, kind: str, padding: str) -> list[PixelTap]:
    """Write the pixels along an axis that make the value at each place, and their weights."""
    if kind == "nearest":
        place = site.op("Round", [place])
    if padding == "zeros" and kind == "linear":
        return [*linear_taps(site, place, axis.size, axis.dtype)]
    place = _within(site, place, axis, kind, padding)
    if kind == "nearest":
        return [PixelTap(_pixel(site, site.cast(place, DType.INT32), axis, padding))]
    first = site.op("Floor", [place])
    share = site.op("Sub", [place, first])
    position = site.cast(first, DType.INT32)
    one = site.const(1, axis.dtype, "one")
    if kind == "linear":
        steps, weights = [0, 1], [site.op("Sub", [one, share]), share]
    else:
        steps, weights = [-1, 0, 1, 2], _cubic(site, share, one, axis.dtype)
    pixels = [_pixel(site, shifted(site, position, step), axis, padding) for step in steps]
    return [PixelTap(pixel, weight) for pixel, weight in zip(pixels, weights, strict=True)]


def _within(site: Site, place: str, axis: _Axis, kind: str, padding: str) -> str:
    """Write places that are near the image."""
    low, high = axis.border
    if padding == "zeros" or (padding == "border" and kind == "cubic"):
        bounds = [site.const(each, axis.dtype, "bound") for each in (-3, axis.size + 2)]
        return site.op("Clip", [place, *bounds])
    if padding == "border":
        ends = [site.const(each, axis.dtype, "end") for each in (0, axis.size - 1)]
        return site.op("Clip", [place, *ends])
    least, most = (site.const(each, axis.dtype, "border") for each in (low, high))
    span = site.const(high - low, axis.dtype, "span")
    period = site.const(2 * (high - low), axis.dtype, "period")
    offset = site.op("Sub", [place, least])
    turns = site.op("Floor", [site.op("Div", [offset, period])])
    rest = site.op("Sub", [offset, site.op("Mul", [turns, period])])
    away = site.op("Abs", [site.op("Sub", [rest, span])])
    return site.op("Sub", [most, away])


def _pixel(site: Site, position: str, axis: _Axis, padding: str) -> str:
    """Write positions of pixels; those outside are in the frame of zeros, or stand for others."""
    if padding != "reflection":
        low, high = (-1, axis.size) if padding == "zeros" else (0, axis.size - 1)
        ends = [site.const(each, DType.INT32, "end") for each in (low, high)]
        return shifted(site, site.op("Clip", [position, *ends]), -low)
    period = 2 * (axis.size - axis.corners)
    steps = tables.arange(-3, axis.size + 4) % period
    mirrored = period - steps if axis.corners else period - 1 - steps
    table = np.where(steps < axis.size, steps, mirrored)
    named = site.const(table, DType.INT32, "mirrored")
    return site.op("Gather", [named, shifted(site, position, 3)], axis=0)


def _cubic(site: Site, share: str, one: str, dtype: DType) -> list[str]:
    """Write the weights of four pixels (Keys 1981), given the part of the way from the second to the third.

    They are products, so that one near 0 has all its digits: its pixel may be large.
    """
    rest = site.op("Sub", [one, share])
    inner, outer = (site.const(each, dtype, "number") for each in (_ALPHA + 2, _ALPHA))
    middle = []
    for part, other in ((share, rest), (rest, share)):
        slope = site.op("Sub", [one, site.op("Mul", [part, inner])])
        bend = site.op("Add", [site.op("Mul", [slope, part]), one])
        middle.append(site.op("Mul", [bend, other]))
    edge = site.op("Mul", [site.op("Mul", [share, rest]), outer])
    return [site.op("Mul", [edge, rest]), *middle, site.op("Mul", [edge, share])]
