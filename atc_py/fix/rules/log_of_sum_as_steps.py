"""Rule log-of-sum-as-steps: ReduceLogSum and ReduceLogSumExp by their definition; exponents less the largest of them.

log(sum(exp(x))) = m + log(sum(exp(x - m))), with m the largest x.
"""

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
    "log-of-sum-as-steps",
    ("ReduceLogSum", "ReduceLogSumExp"),
    Exactness.REORDERED,
    RuleText(
        before=Words("ReduceLogSum, ReduceLogSumExp", "ReduceLogSum、ReduceLogSumExp"),
        after=Words(
            "ReduceSum and Log; for exponentials ReduceMax and Sub before, Add after them",
            "ReduceSum 与 Log；对指数先做 ReduceMax 与 Sub，最后 Add",
        ),
        condition=Words("the rank is known; axes are constant", "秩已知；axes 为常量"),
        float16=Words("no exponential is above 1", "指数不大于 1"),
    ),
    example=RuleCase("ReduceLogSumExp", (Fed((3, 4)),), {"axes": [1], "keepdims": 0}),
    near_miss=RuleCase("ReduceLogSumExp", (Fed((3, 4)),), {"noop_with_empty_axes": 1}, opset=18),
)
def log_of_sum_as_steps(site: Site) -> Sequence[str]:
    """Write the sum and its logarithm."""
    rank = len(site.dims(0))
    given = site.integers("axes")
    if site.tensor(1) is not None:
        given = tuple(int(each) for each in site.constant(1).reshape(-1))
    require(given or not site.integer("noop_with_empty_axes", 0), "there are axes", "有归约轴")
    axes = sorted({axis % rank for axis in given or range(rank)})
    keepdims = site.flag("keepdims", default=True)
    x = site.name(0)
    if site.node.op_type == "ReduceLogSum":
        return [site.op("Log", [site.reduce("ReduceSum", x, axes, keepdims=keepdims)])]
    most = site.reduce("ReduceMax", x, axes)
    power = site.op("Exp", [site.op("Sub", [x, most])])
    y = site.op("Log", [site.reduce("ReduceSum", power, axes, keepdims=keepdims)])
    return [site.op("Add", [y, most if keepdims else site.squeeze(most, axes)])]
