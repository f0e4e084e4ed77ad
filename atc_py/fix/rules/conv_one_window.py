"""Rule conv-one-window: a single window, cut to the taps that meet the image.

The list `base` takes results of one pixel only where X and W have the same height and width.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.windows import H, ImageAxis, W, images_of
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "conv-one-window",
    ("Conv",),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "a convolution with one pixel as its result, whose X and W differ in height or width",
            "结果仅一个像素且 X、W 高宽不同的卷积",
        ),
        after=Words(
            "Slice of X to the elements under the window, Slice of W to the taps over the image, "
            "the convolution without pads",
            "将 X 裁到窗口之下、W 裁到图像之上，再做无填充卷积",
        ),
        condition=Words("dims are known; a tap meets the image", "形状已知；窗口与图像有重叠"),
    ),
    example=RuleCase(
        "Conv",
        (Fed((1, 3, 6, 5)), data(4, 3, 3, 3), data(4)),
        {"strides": [5, 7], "pads": [1, 0, 0, 1], "dilations": [2, 1]},
    ),
    near_miss=RuleCase("Conv", (Fed((1, 3, 6, 5000)), data(4, 3, 3, 3)), {"strides": [2, 2]}),
)
def conv_one_window(site: Site) -> Sequence[str]:
    """Write the convolution of the window alone."""
    images = images_of(site)
    require(all(each.count == 1 for each in images.axes), "Y is one pixel", "Y 为一个像素")
    alike = all(
        each.size == each.taps and each.dilation == 1 and not each.begin for each in images.axes
    )
    require(not alike, "X and W differ in height or width", "X 与 W 高宽不同")
    x, w = site.name(0), site.name(1)
    axes = []
    for at, axis in enumerate(images.axes, 2):
        first, taps = _taps_inside(axis)
        require(taps > 0, "a tap meets the image", "窗口与图像有重叠")
        start = first * axis.dilation - axis.begin
        end = start + (taps - 1) * axis.dilation + 1
        if (start, end, axis.dilation) != (0, axis.size, 1):
            x = site.slice(x, at, start, end, axis.dilation)
        if taps < axis.taps:
            w = site.slice(w, at, first, first + taps)
        axes.append(ImageAxis(taps, taps, 1, 1, 0, 0))
    cut = replace(images, axes=(axes[H], axes[W]))
    rest = [site.name(position) for position in range(2, len(site.node.inputs))]
    return site.again([x, w, *rest], **cut.attributes)


def _taps_inside(axis: ImageAxis) -> tuple[int, int]:
    """Return the first tap that meets the image, and how many do."""
    first = max(-(-axis.begin // axis.dilation), 0)
    last = min((axis.begin + axis.size - 1) // axis.dilation, axis.taps - 1)
    return first, max(last - first + 1, 0)
