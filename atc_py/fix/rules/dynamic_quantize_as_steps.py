"""Rule dynamic-quantize-as-steps: codes for the range that a tensor has at run time.

s = (max(x, 0) - min(x, 0)) / 255, z = sat(round(-min(x, 0) / s)), y = sat(round(x / s) + z), by
ONNX's definition of DynamicQuantizeLinear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.codes import dynamic_codes
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "dynamic-quantize-as-steps",
    ("DynamicQuantizeLinear",),
    Exactness.REORDERED,
    RuleText(
        before=Words("DynamicQuantizeLinear", "DynamicQuantizeLinear"),
        after=Words(
            "ReduceMax, ReduceMin, the step, Div, Round, Clip, Cast",
            "ReduceMax、ReduceMin、步长、Div、Round、Clip、Cast",
        ),
        condition=Words("x is float32 of known rank, and finite", "x 为 float32、秩已知且数值有限"),
        float16=Words(
            "a quotient may round to the next code; steps below 6e-5 lose digits",
            "商可能舍入到相邻编码；小于 6e-5 的步长会损失精度",
        ),
    ),
    example=RuleCase("DynamicQuantizeLinear", (Fed((2, 3, 4)),), opset=11, outputs=3),
    near_miss=RuleCase("DynamicQuantizeLinear", (Fed((2, 3), DType.FLOAT16),), opset=11, outputs=3),
)
def dynamic_quantize_as_steps(site: Site) -> Sequence[str]:
    """Write the codes, the step and the zero point."""
    require(site.element is DType.FLOAT32, "x is float32", "x 为 float32")
    found = dynamic_codes(site, site.name(0), len(site.dims(0)))
    codes, zero = (site.cast(each, DType.UINT8) for each in (found.codes, found.zero))
    return [codes, found.scale, zero]
