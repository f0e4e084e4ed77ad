"""Rule quick-gelu-as-sigmoid: x * sigmoid(alpha * x) (onnxruntime's QuickGelu)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "quick-gelu-as-sigmoid",
    ("com.microsoft::QuickGelu",),
    Exactness.REORDERED,
    RuleText(
        before=Words("QuickGelu of onnxruntime", "onnxruntime 的 QuickGelu"),
        after=Words("Mul, Sigmoid, Mul", "Mul、Sigmoid、Mul"),
        condition=Words("the dtype is float16 or float32", "数据类型为 float16 或 float32"),
    ),
    example=RuleCase("QuickGelu", (Fed((2, 8)),), {"alpha": 1.5}, opset=1, domain="com.microsoft"),
    near_miss=None,
)
def quick_gelu_as_sigmoid(site: Site) -> Sequence[str]:
    """Write x times the sigmoid of alpha x."""
    scaled = site.op("Mul", [site.name(0), site.scalar(site.number("alpha", 1.702))])
    return [site.op("Mul", [site.name(0), site.op("Sigmoid", [scaled])])]
