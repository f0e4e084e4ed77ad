"""Rule is-inf-as-equal: a comparison with infinity."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


@fix_rule(
    "is-inf-as-equal",
    ("IsInf",),
    Exactness.EQUAL,
    RuleText(
        before=Words("IsInf", "IsInf"),
        after=Words(
            "Equal with infinity, of the magnitude if both signs count",
            "与无穷做 Equal；两种符号都计时先取绝对值",
        ),
        condition=Words("x is a float", "x 为浮点类型"),
        float16=Words(
            "values over 65504 are infinite in float16", "超过 65504 的数值在 float16 中即为无穷"
        ),
    ),
    example=RuleCase("IsInf", (Fed((2, 3)),), {"detect_negative": 0}, opset=10),
    near_miss=RuleCase(
        "IsInf", (Fed((2, 3)),), {"detect_negative": 0, "detect_positive": 0}, opset=10
    ),
    deviations=("IsInf/negative-detected", "IsInf/positive-detected"),
    lists=True,
)
def is_inf_as_equal(site: Site) -> Sequence[str]:
    """Write x == inf, |x| == inf or x == -inf."""
    require(site.element.is_float, "x is a float", "x 为浮点类型")
    site.require_opset(11)  # before it, Equal is of integers alone
    positive, negative = site.integer("detect_positive", 1), site.integer("detect_negative", 1)
    require(positive or negative, "infinities of one sign count", "至少检测一种无穷")
    x = site.op("Abs", [site.name(0)]) if positive and negative else site.name(0)
    limit = site.scalar(np.inf if positive else -np.inf, "infinity")
    return [site.op("Equal", [x, limit])]
