"""Rule gemm-factors: alpha and beta of Gemm go into a constant factor, or become products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "gemm-factors",
    ("Gemm",),
    Exactness.REORDERED,
    RuleText(
        before=Words("Gemm with alpha or beta", "带 alpha 或 beta 的 Gemm"),
        after=Words(
            "Gemm without factors; constant B and C are multiplied, others by Mul",
            "不带系数的 Gemm；常量 B、C 直接乘入，其余用 Mul",
        ),
        condition=Words("A is float16 or float32", "A 为 float16 或 float32"),
    ),
    example=RuleCase("Gemm", (Fed((2, 3)), data(3, 4), Fed((4,))), {"alpha": 0.5, "beta": 2.0}, cann=5),
    near_miss=RuleCase("Gemm", (Fed((2, 3)), data(3, 4), Fed((4,))), {"alpha": 0.5}),
    deviations=("Gemm/alpha-ignored", "Gemm/alpha-ignored-without-c", "Gemm/beta-ignored"),
)  # fmt: skip
def gemm_factors(site: Site) -> Sequence[str]:
    """Write the sum of the scaled operands."""
    require(site.element in FLOATS, "A is float16 or float32", "A 为 float16 或 float32")
    left, right = site.name(0), site.name(1)
    alpha = site.number("alpha", 1.0)
    if site.input(1).const is None and site.input(0).const is not None:
        left = _scaled(site, 0, alpha)
    else:
        right = _scaled(site, 1, alpha)
    added = [] if site.tensor(2) is None else [_scaled(site, 2, site.number("beta", 1.0))]
    return site.again([left, right, *added], alpha=None, beta=None)


def _scaled(site: Site, position: int, factor: float) -> str:
    """Write an input times a number."""
    if factor == 1.0:
        return site.name(position)
    if site.input(position).const is None:
        return site.op("Mul", [site.name(position), site.scalar(factor, "factor")])
    return site.derived(position, lambda value: value * factor, site.element, "scaled")
