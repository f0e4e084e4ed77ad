"""Rule dequantize-as-steps: y = (x - z) * s, where no quantized layer of the device takes it."""

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

_EXACT = 2**24


@fix_rule(
    "dequantize-as-steps",
    ("DequantizeLinear", "com.microsoft::DequantizeLinear"),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "DequantizeLinear with computed parameters, in blocks, of 16 or 32 bits",
            "参数由计算得到、分块、16 位或 32 位的 DequantizeLinear",
        ),
        after=Words("Cast, Sub, Mul", "Cast、Sub、Mul"),
        condition=Words(
            "scales are float32; codes have 8 or 16 bits, or are int32 up to 2^24",
            "比例为 float32；编码为 8 或 16 位，或不超过 2^24 的 int32",
        ),
        float16=Words("codes over 2048 are not exact", "超过 2048 的编码不精确"),
    ),
    example=RuleCase(
        "DequantizeLinear",
        (Fed((3, 4), DType.UINT8), Fed(()), ConstInput(np.array(3, np.uint8))),
    ),
    near_miss=RuleCase("DequantizeLinear", (Fed((3, 4), DType.INT32), Fed(()))),
)
def dequantize_as_steps(site: Site) -> Sequence[str]:
    """Write the difference from the zero point, times the step."""
    require(site.input(1).dtype is DType.FLOAT32, "the scale is float32", "比例为 float32")
    found = site.range(0)
    fits = found is not None and max(-found.low, found.high) <= _EXACT
    require(
        site.element in LIMITS or fits,
        f"codes are at most 2^24; give bounds with --range {site.name(0)}=LOW:HIGH",
        f"编码不超过 2^24；可用 --range {site.name(0)}=LOW:HIGH 给出范围",
    )
    y = site.cast(site.name(0), DType.FLOAT32)
    if site.tensor(2) is not None:
        y = site.op("Sub", [y, spread(site, 2)])
    return [site.op("Mul", [y, spread(site, 1)])]
