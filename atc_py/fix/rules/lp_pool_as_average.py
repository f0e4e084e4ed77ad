"""Rule lp-pool-as-average: (mean of |x|^p times the size of the window)^(1/p)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
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
    "lp-pool-as-average",
    ("LpPool",),
    Exactness.REORDERED,
    RuleText(
        before=Words("LpPool", "LpPool"),
        after=Words(
            "Abs, Pow, AveragePool that counts pads, or Conv where the window is dilated, Mul, Pow",
            "Abs、Pow、计入填充的 AveragePool（带膨胀时为 Conv）、Mul、Pow",
        ),
        condition=Words("X is images of known dims", "X 为形状已知的图像"),
        float16=Words("powers above 65504 overflow", "幂超过 65504 时溢出"),
    ),
    example=RuleCase(
        "LpPool",
        (Fed((2, 3, 4, 5)),),
        {"kernel_shape": [2, 2], "p": 3, "pads": [0, 1, 0, 1]},
        opset=11,
    ),
    near_miss=RuleCase(
        "LpPool",
        (Fed((2, 3, 7, 5, 4, 4)),),
        {"kernel_shape": [2, 2, 2, 2]},
        opset=18,
    ),
)
def lp_pool_as_average(site: Site) -> Sequence[str]:
    """Write the root of the mean power times the size of the window."""
    x, axes = site.shape(0), pool_axes(site)
    require(len(x) == _IMAGES, "X is images", "X 为图像")
    p, window = site.integer("p", 2), [each.axis.taps for each in axes]
    power = site.op("Pow", [site.op("Abs", [site.name(0)]), site.scalar(p)])
    if any(each.axis.dilation > 1 for each in axes):
        mean = mean_of_windows(site, power, axes, x[1])
    else:
        attributes: dict[str, Any] = {
            "kernel_shape": window,
            "strides": [each.axis.stride for each in axes],
            "pads": [*(each.axis.begin for each in axes), *(each.reach for each in axes)],
            "count_include_pad": 1,
        }
        mean = site.op("AveragePool", [power], **attributes)
    total = site.op("Mul", [mean, site.scalar(float(np.prod(window)))])
    return [site.op("Pow", [total, site.scalar(1 / p)])]
