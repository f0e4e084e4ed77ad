"""Rule sum-as-mean: a sum that is divided by a number, without the sum.

Sums of many elements pass 65504, the largest number of float16, where their mean does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import Fed, case_after
from atc_py.fix.parts.patterns import mean_of, require_float32
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import UnfitError, require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.case import CaseNode
    from atc_py.fix.site import Site

__all__: list[str] = []

_NEAR_ONE = 1e-6

_SUM: tuple[CaseNode, ...] = (("ReduceSum", ("x0", "x1"), ("sum",), {"keepdims": 1}),)


@fix_rule(
    "sum-as-mean",
    ("Div", "Mul"),
    Exactness.REORDERED,
    RuleText(
        before=Words("ReduceSum, then Mul or Div by a constant", "ReduceSum 后乘或除以常量"),
        after=Words(
            "ReduceMean, and Mul by what is left of the factor", "ReduceMean，并乘以剩余的系数"
        ),
        condition=Words("dims are known", "形状已知"),
        float16=Words(
            "the sum, which may pass 65504, is not computed", "不再计算可能超过 65504 的和"
        ),
    ),
    example=case_after(
        _SUM,
        "Mul",
        ("sum", "part"),
        {"x0": Fed((3, 512)), "x1": np.array([1]), "part": np.array(1 / 512, np.float32)},
    ),
    near_miss=case_after(
        _SUM,
        "Mul",
        ("sum", "part"),
        {"x0": Fed((3, 512)), "x1": np.array([1]), "part": Fed((3, 1))},
    ),
    precision=True,
)
def sum_as_mean(site: Site) -> Sequence[str]:
    """Write the mean."""
    require_float32(site)
    found = mean_of(site, site.output(0))
    sums = (site.maker(tensor) for tensor in site.node.inputs)
    summed = any(each is not None and each.op_type == "ReduceSum" for each in sums)
    if found is None or not summed:
        raise UnfitError(Words("it is a sum with a constant factor", "为带常量系数的和"))
    require(abs(found.factor) <= found.count / 2, "the factor is below 1/2", "系数小于 1/2")
    x = found.source.name
    if found.squared:
        x = site.op("Mul", [x, x])
    y = site.reduce("ReduceMean", x, found.axes, keepdims=found.keepdims)
    if abs(found.factor - 1) <= _NEAR_ONE:
        return [y]
    return [site.op("Mul", [y, site.scalar(found.factor)])]
