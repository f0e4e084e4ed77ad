"""Rule selu-as-elu: Selu is gamma times Elu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_ALPHA, _GAMMA = 1.6732632423543772, 1.0507009873554805
"""Factors of Selu without attributes."""


@fix_rule(
    "selu-as-elu",
    ("Selu",),
    Exactness.REORDERED,
    RuleText(
        before=Words("Selu with factors of its own", "自定系数的 Selu"),
        after=Words("Elu with alpha, Mul by gamma", "带 alpha 的 Elu，再乘以 gamma"),
        condition=Words("X is float16 or float32", "X 为 float16 或 float32"),
    ),
    example=RuleCase("Selu", (Fed((2, 3)),), {"alpha": 1.5}),
    near_miss=RuleCase("Selu", (Fed((2, 3)),), {}),
    deviations=(
        "Selu/alpha-fixed",
        "Selu/gamma-fixed",
    ),
)
def selu_as_elu(site: Site) -> Sequence[str]:
    """Write the exponential unit times the factor."""
    require(site.element in FLOATS, "X is float16 or float32", "X 为 float16 或 float32")
    y = site.op("Elu", [site.name(0)], alpha=site.number("alpha", _ALPHA))
    return [site.op("Mul", [y, site.scalar(site.number("gamma", _GAMMA), "gamma")])]
