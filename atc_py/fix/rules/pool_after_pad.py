"""Rule pool-after-pad: pads of a pool are written before it, and means are corrected for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.pools import pool_axes, share_of_counted
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for, require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_PADS_AS_INPUT = 11


@fix_rule(
    "pool-after-pad",
    ("AveragePool", "MaxPool"),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "a pool with pads whose window has more than 255 elements, or a stride above 63",
            "带填充且窗口超过 255 个元素或步长超过 63 的池化",
        ),
        after=Words(
            "Pad with zeros, AveragePool, Mul by constants; or Pad with negative infinity, MaxPool",
            "以 0 填充后 AveragePool，再乘以常量；或以负无穷填充后 MaxPool",
        ),
        condition=Words(
            "dims are known; opset 11 or more; Indices are not used",
            "形状已知；opset 不低于 11；不使用 Indices",
        ),
    ),
    example=RuleCase(
        "AveragePool",
        (Fed((1, 2, 20, 21)),),
        {"kernel_shape": [16, 17], "pads": [1, 2, 3, 0]},
        opset=11,
        cann=5,
    ),
    near_miss=RuleCase(
        "AveragePool",
        (Fed((1, 2, 20, 21)),),
        {"kernel_shape": [16, 17], "pads": [1, 2, 3, 0], "count_include_pad": 1},
        opset=11,
        cann=5,
    ),
    deviations=("AveragePool/large-window-counts-padding", "MaxPool/large-window-pads-65504"),
)
def pool_after_pad(site: Site) -> Sequence[str]:
    """Write the pool of the padded tensor."""
    require(site.opset >= _PADS_AS_INPUT, "opset 11 or more", "opset 不低于 11")
    require(site.output(1) is None, "Indices are not used", "不使用 Indices")
    require(site.element in FLOATS, "X is float16 or float32", "X 为 float16 或 float32")
    axes = pool_axes(site)
    begins, ends = [each.axis.begin for each in axes], [each.reach for each in axes]
    meant_for(any(begins) or any(ends))
    pads: Any = [0, 0, *begins, 0, 0, *ends]
    bare: dict[str, Any] = dict.fromkeys(("auto_pad", "ceil_mode", "pads", "count_include_pad"))
    if site.node.op_type == "MaxPool":
        least = site.const(float("-inf"), site.element, "least")
        padded = site.op("Pad", [site.name(0), site.const(pads, label="pads"), least])
        return site.again([padded], **bare)
    (found,) = site.again([site.pad(site.name(0), pads)], **bare)
    share = share_of_counted(axes, pads=site.flag("count_include_pad", default=False))
    if (share == 1).all():
        return [found]
    return [site.op("Mul", [found, site.const(share, site.element, "share")])]
