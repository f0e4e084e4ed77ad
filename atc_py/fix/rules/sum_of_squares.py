"""Rule sum-of-squares: ReduceSumSquare is the sum of products of the elements with themselves."""

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
    "sum-of-squares",
    ("ReduceSumSquare",),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "ReduceSumSquare without keepdims, or with axes as an input",
            "不保留轴或以输入给出轴的 ReduceSumSquare",
        ),
        after=Words("Mul, ReduceSum", "Mul、ReduceSum"),
        condition=Words(
            "the rank is known; axes are constant; noop_with_empty_axes is 0",
            "秩已知；axes 为常量；noop_with_empty_axes 为 0",
        ),
        float16=Words("squares above 65504 overflow", "平方超过 65504 时溢出"),
    ),
    example=RuleCase("ReduceSumSquare", (Fed((2, 3, 4)),), {"axes": [1], "keepdims": 0}, cann=5),
    near_miss=RuleCase("ReduceSumSquare", (Fed((2, 3, 4)),), {"axes": [1], "keepdims": 0}),
    deviations=("ReduceSumSquare/keepdims-always", "ReduceSumSquare/axes-input-not-wired"),
)
def sum_of_squares(site: Site) -> Sequence[str]:
    """Write the products and their sums."""
    idle = site.integer("noop_with_empty_axes", 0)
    require(not idle, "noop_with_empty_axes is 0", "noop_with_empty_axes 为 0")
    axes = site.integers("axes")
    if site.tensor(1) is not None:
        axes = tuple(int(each) for each in site.constant(1).reshape(-1))
    rank = len(site.dims(0))
    over = sorted(each % rank for each in axes) or list(range(rank))
    squares = site.op("Mul", [site.name(0), site.name(0)])
    keepdims = site.flag("keepdims", default=True)
    return [site.reduce("ReduceSum", squares, over, keepdims=keepdims)]
