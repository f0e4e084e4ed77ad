"""Rule instance-norm-as-steps: a normalization of each channel over its pixels (InstanceNormalization-6 of ONNX)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.normal import centered
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "instance-norm-as-steps",
    ("InstanceNormalization",),
    Exactness.REORDERED,
    RuleText(
        before=Words("InstanceNormalization", "InstanceNormalization"),
        after=Words(
            "ReduceMean, Sub, Mul, ReduceMean, Add, Sqrt, Div, Mul, Add",
            "ReduceMean、Sub、Mul、ReduceMean、Add、Sqrt、Div、Mul、Add",
        ),
        condition=Words("the rank of the input is known", "输入的秩已知"),
        float16=Words("squares of deviations above 256 overflow", "偏差超过 256 时其平方溢出"),
    ),
    example=RuleCase("InstanceNormalization", (Fed((2, 3, 4, 4)), data(3), data(3, seed=1))),
    near_miss=RuleCase(
        "InstanceNormalization",
        (Fed((2, 3, 4), DType.FLOAT64), ConstInput(np.ones(3)), ConstInput(np.ones(3))),
    ),
)
def instance_norm_as_steps(site: Site) -> Sequence[str]:
    """Write the normalization step by step."""
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    rank = len(site.dims(0))
    require(rank > 2, "the input has axes after its channels", "输入在通道之后还有轴")  # noqa: PLR2004
    x, _, deviation = centered(site, site.name(0), range(2, rank), site.number("epsilon", 1e-5))
    scale, bias = (site.reshape(site.name(each), [1, -1, *[1] * (rank - 2)]) for each in (1, 2))
    return [site.op("Add", [site.op("Mul", [site.op("Div", [x, deviation]), scale]), bias])]
