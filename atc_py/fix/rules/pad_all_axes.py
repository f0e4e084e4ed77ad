"""Rule pad-all-axes: pads of some axes, stated for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.padding import LISTED, pads_of
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_AXES = 3


@fix_rule(
    "pad-all-axes",
    ("Pad",),
    Exactness.EQUAL,
    RuleText(
        before=Words("Pad with the input axes", "带 axes 输入的 Pad"),
        after=Words("Pad with a pair of numbers for each axis", "给出所有轴填充数的 Pad"),
        condition=Words(
            "pads and axes are constant, no pad is negative; the dtype is listed; value 0, or mode "
            "edge or reflect",
            "pads 与 axes 为常量且非负；类型在清单中；填充值为 0，或模式为 edge、reflect",
        ),
    ),
    example=RuleCase(
        "Pad",
        (Fed((2, 3, 4)), ConstInput(np.array([1, 2])), None, ConstInput(np.array([-1]))),
        {"mode": "edge"},
        opset=18,
    ),
    near_miss=RuleCase("Pad", (Fed((2, 3)), ConstInput(np.array([0, -1, 0, 1])))),
)
def pad_all_axes(site: Site) -> Sequence[str]:
    """Write Pad without axes."""
    require(site.tensor(_AXES) is not None, "axes are given", "给出 axes")
    found = pads_of(site)
    require(site.element in LISTED, "the dtype is listed", "类型在清单中")
    require(min((*found.begins, *found.ends)) >= 0, "no pad is negative", "填充非负")
    listed = found.mode in {"edge", "reflect"} or (found.mode == "constant" and found.is_zero)
    require(listed, "the mode is listed", "模式在清单中")
    pads = site.const([*found.begins, *found.ends], label="pads")
    return site.again([site.name(0), pads])
