"""Rule hard-swish: x times HardSigmoid(1/6, 1/2), as ONNX defines it (Operators.md, HardSwish-14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Case, Fed
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText, require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "hard-swish",
    ("HardSwish",),
    Exactness.REORDERED,
    RuleText(
        before=Words("HardSwish", "HardSwish"),
        after=Words("HardSigmoid with alpha 1/6 and beta 0.5, Mul", "HardSigmoid(1/6, 0.5)、Mul"),
        condition=Words("X is float16 or float32", "X 为 float16 或 float32"),
    ),
    example=Case("HardSwish", (Fed((2, 3, 4)),), opset=14),
    near_miss=Case("HardSwish", (Fed((2, 3, 4), DType.FLOAT64),), opset=14),
)
def hard_swish(site: Site) -> Sequence[str]:
    """Write x * HardSigmoid(x)."""
    floats = {DType.FLOAT16, DType.FLOAT32}
    require(site.element in floats, "X is float16 or float32", "X 为 float16 或 float32")
    factor = site.op("HardSigmoid", [site.name(0)], alpha=1 / 6, beta=0.5)
    return [site.op("Mul", [site.name(0), factor])]
