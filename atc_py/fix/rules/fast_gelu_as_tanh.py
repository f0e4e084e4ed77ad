"""Rule fast-gelu-as-tanh: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) (onnxruntime's FastGelu)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "fast-gelu-as-tanh",
    ("com.microsoft::FastGelu",),
    Exactness.REORDERED,
    RuleText(
        before=Words("FastGelu of onnxruntime", "onnxruntime 的 FastGelu"),
        after=Words("Mul, Add, Tanh", "Mul、Add、Tanh"),
        condition=Words("the dtype is float16 or float32", "数据类型为 float16 或 float32"),
        float16=Words(
            "the cube of x overflows above 40; large magnitudes saturate before",
            "x 超过 40 时三次方溢出",
        ),
    ),
    example=RuleCase("FastGelu", (Fed((2, 8)), data(8)), opset=1, domain="com.microsoft"),
    near_miss=None,
)
def fast_gelu_as_tanh(site: Site) -> Sequence[str]:
    """Write the function by its hyperbolic tangent."""
    x = site.name(0)
    if site.tensor(1) is not None:
        x = site.op("Add", [x, site.name(1)])
    factor = (2 / np.pi) ** 0.5
    square = site.op("Mul", [x, x])
    slope = site.op(
        "Add", [site.op("Mul", [square, site.scalar(0.044715 * factor)]), site.scalar(factor)]
    )
    bend = site.op("Tanh", [site.op("Mul", [x, slope])])
    half = site.op("Mul", [x, site.scalar(0.5)])
    return [site.op("Mul", [half, site.op("Add", [bend, site.scalar(1)])])]
