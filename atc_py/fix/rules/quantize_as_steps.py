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

_CODES_OF_8_BITS = 255
_FLOAT16 = 65504.0
"""Largest number of float16."""


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
            "a quotient may round to the next code; one of 2048 or more is not exact",
            "商可能舍入到相邻编码；商达到 2048 后不精确",
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
    low, high = LIMITS[dtype or DType.UINT8]
    if site.tensor(2) is None:
        return [site.cast(site.clip(y, low, high), dtype or DType.UINT8)]
    if high - low <= _CODES_OF_8_BITS:
        y = site.op("Add", [y, spread(site, 2)])
        return [site.cast(site.clip(y, low, high), dtype or DType.UINT8)]
    # Sums of 16-bit codes are not exact in float16, and it has infinities where float32 has numbers:
    # both parts are within its range, and together they reach beyond all codes.
    parts = [site.clip(y, -_FLOAT16, _FLOAT16)]
    parts.append(site.clip(site.op("Sub", [y, parts[0]]), -_FLOAT16, _FLOAT16))
    whole = site.op("Add", [site.cast(each, DType.INT32) for each in parts])
    y = site.op("Add", [whole, spread(site, 2, DType.INT32)])
    limits = [site.const(each, DType.INT32, "limit") for each in (high, low)]
    y = site.op("Max", [site.op("Min", [y, limits[0]]), limits[1]])
    return [site.cast(y, dtype or DType.UINT16)]
