"""Rule conv-wide-kernel: a filter of more than 255 taps along an axis is the sum of filters over its pieces.

Taps that are more than 255 elements apart are pieces of their own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.windows import LONGEST_STRIDE, MOST_TAPS, H, ImageAxis, W, images_of
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_MOST_PIECES = 255
"""Convolutions that are written at most."""


@fix_rule(
    "conv-wide-kernel",
    ("Conv",),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "a convolution whose filter has more than 255 taps along an axis, or dilations above 255",
            "卷积核某轴超过 255 个抽头或膨胀超过 255 的卷积",
        ),
        after=Words(
            "Slice of X and W, a Conv for each piece of at most 255 taps (one, if they are far apart), Add",
            "裁切 X 与 W，每段不超过 255 个抽头（相距过远时为一个）做卷积，再 Add",
        ),
        condition=Words(
            "dims are known; the stride along the axis is at most 63; at most 255 pieces",
            "形状已知；该轴步长不超过 63；不超过 255 段",
        ),
        float16=Words("each piece rounds its sums once more", "每段的和多舍入一次"),
    ),
    example=RuleCase(
        "Conv", (Fed((1, 2, 1, 400)), data(3, 2, 1, 300), data(3)), {"pads": [0, 3, 0, 4]}
    ),
    near_miss=RuleCase(
        "Conv",
        (Fed((1, 2, 400, 20)), data(3, 2, 300, 3)),
        {"strides": [64, 1], "dilations": [1, 2]},
    ),
)
def conv_wide_kernel(site: Site) -> Sequence[str]:
    """Write the sum of the pieces along one axis; the other one follows."""
    images = images_of(site)
    wide = [each.taps > MOST_TAPS or _is_far(each) for each in images.axes]
    require(any(wide), "an axis has too many taps, or taps too far apart", "某轴抽头过多或相距过远")
    at = W if wide[W] else H
    axis = images.axes[at]
    require(axis.stride <= LONGEST_STRIDE, "the stride is at most 63", "步长不超过 63")
    most = 1 if _is_far(axis) else MOST_TAPS
    require(axis.taps <= most * _MOST_PIECES, "there are at most 255 pieces", "不超过 255 段")
    pads = [0] * 8
    pads[2 + at], pads[6 + at] = axis.begin, axis.end
    x = site.pad(site.name(0), pads)
    total = ""
    for first in range(0, axis.taps, most):
        taps = min(most, axis.taps - first)
        start = first * axis.dilation
        step = axis.dilation if taps > 1 else 1
        size = (axis.count - 1) * axis.stride + (taps - 1) * step + 1
        axes = list(images.axes)
        axes[at] = ImageAxis(size, taps, axis.stride, step, 0, 0)
        cut = site.slice(x, 2 + at, start, start + size)
        w = site.slice(site.name(1), 2 + at, first, first + taps)
        bias = [] if total or site.tensor(2) is None else [site.name(2)]
        piece = replace(images, axes=(axes[H], axes[W]))
        (y,) = site.again([cut, w, *bias], **piece.attributes)
        total = y if not total else site.op("Add", [total, y])
    return [total]


def _is_far(axis: ImageAxis) -> bool:
    """Return True if the taps are farther apart than the list has it."""
    return axis.dilation > MOST_TAPS and axis.taps > 1
