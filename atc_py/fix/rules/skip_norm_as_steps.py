"""Rule skip-norm-as-steps: the sum of x, skip and bias, and its layer normalization (onnxruntime's SkipLayerNormalization)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.normal import centered, statistics
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "skip-norm-as-steps",
    ("com.microsoft::SkipLayerNormalization",),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "SkipLayerNormalization of onnxruntime", "onnxruntime 的 SkipLayerNormalization"
        ),
        after=Words("Add, then the steps of the normalization", "Add，再逐步做归一化"),
        condition=Words("the rank of the input is known", "输入的秩已知"),
    ),
    example=RuleCase(
        "SkipLayerNormalization",
        (Fed((2, 3, 8)), Fed((2, 3, 8)), data(8), data(8, seed=1), data(8, seed=2)),
        {"epsilon": 1e-5},
        opset=1,
        domain="com.microsoft",
    ),
    near_miss=None,
)
def skip_norm_as_steps(site: Site) -> Sequence[str]:
    """Write the sum and its normalization."""
    total = site.op("Add", [site.name(0), site.name(1)])
    if site.tensor(4) is not None:
        total = site.op("Add", [total, site.name(4)])
    rank = len(site.dims(0))
    x, mean, deviation = centered(site, total, range(rank - 1, rank), site.number("epsilon", 1e-12))
    y = site.op("Mul", [site.op("Div", [x, deviation]), site.name(2)])
    if site.tensor(3) is not None:
        y = site.op("Add", [y, site.name(3)])
    return [y, *statistics(site, mean, deviation), total]
