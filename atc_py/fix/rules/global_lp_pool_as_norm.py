"""Rule global-lp-pool-as-norm: the p-norm over the pixels of each channel."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_NORMS = {1: "ReduceL1", 2: "ReduceL2"}


@fix_rule(
    "global-lp-pool-as-norm",
    ("GlobalLpPool",),
    Exactness.REORDERED,
    RuleText(
        before=Words("GlobalLpPool", "GlobalLpPool"),
        after=Words(
            "ReduceL1 or ReduceL2 over the pixels; for other p Abs, Pow, ReduceMean, Mul, Pow",
            "对像素做 ReduceL1 或 ReduceL2；其他 p 为 Abs、Pow、ReduceMean、Mul、Pow",
        ),
        condition=Words("the rank is known; for other p the dims", "秩已知；其他 p 需形状已知"),
        float16=Words("powers above 65504 overflow", "幂超过 65504 时溢出"),
    ),
    example=RuleCase("GlobalLpPool", (Fed((2, 3, 4, 5)),), {"p": 2}),
    near_miss=RuleCase("LpPool", (Fed((2, 3, 4, 5)),), {"kernel_shape": [2, 2]}, opset=11),
    deviations=("GlobalLpPool/odd-p-keeps-signs",),
    lists=True,
)
def global_lp_pool_as_norm(site: Site) -> Sequence[str]:
    """Write the norm over all axes after batch and channel."""
    p, rank = site.integer("p", 2), len(site.dims(0))
    if p in _NORMS:
        return [site.reduce(_NORMS[p], site.name(0), list(range(2, rank)))]
    power = site.op("Pow", [site.op("Abs", [site.name(0)]), site.scalar(p)])
    mean = site.reduce("ReduceMean", power, list(range(2, rank)))
    total = site.op("Mul", [mean, site.scalar(prod(site.shape(0)[2:]))])
    return [site.op("Pow", [total, site.scalar(1 / p)])]
