"""Rule simple-norm-as-steps: x / sqrt(mean(x^2) + epsilon) * scale (SimplifiedLayerNormalization of onnxruntime, RMSNormalization-23)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.normal import root_of
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "simple-norm-as-steps",
    (
        "RMSNormalization",
        "SimplifiedLayerNormalization",
        "com.microsoft::SimplifiedLayerNormalization",
        "com.microsoft::SkipSimplifiedLayerNormalization",
    ),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "RMSNormalization; SimplifiedLayerNormalization of onnxruntime, after a skip or not",
            "RMSNormalization；onnxruntime 的 SimplifiedLayerNormalization，含或不含残差",
        ),
        after=Words(
            "Add, Mul, ReduceMean, Add, Sqrt, Div, Mul", "Add、Mul、ReduceMean、Add、Sqrt、Div、Mul"
        ),
        condition=Words(
            "the dtype is float16 or float32; Mean, which is 0, is not used",
            "类型为 float16 或 float32；不使用恒为 0 的 Mean",
        ),
        float16=Words(
            "squares above 256 overflow; fused to RmsNorm by the compiler where a SoC has it",
            "超过 256 时平方溢出；有 RmsNorm 的 SoC 上会融合",
        ),
    ),
    example=RuleCase(
        "SkipSimplifiedLayerNormalization",
        (Fed((2, 3, 8)), Fed((2, 3, 8)), data(8)),
        {"epsilon": 1e-5},
        opset=1,
        domain="com.microsoft",
    ),
    near_miss=RuleCase(
        "RMSNormalization", (Fed((2, 3, 8), DType.FLOAT64), ConstInput(np.ones(8))), opset=23
    ),
)
def simple_norm_as_steps(site: Site) -> Sequence[str]:
    """Write the division by the root of the mean square."""
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    skip = site.node.op_type.startswith("Skip")
    require(not skip or site.output(1) is None, "Mean is not used", "不使用 Mean")
    rank = len(site.dims(0))
    axes = range(site.axis(-1, rank), rank)
    x, scale, bias = site.name(0), site.name(2 if skip else 1), ""
    if skip:
        x = site.op("Add", [x, site.name(1)])
        bias = site.name(3)
        x = site.op("Add", [x, bias]) if bias else x
    square = site.reduce("ReduceMean", site.op("Mul", [x, x]), list(axes))
    epsilon = site.number("epsilon", 1e-12 if skip else 1e-5)
    root = root_of(site, square, epsilon)
    y = site.op("Mul", [site.op("Div", [x, root]), scale])
    used = site.output(2 if skip else 1) is not None
    exact = site.element is DType.FLOAT32 or not used
    require(exact, "InvStdDev is not used in float16", "float16 时不使用 InvStdDev")
    inverse = site.op("Reciprocal", [root]) if used else ""
    return [y, "", inverse, x] if skip else [y, inverse]
