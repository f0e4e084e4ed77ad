"""Rule min-as-where: the smaller or larger of integers, by a comparison."""

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

_INTEGERS = frozenset({DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.UINT8})


@fix_rule(
    "min-as-where",
    ("Max", "Min"),
    Exactness.EQUAL,
    RuleText(
        before=Words("Min or Max of a dtype that is not listed", "数据类型不在清单中的 Min 或 Max"),
        after=Words(
            "Less or Greater, Where, for one operand after the other",
            "逐个操作数做 Less 或 Greater，再 Where",
        ),
        condition=Words("the dtype is one of integers", "数据类型为整数"),
    ),
    example=RuleCase(
        "Min",
        (Fed((2, 3), DType.INT32), Fed((3,), DType.INT32), Fed((2, 1), DType.INT32)),
        opset=12,
    ),
    near_miss=RuleCase("Min", (Fed((2, 3), DType.FLOAT64), Fed((3,), DType.FLOAT64)), opset=12),
)
def min_as_where(site: Site) -> Sequence[str]:
    """Write the choice between the result so far and the next operand."""
    require(site.element in _INTEGERS, "the dtype is one of integers", "数据类型为整数")
    compare = "Less" if site.node.op_type == "Min" else "Greater"
    result = site.name(0)
    for position in range(1, len(site.node.inputs)):
        other = site.name(position)
        result = site.op("Where", [site.op(compare, [result, other]), result, other])
    return [result]
