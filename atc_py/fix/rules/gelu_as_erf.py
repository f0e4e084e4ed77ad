"""Rule gelu-as-erf: GELU(x) = x / 2 * (1 + erf(x / sqrt(2))), of x + bias for BiasGelu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "gelu-as-erf",
    ("com.microsoft::Gelu", "com.microsoft::BiasGelu"),
    Exactness.REORDERED,
    RuleText(
        before=Words("Gelu and BiasGelu of onnxruntime", "onnxruntime 的 Gelu 与 BiasGelu"),
        after=Words("Add, Div, Erf, Add, Mul, Mul", "Add、Div、Erf、Add、Mul、Mul"),
        condition=Words("the dtype is float16 or float32", "数据类型为 float16 或 float32"),
        float16=Words("fused to Gelu by the compiler", "编译器会融合为 Gelu"),
    ),
    example=RuleCase("BiasGelu", (Fed((2, 8)), data(8)), opset=1, domain="com.microsoft"),
    near_miss=None,
)
def gelu_as_erf(site: Site) -> Sequence[str]:
    """Write the function by its error function."""
    x = site.name(0)
    if site.tensor(1) is not None:
        x = site.op("Add", [x, site.name(1)])
    error = site.op("Erf", [site.op("Div", [x, site.scalar(2**0.5)])])
    half = site.op("Mul", [x, site.op("Add", [error, site.scalar(1)])])
    return [site.op("Mul", [half, site.scalar(0.5)])]
