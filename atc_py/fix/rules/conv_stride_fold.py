"""Rule conv-stride-fold: long strides become channels.

Elements that are a stride apart are channels of one pixel: X of L elements becomes s * C channels of
L / s elements, W likewise, and the stride is 1. Filters gain zero taps up to a multiple of s.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.windows import LONGEST_STRIDE, ImageAxis, images_of
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
        before=Words("a convolution of one row with a stride above 63", "步长超过 63 的单行卷积"),
        after=Words(
            "Pad or Slice, Reshape, Transpose and Reshape of X and W, a convolution of stride 1",
            "对 X 与 W 做 Pad 或 Slice、Reshape、Transpose、Reshape，再做步长为 1 的卷积",
        ),
        condition=Words(
            "dims are known; H of X and W is 1 without pads; no dilation",
            "形状已知；X、W 的 H 为 1 且无填充；无膨胀",
        ),
    ),
    example=RuleCase(
        "Conv", (Fed((1, 2, 1, 400)), data(3, 2, 1, 100), data(3)),
        {"strides": [1, 80], "pads": [0, 10, 0, 30]},
    ),
    near_miss=RuleCase("Conv", (Fed((1, 2, 200, 200)), data(3, 2, 5, 5)), {"strides": [70, 70]}),
)  # fmt: skip
def conv_stride_fold(site: Site) -> Sequence[str]:
    """Write the convolution of folded rows."""
    images = images_of(site)
    height, axis = images.axes
    step = axis.stride
    require(step > LONGEST_STRIDE, "the stride along W is above 63", "W 方向步长超过 63")
    require(height == ImageAxis(1, 1, height.stride, height.dilation, 0, 0), "H is 1", "H 为 1")
    require(axis.dilation == 1 or axis.taps == 1, "no dilation", "无膨胀")
    require(axis.count > 1, "there are several windows", "窗口多于一个")
    taps = -(-axis.taps // step)
    length = axis.count - 1 + taps
    x = _fitted(site, site.name(0), axis, length * step)
    w = site.pad(site.name(1), [0, 0, 0, 0, 0, 0, 0, taps * step - axis.taps])
    x = _folded(site, x, images.batch, images.channels, length, step)
    w = _folded(site, w, images.filters, images.channels // images.group, taps, step)
    folded = replace(
        images, axes=(ImageAxis(1, 1, 1, 1, 0, 0), ImageAxis(length, taps, 1, 1, 0, 0))
    )
    rest = [site.name(position) for position in range(2, len(site.node.inputs))]
    return site.again([x, w, *rest], **folded.attributes)


def _fitted(site: Site, x: str, axis: ImageAxis, length: int) -> str:
    """Return rows with their zeros before them, of exactly `length` elements."""
    there = axis.begin + axis.size
    if there > length:
        x = site.slice(x, 3, 0, length - axis.begin)
    return site.pad(x, [0, 0, 0, axis.begin, 0, 0, 0, max(length - there, 0)])


def _folded(site: Site, x: str, first: int, channels: int, length: int, step: int) -> str:
    """Return rows of `length` times `step` elements as `step` times as many channels."""
    x = site.reshape(x, [first, channels, length, step])
    x = site.transpose(x, [0, 1, 3, 2])
    return site.reshape(x, [first, channels * step, 1, length])
