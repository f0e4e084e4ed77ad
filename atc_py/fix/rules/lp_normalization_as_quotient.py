"""Rule lp-normalization-as-quotient: elements divided by their norm, or by 1 where that is 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_NORMS = {1: "ReduceL1", 2: "ReduceL2"}


@fix_rule(
    "lp-normalization-as-quotient",
    ("LpNormalization",),
    Exactness.REORDERED,
    RuleText(
        before=Words("LpNormalization of what may be zeros alone", "可能全为零的 LpNormalization"),
        after=Words(
            "ReduceL1 or ReduceL2, Equal with 0, Where, Div",
            "ReduceL1 或 ReduceL2，与 0 做 Equal，Where，Div",
        ),
        condition=Words("the rank is known", "秩已知"),
    ),
    example=RuleCase("LpNormalization", (Fed((2, 3)),), {"axis": 1}),
    near_miss=RuleCase("LpNormalization", (Fed((2, 3), DType.FLOAT64),), {"axis": 1}),
    deviations=("LpNormalization/zero-by-zero",),
)
def lp_normalization_as_quotient(site: Site) -> Sequence[str]:
    """Write the quotients."""
    require(site.element in FLOATS, "X is float16 or float32", "X 为 float16 或 float32")
    site.require_opset(11)  # before it, Equal is of integers alone
    norm = _NORMS[site.integer("p", 2)]
    size = site.reduce(norm, site.name(0), [site.axis(-1, len(site.dims(0)))])
    empty = site.op("Equal", [size, site.scalar(0.0, "zero")])
    return [
        site.op("Div", [site.name(0), site.op("Where", [empty, site.scalar(1.0, "one"), size])])
    ]
