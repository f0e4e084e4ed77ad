"""Rule layer-norm-as-steps: y = (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + B (LayerNormalization-17 of ONNX)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.normal import centered, statistics
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "layer-norm-as-steps",
    ("LayerNormalization",),
    Exactness.REORDERED,
    RuleText(
        before=Words("LayerNormalization", "LayerNormalization"),
        after=Words(
            "ReduceMean, Sub, Mul, ReduceMean, Add, Sqrt, Div, Mul, Add",
            "ReduceMean、Sub、Mul、ReduceMean、Add、Sqrt、Div、Mul、Add",
        ),
        condition=Words(
            "the rank of X is known; Mean and InvStdDev are not used in float16",
            "X 的秩已知；float16 时不使用 Mean、InvStdDev",
        ),
        float16=Words(
            "fused to LayerNorm by the compiler, which sums in float32",
            "编译器会将其融合为以 float32 求和的 LayerNorm",
        ),
    ),
    example=RuleCase("LayerNormalization", (Fed((2, 3, 8)), data(8), data(8, seed=1)), opset=17),
    near_miss=RuleCase(
        "LayerNormalization", (Fed((2, 3, 8), DType.FLOAT64), ConstInput(np.ones(8))), opset=17
    ),
)
def layer_norm_as_steps(site: Site) -> Sequence[str]:
    """Write the normalization step by step."""
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    y_dtype = None if (found := site.output(0)) is None else found.dtype
    require(y_dtype in {None, site.element}, "Y has the dtype of X", "Y 与 X 类型相同")
    rank = len(site.dims(0))
    axes = range(site.axis(-1, rank), rank)
    x, mean, deviation = centered(site, site.name(0), axes, site.number("epsilon", 1e-5))
    y = site.op("Mul", [site.op("Div", [x, deviation]), site.name(1)])
    if site.tensor(2) is not None:
        y = site.op("Add", [y, site.name(2)])
    return [y, *statistics(site, mean, deviation)]
