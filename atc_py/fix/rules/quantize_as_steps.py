"""Rule quantize-as-steps: y = sat(round(x / s) + z), where no quantized layer of the device takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.steps_of_codes import LIMITS, spread
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "quantize-as-steps",
    ("QuantizeLinear", "com.microsoft::QuantizeLinear"),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "QuantizeLinear with computed parameters, in blocks, or to codes of 16 bits",
            "参数由计算得到、分块或 16 位编码的 QuantizeLinear",
        ),
        after=Words("Div, Round, Add, Clip, Cast", "Div、Round、Add、Clip、Cast"),
        condition=Words(
            "x is float32 and finite; codes have 8 or 16 bits", "x 为 float32；编码为 8 或 16 位"
        ),
        float16=Words(
            "a quotient may round to the next code; codes over 2048 are not exact",
            "商可能舍入到相邻编码；超过 2048 的编码不精确",
        ),
    ),
    example=RuleCase(
        "QuantizeLinear", (Fed((3, 4)), Fed(()), ConstInput(np.array(3, np.uint8)))
    ),
    near_miss=RuleCase("QuantizeLinear", (Fed((3, 4), DType.FLOAT16), Fed((), DType.FLOAT16)), opset=19),
)  # fmt: skip
def quantize_as_steps(site: Site) -> Sequence[str]:
    """Write the codes in float32, then cast them."""
    require(site.element is DType.FLOAT32, "x is float32", "x 为 float32")
    require(site.input(1).dtype is DType.FLOAT32, "the scale is float32", "比例为 float32")
    result = site.output(0)
    dtype = None if result is None else result.dtype
    require(dtype in LIMITS, "codes have 8 or 16 bits", "编码为 8 或 16 位")
    y = site.op("Round", [site.op("Div", [site.name(0), spread(site, 1)])])
    if site.tensor(2) is not None:
        y = site.op("Add", [y, spread(site, 2)])
    low, high = LIMITS[dtype or DType.UINT8]
    return [site.cast(site.clip(y, low, high), dtype or DType.UINT8)]
