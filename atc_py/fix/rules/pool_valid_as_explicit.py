"""Rule pool-valid-as-explicit: auto_pad VALID means pads of 0, which go with ceil_mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "pool-valid-as-explicit",
    ("MaxPool",),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "MaxPool with auto_pad VALID and ceil_mode 1",
            "auto_pad 为 VALID 且 ceil_mode 为 1 的 MaxPool",
        ),
        after=Words("MaxPool with explicit pads of 0", "显式填充 0 的 MaxPool"),
        condition=Words("Indices are not used", "不使用 Indices"),
    ),
    example=RuleCase(
        "MaxPool",
        (Fed((1, 2, 8, 9)),),
        {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "VALID", "ceil_mode": 1},
        opset=12,
    ),
    near_miss=RuleCase(
        "MaxPool", (Fed((1, 2, 9, 8)),), {"kernel_shape": [3, 2], "dilations": [2, 2]}, opset=12
    ),
)
def pool_valid_as_explicit(site: Site) -> Sequence[str]:
    """Write the pool without auto_pad."""
    require(site.output(1) is None, "Indices are not used", "不使用 Indices")
    valid = site.text("auto_pad", "NOTSET") == "VALID" and site.integer("ceil_mode", 0)
    require(valid, "auto_pad is VALID and ceil_mode 1", "auto_pad 为 VALID 且 ceil_mode 为 1")
    return site.again([site.name(0)], auto_pad=None, pads=None)
