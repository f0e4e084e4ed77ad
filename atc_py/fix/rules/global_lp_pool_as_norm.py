"""Rule global-lp-pool-as-norm: the p-norm over the pixels of each channel."""

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

_NORMS = {1: "ReduceL1", 2: "ReduceL2"}


@fix_rule(
    "global-lp-pool-as-norm",
    ("GlobalLpPool",),
    Exactness.REORDERED,
    RuleText(
        before=Words("GlobalLpPool of p 1 or 2", "p 为 1 或 2 的 GlobalLpPool"),
        after=Words("ReduceL1 or ReduceL2 over the pixels", "对像素做 ReduceL1 或 ReduceL2"),
        condition=Words("the rank is known; p is 1 or 2", "秩已知；p 为 1 或 2"),
        float16=Words("squares above 256 overflow", "超过 256 时平方溢出"),
    ),
    example=RuleCase("GlobalLpPool", (Fed((2, 3, 4, 5)),), {"p": 2}),
    near_miss=RuleCase("GlobalLpPool", (Fed((2, 3, 4, 5)),), {"p": 3}),
)
def global_lp_pool_as_norm(site: Site) -> Sequence[str]:
    """Write the norm over all axes after batch and channel."""
    p, rank = site.integer("p", 2), len(site.dims(0))
    require(p in _NORMS, "p is 1 or 2", "p 为 1 或 2")
    return [site.reduce(_NORMS[p], site.name(0), list(range(2, rank)))]
