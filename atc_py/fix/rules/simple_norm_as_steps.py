"""Rule simple-norm-as-steps: x / sqrt(mean(x^2) + epsilon) * scale (SimplifiedLayerNormalization of onnxruntime, RMSNormalization-23)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "simple-norm-as-steps",
    (
        "SimplifiedLayerNormalization",
        "com.microsoft::SimplifiedLayerNormalization",
        "com.microsoft::SkipSimplifiedLayerNormalization",
    ),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "SimplifiedLayerNormalization of onnxruntime, after a skip or not",
            "onnxruntime 的 SimplifiedLayerNormalization，含或不含残差",
        ),
        after=Words(
            "Add, Mul, ReduceMean, Add, Sqrt, Div, Mul", "Add、Mul、ReduceMean、Add、Sqrt、Div、Mul"
        ),
        condition=Words(
            "the normalization is over the last axis; InvStdDev is not used",
            "沿末轴归一化；不使用 InvStdDev",
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
    near_miss=None,
)
def simple_norm_as_steps(site: Site) -> Sequence[str]:
    """Write the division by the root of the mean square."""
    skip = site.node.op_type.startswith("Skip")
    require(
        site.output(1) is None and (not skip or site.output(2) is None),
        "InvStdDev is not used",
        "不使用 InvStdDev",
    )
    rank = len(site.dims(0))
    require(site.integer("axis", -1) % rank == rank - 1, "the axis is the last", "沿末轴归一化")
    x, scale, bias = site.name(0), site.name(2 if skip else 1), ""
    if skip:
        x = site.op("Add", [x, site.name(1)])
        bias = site.name(3)
        x = site.op("Add", [x, bias]) if bias else x
    square = site.reduce("ReduceMean", site.op("Mul", [x, x]), [rank - 1])
    root = site.op("Sqrt", [site.op("Add", [square, site.scalar(site.number("epsilon", 1e-5))])])
    y = site.op("Mul", [site.op("Div", [x, root]), scale])
    return [y, "", "", x] if skip else [y]
