"""Rule order-as-not: an order with equality is the opposite order, negated; of numbers, not of NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_OPPOSITE = {"GreaterOrEqual": "Less", "LessOrEqual": "Greater"}


@fix_rule(
    "order-as-not",
    ("GreaterOrEqual", "LessOrEqual"),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "LessOrEqual or GreaterOrEqual of integers that are not listed",
            "整数类型不在清单中的 LessOrEqual、GreaterOrEqual",
        ),
        after=Words("Greater or Less, Not", "Greater 或 Less，再取 Not"),
        condition=Words(
            "the dtype is one of integers, as NaN has no order", "数据类型为整数（NaN 无大小关系）"
        ),
    ),
    example=RuleCase("LessOrEqual", (Fed((2, 3), DType.INT32), Fed((3,), DType.INT32)), opset=12),
    near_miss=RuleCase(
        "LessOrEqual", (Fed((2, 3), DType.FLOAT64), Fed((3,), DType.FLOAT64)), opset=12
    ),
)
def order_as_not(site: Site) -> Sequence[str]:
    """Write the opposite order and its negation."""
    integer = not site.element.is_float and site.element is not DType.BOOL
    require(integer, "the dtype is one of integers", "数据类型为整数")
    opposite = site.op(_OPPOSITE[site.node.op_type], [site.name(0), site.name(1)])
    return [site.op("Not", [opposite])]
