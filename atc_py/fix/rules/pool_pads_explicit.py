"""Rule pool-pads-explicit: auto_pad and ceil_mode as the pads that they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.pools import pool_axes, share_of_counted
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for, require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "pool-pads-explicit",
    ("AveragePool", "LpPool", "MaxPool"),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "a pool with auto_pad or ceil_mode",
            "带 auto_pad 或 ceil_mode 的池化",
        ),
        after=Words(
            "the pool with explicit pads; where means count only some of these, Mul by constants",
            "显式填充的池化；平均值只计部分填充时再乘以常量",
        ),
        condition=Words(
            "dims are known; windows with SAME pads are not dilated, and no stride is above the window",
            "形状已知；使用 SAME 填充的窗口不带膨胀，步长不大于窗口",
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
    deviations=(
        "AveragePool/any-window-in-padding-kept",
        "AveragePool/large-window-valid",
        "AveragePool/same-lower-as-upper",
        "AveragePool/volume-same-dropped",
        "AveragePool/window-in-padding-kept",
        "LpPool/large-window-valid",
        "LpPool/same-lower-as-upper",
        "LpPool/volume-same-dropped",
        "MaxPool/large-window-valid",
        "MaxPool/same-lower-as-upper",
        "MaxPool/window-in-padding-kept",
    ),
)
def pool_pads_explicit(site: Site) -> Sequence[str]:
    """Write the pool with its pads."""
    ceil = site.integer("ceil_mode", 0)
    meant_for(ceil or site.text("auto_pad", "NOTSET") != "NOTSET")
    axes = pool_axes(site)
    begins = [each.axis.begin for each in axes]
    pads: Any = [*begins, *(each.reach for each in axes)]
    (found, *more) = site.again(
        [site.name(0)], len(site.node.outputs), auto_pad=None, ceil_mode=None, pads=pads
    )
    if not site.integer("count_include_pad", 0):
        return [found, *more]
    share = share_of_counted(axes, pads=True)
    if (share == 1).all():
        return [found]
    require(site.node.op_type == "AveragePool", "the pool takes means", "池化取平均")
    return [site.op("Mul", [found, site.const(share, site.element, "share")])]
