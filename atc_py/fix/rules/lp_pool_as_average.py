"""Rule lp-pool-as-average: (mean of |x|^p times the size of the window)^(1/p)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
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
            "Abs, Pow, AveragePool that counts pads, Mul, Pow",
            "Abs、Pow、计入填充的 AveragePool、Mul、Pow",
        ),
        condition=Words(
            "the rank is known; no ceil_mode and no dilation", "秩已知；无 ceil_mode 与膨胀"
        ),
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
        (Fed((2, 3, 7, 5)),),
        {"kernel_shape": [2, 2], "ceil_mode": 1, "strides": [2, 2]},
        opset=18,
    ),
)
def lp_pool_as_average(site: Site) -> Sequence[str]:
    """Write the root of the mean power times the size of the window."""
    require(len(site.dims(0)) == _IMAGES, "X is images", "X 为图像")
    require(not site.integer("ceil_mode", 0), "ceil_mode is 0", "ceil_mode 为 0")
    require(set(site.integers("dilations")) <= {1}, "no dilation", "无膨胀")
    p, window = site.integer("p", 2), site.integers("kernel_shape")
    power = site.op("Pow", [site.op("Abs", [site.name(0)]), site.scalar(p)])
    attributes: dict[str, Any] = {"kernel_shape": list(window), "count_include_pad": 1}
    for name in ("strides", "pads", "auto_pad"):
        if name in site.node.attributes:
            attributes[name] = site.node.attributes[name]
    mean = site.op("AveragePool", [power], **attributes)
    total = site.op("Mul", [mean, site.scalar(float(np.prod(window)))])
    return [site.op("Pow", [total, site.scalar(1 / p)])]
