"""Rule p-relu-as-relus: slope * min(x, 0) + max(x, 0) = Relu(x) - slope * Relu(-x)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
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
    "p-relu-as-relus",
    ("PRelu",),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "PRelu with a slope that is neither one number nor one per channel",
            "slope 既非单值又非逐通道的 PRelu",
        ),
        after=Words(
            "Relu of x and of -x, Mul, Sub; of a slope that is computed, Less, Mul, Where",
            "对 x 与 -x 做 Relu，Mul，Sub；slope 为计算值时 Less，Mul，Where",
        ),
        condition=Words("the dtype is float16 or float32", "数据类型为 float16 或 float32"),
    ),
    example=RuleCase("PRelu", (Fed((2, 3, 4)), data(3, 4))),
    near_miss=RuleCase("PRelu", (Fed((2, 3, 4), DType.FLOAT64), Fed((4,), DType.FLOAT64))),
)
def p_relu_as_relus(site: Site) -> Sequence[str]:
    """Write the two halves and their difference, or a choice where a slope may be infinite."""
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    x, slope = site.name(0), site.input(1).const
    if slope is None or not np.isfinite(slope.numpy()).all():
        below = site.op("Mul", [x, site.name(1)])
        return [site.op("Where", [site.op("Less", [x, site.scalar(0)]), below, x])]
    above = site.op("Relu", [x])
    below = site.op("Relu", [site.op("Neg", [x])])
    return [site.op("Sub", [above, site.op("Mul", [site.name(1), below])])]
