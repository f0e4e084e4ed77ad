"""Rule group-norm-as-steps: a normalization over the pixels of each group of channels (GroupNormalization-18 and -21 of ONNX).

ONNX's own body takes the variance as mean(x^2) - mean(x)^2, which loses the digits of float16.
"""

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
    "group-norm-as-steps",
    ("GroupNormalization",),
    Exactness.REORDERED,
    RuleText(
        before=Words("GroupNormalization", "GroupNormalization"),
        after=Words(
            "Reshape, ReduceMean, Sub, Mul, ReduceMean, Add, Sqrt, Div, Reshape, Mul, Add",
            "Reshape、ReduceMean、Sub、Mul、ReduceMean、Add、Sqrt、Div、Reshape、Mul、Add",
        ),
        condition=Words("the dims of X are known", "X 的形状已知"),
        float16=Words("squares of deviations above 256 overflow", "偏差超过 256 时其平方溢出"),
    ),
    example=RuleCase(
        "GroupNormalization",
        (Fed((2, 4, 3, 3)), data(4), data(4, seed=1)),
        {"num_groups": 2},
        opset=21,
    ),
    near_miss=RuleCase(
        "GroupNormalization",
        (Fed((2, 4, 3, 3), DType.FLOAT64), *[ConstInput(np.ones(4))] * 2),
        {"num_groups": 2},
        opset=21,
    ),
)
def group_norm_as_steps(site: Site) -> Sequence[str]:
    """Write the normalization of every group, and the scale and bias of its channels."""
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    dims = site.shape(0)
    groups = site.integer("num_groups", 1)
    inner = (dims[1] // groups, int(np.prod(dims[2:])))
    grouped = site.reshape(site.name(0), [dims[0], groups, *inner])
    x, _, deviation = centered(site, grouped, (2, 3), site.number("epsilon", 1e-5))
    y = site.op("Div", [x, deviation])
    whole = [1, dims[1], *[1] * (len(dims) - 2)]
    per_group = site.shape(1)[0] == groups
    if not per_group:
        y = site.reshape(y, dims)
    shape = [1, groups, 1, 1] if per_group else whole
    scale, bias = (site.reshape(site.name(at), shape) for at in (1, 2))
    y = site.op("Add", [site.op("Mul", [y, scale]), bias])
    return [site.reshape(y, dims) if per_group else y]
