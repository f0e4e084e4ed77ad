"""Rule conv-wide-kernel: a filter of more than 255 taps is the sum of filters over its pieces."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.windows import LONGEST_STRIDE, MOST_TAPS, ImageAxis, images_of
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "conv-wide-kernel",
    ("Conv",),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "a convolution whose filter has more than 255 taps in a row",
            "卷积核一行超过 255 个抽头的卷积",
        ),
        after=Words(
            "Slice of X and W, a Conv for each piece of at most 255 taps, Add",
            "裁切 X 与 W，每段不超过 255 个抽头做卷积，再 Add",
        ),
        condition=Words(
            "dims are known; the stride along W is at most 63", "形状已知；W 方向步长不超过 63"
        ),
        float16=Words("each piece rounds its sums once more", "每段的和多舍入一次"),
    ),
    example=RuleCase(
        "Conv", (Fed((1, 2, 1, 400)), data(3, 2, 1, 300), data(3)), {"pads": [0, 3, 0, 4]}
    ),
    near_miss=RuleCase("Conv", (Fed((1, 2, 400, 20)), data(3, 2, 300, 3))),
)
def conv_wide_kernel(site: Site) -> Sequence[str]:
    """Write the sum of the pieces."""
    images = images_of(site)
    height, axis = images.axes
    require(
        axis.taps > MOST_TAPS,
        "the filter has more than 255 taps in a row",
        "卷积核一行超过 255 个抽头",
    )
    require(
        axis.stride <= LONGEST_STRIDE and height.taps <= MOST_TAPS,
        "strides are below 64, columns listed",
        "步长小于 64",
    )
    x = site.pad(site.name(0), [0, 0, 0, axis.begin, 0, 0, 0, axis.end])
    total = ""
    for first in range(0, axis.taps, MOST_TAPS):
        taps = min(MOST_TAPS, axis.taps - first)
        start = first * axis.dilation
        size = (axis.count - 1) * axis.stride + (taps - 1) * axis.dilation + 1
        part = ImageAxis(size, taps, axis.stride, axis.dilation, 0, 0)
        cut = site.slice(x, 3, start, start + size)
        w = site.slice(site.name(1), 3, first, first + taps)
        bias = [] if total or site.tensor(2) is None else [site.name(2)]
        (y,) = site.again([cut, w, *bias], **replace(images, axes=(height, part)).attributes)
        total = y if not total else site.op("Add", [total, y])
    return [total]
