"""Rule conv-stride-fold: long strides become channels.

Elements that are a stride apart are channels of one pixel: X of L elements becomes s * C channels of
L / s elements, W likewise, and the stride is 1. Filters gain zero taps up to a multiple of s.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.windows import LONGEST_STRIDE, H, ImageAxis, W, images_of
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "conv-stride-fold",
    ("Conv",),
    Exactness.REORDERED,
    RuleText(
        before=Words("a convolution with a stride above 63", "步长超过 63 的卷积"),
        after=Words(
            "Pad or Slice, Reshape, Transpose and Reshape of X and W, a convolution of stride 1",
            "对 X 与 W 做 Pad 或 Slice、Reshape、Transpose、Reshape，再做步长为 1 的卷积",
        ),
        condition=Words(
            "dims are known; no dilation along an axis with such a stride and several windows",
            "形状已知；此类步长且窗口多于一个的轴无膨胀",
        ),
    ),
    example=RuleCase(
        "Conv", (Fed((1, 2, 1, 400)), data(3, 2, 1, 100), data(3)),
        {"strides": [1, 80], "pads": [0, 10, 0, 30]},
    ),
    near_miss=RuleCase(
        "Conv", (Fed((1, 2, 200, 200)), data(3, 2, 5, 5)), {"strides": [70, 70], "dilations": [1, 2]}
    ),
)  # fmt: skip
def conv_stride_fold(site: Site) -> Sequence[str]:
    """Write the convolution of folded images."""
    images = images_of(site)
    far = [each.stride > LONGEST_STRIDE for each in images.axes]
    require(any(far), "a stride is above 63", "步长超过 63")
    require(
        max(each.count for each in images.axes) > 1, "there are several windows", "窗口多于一个"
    )
    x, w = site.name(0), site.name(1)
    axes, steps = list(images.axes), [1, 1]
    for at, axis in enumerate(images.axes):
        if not far[at]:
            continue
        if axis.count == 1:
            x = _fitted(site, x, at, axis, axis.span)
            axes[at] = ImageAxis(axis.span, axis.taps, 1, axis.dilation, 0, 0)
            continue
        require(axis.dilation == 1 or axis.taps == 1, "no dilation", "无膨胀")
        steps[at] = axis.stride
        taps = -(-axis.taps // axis.stride)
        length = axis.count - 1 + taps
        x = _fitted(site, x, at, axis, length * axis.stride)
        w = site.pad(w, [0] * (6 + at) + [taps * axis.stride - axis.taps] + [0] * (1 - at))
        axes[at] = ImageAxis(length, taps, 1, 1, 0, 0)
    height, width = axes
    x = _folded(site, x, [images.batch, images.channels], [height.size, width.size], steps)
    each = images.channels // images.group
    w = _folded(site, w, [images.filters, each], [height.taps, width.taps], steps)
    folded = replace(images, axes=(height, width))
    rest = [site.name(position) for position in range(2, len(site.node.inputs))]
    return site.again([x, w, *rest], **folded.attributes)


def _fitted(site: Site, x: str, at: int, axis: ImageAxis, length: int) -> str:
    """Return images with their zeros before an axis, of exactly `length` elements along it."""
    there = axis.begin + axis.size
    if there > length:
        x = site.slice(x, 2 + at, 0, length - axis.begin)
    pads = [0] * 8
    pads[2 + at], pads[6 + at] = axis.begin, max(length - there, 0)
    return site.pad(x, pads)


def _folded(
    site: Site, x: str, lead: Sequence[int], sizes: Sequence[int], steps: Sequence[int]
) -> str:
    """Return images whose pixels have the channels of `steps` rows and columns."""
    if max(steps) == 1:
        return x
    x = site.reshape(x, [*lead, sizes[H], steps[H], sizes[W], steps[W]])
    x = site.transpose(x, [0, 1, 3, 5, 2, 4])
    return site.reshape(x, [lead[0], lead[1] * steps[H] * steps[W], *sizes])
