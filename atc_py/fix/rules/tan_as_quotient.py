"""Rule tan-as-quotient: tan x = sin x / cos x."""

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


@fix_rule(
    "tan-as-quotient",
    ("Tan",),
    Exactness.REORDERED,
    RuleText(
        before=Words("Tan", "Tan"),
        after=Words("Sin, Cos, Div", "Sin、Cos、Div"),
        condition=Words("the dtype is float16 or float32", "数据类型为 float16 或 float32"),
        float16=Words(
            "near the poles the quotient of rounded numbers is far from the tangent",
            "在极点附近，舍入后的商与正切相差较大",
        ),
    ),
    example=RuleCase("Tan", (Fed((2, 3)),)),
    near_miss=RuleCase("Tan", (Fed((2, 3), DType.FLOAT64),)),
)
def tan_as_quotient(site: Site) -> Sequence[str]:
    """Write sin x / cos x."""
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    sine, cosine = (site.op(each, [site.name(0)]) for each in ("Sin", "Cos"))
    return [site.op("Div", [sine, cosine])]
