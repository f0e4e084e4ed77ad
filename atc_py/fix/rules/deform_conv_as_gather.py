"""Rule deform-conv-as-gather: samples of each tap of each window as channels of a convolution of one pixel."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.sampling import image_numbers, linear_taps, pixel_rows, sampled, zero_frame
from atc_py.fix.parts.windows import H, ImageAxis, W
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.parts.sampling import PixelTap
    from atc_py.fix.site import Site

__all__: list[str] = []

_IMAGES = 4
_OFFSET, _BIAS, _MASK = 2, 3, 4
"""Positions of inputs."""


@fix_rule(
    "deform-conv-as-gather",
    ("DeformConv",),
    Exactness.BOUNDED,
    RuleText(
        before=Words("DeformConv of images", "图像的 DeformConv"),
        after=Words(
            "places by Add with constants; pixels by Gather with int32 positions; Mul, Add; Conv of one "
            "pixel",
            "与常量相加得到坐标，以 int32 位置 Gather 像素，Mul、Add，再做 1x1 卷积",
        ),
        condition=Words("X is images; dims are known", "X 为图像；形状已知"),
        float16=Words(
            "places have 11 bits: an eighth of a pixel at 128, a whole one above 1024",
            "坐标只有 11 位：128 处为 1/8 像素，1024 以上为整像素",
        ),
    ),
    example=RuleCase(
        "DeformConv",
        (Fed((1, 2, 5, 6)), data(3, 2, 2, 2), Fed((1, 8, 4, 5)), data(3), Fed((1, 4, 4, 5))),
        opset=19,
    ),
    near_miss=RuleCase(
        "DeformConv", (Fed((1, 2, 5, 6, 7)), data(3, 2, 2, 2, 2), Fed((1, 24, 4, 5, 6))), opset=19
    ),
    bound=1e-4,
)
def deform_conv_as_gather(site: Site) -> Sequence[str]:
    """Write the convolution of the samples."""
    x, w = site.shape(0), site.shape(1)
    require(len(x) == _IMAGES, "X is images", "X 为图像")
    require(site.element in FLOATS, "X is float16 or float32", "X 为 float16 或 float32")
    axes = _axes(site, x, w)
    groups, taps = site.integer("offset_group", 1), prod(w[2:])
    counts = [each.count for each in axes]
    lead, places = x[0] * groups, taps * prod(counts)
    offsets = site.reshape(site.name(_OFFSET), [lead, taps, 2, prod(counts)])
    along: list[Sequence[PixelTap]] = []
    for at, axis in enumerate(axes):
        part = site.reshape(site.slice(offsets, 2, at, at + 1), [lead, places, 1])
        starts = tables.arange(axis.count) * axis.stride - axis.begin
        there = tables.arange(axis.taps) * axis.dilation
        dims = [(1, 1), (1, 1)]
        dims[at] = (axis.taps, axis.count)
        (kh, oh), (kw, ow) = dims
        base = there.reshape(kh, kw, 1, 1) if at == H else there.reshape(1, -1, 1, 1)
        base = base + starts.reshape(1, 1, oh, ow)
        whole = np.broadcast_to(base, (*w[2:], *counts)).reshape(1, places, 1)
        place = site.op("Add", [part, site.const(whole, site.element, "base")])
        along.append(linear_taps(site, place, axis.size, site.element))
    sizes = [axis.size + 2 for axis in axes]
    each = x[1] // groups
    rows = pixel_rows(site, zero_frame(site, site.name(0), 2), [x[0] * groups, each, *sizes])
    values = sampled(site, rows, sizes, along, image_numbers(site, lead))
    if site.tensor(_MASK) is not None:
        mask = site.reshape(site.name(_MASK), [lead, places, 1])
        values = site.op("Mul", [values, mask])
    values = site.reshape(site.transpose(values, [0, 2, 1]), [x[0], x[1] * taps, *counts])
    weight = site.reshape(site.name(1), [w[0], w[1] * taps, 1, 1])
    bias = [] if site.tensor(_BIAS) is None else [site.name(_BIAS)]
    attributes: dict[str, Any] = {"kernel_shape": [1, 1], "group": site.integer("group", 1)}
    return [site.op("Conv", [values, weight, *bias], **attributes)]


def _axes(site: Site, x: Sequence[int], w: Sequence[int]) -> tuple[ImageAxis, ImageAxis]:
    """Return the geometry of the convolution."""
    strides, dilations = (site.integers(each) or (1, 1) for each in ("strides", "dilations"))
    pads = site.integers("pads") or (0, 0, 0, 0)
    height, width = (
        ImageAxis(x[2 + at], w[2 + at], strides[at], dilations[at], pads[at], pads[2 + at])
        for at in (H, W)
    )
    require(min(height.count, width.count) > 0, "Y has elements", "Y 非空")
    return height, width
