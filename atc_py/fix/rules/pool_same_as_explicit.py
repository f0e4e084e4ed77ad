"""Rule pool-same-as-explicit: the pads of auto_pad SAME_LOWER and SAME_UPPER are stated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.pools import SAME, pool_axes
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "pool-same-as-explicit",
    ("AveragePool", "MaxPool"),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "a pool with auto_pad SAME_LOWER and an odd padding",
            "auto_pad 为 SAME_LOWER 且填充为奇数的池化",
        ),
        after=Words("the pool with explicit pads", "显式填充的池化"),
        condition=Words(
            "dims are known; windows are not dilated and no stride is above the window",
            "形状已知；窗口不带膨胀，步长不大于窗口",
        ),
    ),
    example=RuleCase(
        "AveragePool",
        (Fed((1, 2, 6, 7)),),
        {"kernel_shape": [2, 3], "auto_pad": "SAME_LOWER"},
        opset=11,
    ),
    near_miss=RuleCase(
        "MaxPool",
        (Fed((1, 2, 6, 7)),),
        {"kernel_shape": [3, 3], "auto_pad": "SAME_LOWER"},
        opset=12,
    ),
    deviations=("AveragePool/same-lower-as-upper", "MaxPool/same-lower-as-upper"),
)
def pool_same_as_explicit(site: Site) -> Sequence[str]:
    """Write the pool with its pads."""
    meant_for(site.text("auto_pad", "NOTSET") in SAME)
    axes = [each.axis for each in pool_axes(site)]
    pads: Any = [*(each.begin for each in axes), *(each.end for each in axes)]
    outputs = len(site.node.outputs)
    return site.again([site.name(0)], outputs, auto_pad=None, ceil_mode=None, pads=pads)
