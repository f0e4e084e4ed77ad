"""Rule is-nan-as-equal: NaN is the only value that is not equal to itself (IEEE 754)."""

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


@fix_rule(
    "is-nan-as-equal",
    ("IsNaN",),
    Exactness.EQUAL,
    RuleText(
        before=Words("IsNaN", "IsNaN"),
        after=Words("Equal of x and x, Not", "x 与自身做 Equal，再取 Not"),
        condition=Words("x is a listed float", "x 为清单所列浮点类型"),
    ),
    example=RuleCase("IsNaN", (Fed((2, 3)),)),
    near_miss=RuleCase("IsNaN", (Fed((2, 3), DType.INT32),), opset=13),
)
def is_nan_as_equal(site: Site) -> Sequence[str]:
    """Write the negation of x == x."""
    require(site.element.is_float, "x is a float", "x 为浮点类型")
    site.require_opset(11)  # before it, Equal is of integers alone
    return [site.op("Not", [site.op("Equal", [site.name(0), site.name(0)])])]
