"""Rule thresholded-relu-as-where: elements up to alpha are chosen to be 0, not multiplied by it."""

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
    "thresholded-relu-as-where",
    ("ThresholdedRelu",),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "ThresholdedRelu whose elements may be infinite", "元素可能为无穷的 ThresholdedRelu"
        ),
        after=Words("Greater, Where", "Greater，Where"),
        condition=Words("X is float16 or float32", "X 为 float16 或 float32"),
    ),
    example=RuleCase("ThresholdedRelu", (Fed((2, 3)),), {"alpha": 0.5}),
    near_miss=RuleCase("ThresholdedRelu", (Fed((2, 3), DType.FLOAT64),), {"alpha": 0.5}),
    deviations=("ThresholdedRelu/infinity-by-zero",),
)
def thresholded_relu_as_where(site: Site) -> Sequence[str]:
    """Write the choice between each element and 0."""
    require(site.element in FLOATS, "X is float16 or float32", "X 为 float16 或 float32")
    alpha = site.scalar(site.number("alpha", 1.0), "alpha")
    above = site.op("Greater", [site.name(0), alpha])
    return [site.op("Where", [above, site.name(0), site.scalar(0.0, "zero")])]
