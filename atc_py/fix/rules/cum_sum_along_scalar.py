"""Rule cum-sum-along-scalar: an axis in a vector of one element, as a number without axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for, require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "cum-sum-along-scalar",
    ("CumSum",),
    Exactness.EQUAL,
    RuleText(
        before=Words("CumSum whose axis is a vector of one element", "轴为单元素向量的 CumSum"),
        after=Words("CumSum with the axis as a scalar", "轴为标量的 CumSum"),
        condition=Words("the axis is constant", "轴为常量"),
    ),
    example=RuleCase("CumSum", (Fed((2, 3)), ConstInput(np.array([1]))), opset=11),
    near_miss=RuleCase("CumSum", (Fed((2, 3)), ConstInput(np.array([0, 1]))), opset=11),
)
def cum_sum_along_scalar(site: Site) -> Sequence[str]:
    """Write the axis without dims."""
    axis = site.constant(1)
    meant_for(axis.ndim)
    require(axis.size == 1, "there is one axis", "仅有一个轴")
    return site.again([site.name(0), site.const(int(axis.reshape(-1)[0]), label="axis")])
