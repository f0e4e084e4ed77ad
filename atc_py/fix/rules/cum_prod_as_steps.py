"""Rule cum-prod-as-steps: running products by doubling: after k steps each covers 2^k elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "cum-prod-as-steps",
    ("CumProd",),
    Exactness.REORDERED,
    RuleText(
        before=Words("CumProd", "CumProd"),
        after=Words(
            "log2(n) times: Slice, Concat with ones, Mul", "log2(n) 次：Slice、与 1 做 Concat、Mul"
        ),
        condition=Words("dims and the axis are known", "形状与轴已知"),
        float16=Words(
            "products over 65504 overflow, as those of CumProd do", "超过 65504 的积会溢出，与 CumProd 相同"
        ),
    ),
    example=RuleCase("CumProd", (Fed((2, 5)), ConstInput(np.array(1))), {"exclusive": 1}, opset=26),
    near_miss=RuleCase("CumProd", (Fed((2, 5)), ConstInput(np.array(3))), opset=26),
)  # fmt: skip
def cum_prod_as_steps(site: Site) -> Sequence[str]:
    """Write the products over 1, 2, 4 ... elements."""
    dims = site.shape(0)
    axis = int(site.constant(1).reshape(-1)[0])
    require(-len(dims) <= axis < len(dims), "the axis is one of X", "轴在 X 的范围内")
    axis %= len(dims)
    size, back = dims[axis], site.flag("reverse", default=False)

    def shifted(x: str, by: int) -> str:
        ones = site.const(tables.ones((*dims[:axis], by, *dims[axis + 1 :])), site.element, "ones")
        if by == size:
            return ones
        kept = site.slice(x, axis, by, size) if back else site.slice(x, axis, 0, size - by)
        return site.op("Concat", [kept, ones] if back else [ones, kept], axis=axis)

    y = site.name(0)
    if site.integer("exclusive", 0):
        y = shifted(y, 1)
    by = 1
    while by < size:
        y = site.op("Mul", [y, shifted(y, by)])
        by *= 2
    return [y]
