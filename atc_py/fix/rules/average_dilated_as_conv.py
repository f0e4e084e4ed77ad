"""Rule average-dilated-as-conv: the mean over a dilated window is a convolution with one number as its filter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.pools import mean_of_windows, pool_axes
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_IMAGES = 4


@fix_rule(
    "average-dilated-as-conv",
    ("AveragePool",),
    Exactness.REORDERED,
    RuleText(
        before=Words("AveragePool with dilations", "带膨胀的 AveragePool"),
        after=Words(
            "Conv of each channel by itself, Mul where windows count fewer elements",
            "逐通道 Conv；窗口计入的元素较少处再 Mul",
        ),
        condition=Words("X is images of known dims", "X 为形状已知的图像"),
    ),
    example=RuleCase(
        "AveragePool",
        (Fed((1, 2, 9, 8)),),
        {"kernel_shape": [3, 2], "dilations": [2, 3], "pads": [1, 0, 2, 1], "strides": [1, 2]},
        opset=19,
    ),
    near_miss=RuleCase("AveragePool", (Fed((1, 2, 3, 5000)),), {"kernel_shape": [2, 3]}, opset=11),
)
def average_dilated_as_conv(site: Site) -> Sequence[str]:
    """Write the mean as a convolution."""
    x, axes = site.shape(0), pool_axes(site)
    require(len(x) == _IMAGES, "X is images", "X 为图像")
    require(site.element in FLOATS, "X is float16 or float32", "X 为 float16 或 float32")
    dilated = any(each.axis.dilation > 1 for each in axes)
    require(dilated, "the window is dilated", "窗口带膨胀")
    pads = site.flag("count_include_pad", default=False)
    counts = [each.counted(pads=pads) for each in axes]
    require(min(each.min() for each in counts) > 0, "each window meets X", "每个窗口都与 X 重叠")
    mean = mean_of_windows(site, site.name(0), axes, x[1])
    taps = float(np.prod([each.axis.taps for each in axes]))
    share = taps / np.multiply.outer(*counts)
    if (share == 1).all():
        return [mean]
    return [site.op("Mul", [mean, site.const(share, site.element, "share")])]
