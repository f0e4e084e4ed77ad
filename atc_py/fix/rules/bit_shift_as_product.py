"""Rule bit-shift-as-product: a shift by k bits is a product with 2^k, or a quotient, of numbers from 0 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.narrow import require_range
from atc_py.fix.ranges import INT32, Range
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_MOST_BITS = 30
_MODULUS = {DType.UINT8: 2**8, DType.UINT16: 2**16}


@fix_rule(
    "bit-shift-as-product",
    ("BitShift",),
    Exactness.EQUAL,
    RuleText(
        before=Words("BitShift", "BitShift"),
        after=Words(
            "Mul with or Div by 2^k in int32; powers of computed shifts by Gather from a table",
            "在 int32 中乘以或除以 2^k；移位数在运行时得到时，由表 Gather 出幂",
        ),
        condition=Words(
            "X fits int32, shifts are 0 to 30 and no result is beyond int32",
            "X 可用 int32 表示，移位数为 0 到 30，结果不超出 int32",
        ),
        float16=Words("int32 stays int32", "int32 不受影响"),
    ),
    example=RuleCase(
        "BitShift",
        (Fed((2, 3), DType.UINT8), ConstInput(np.array(2, np.uint8))),
        {"direction": "LEFT"},
        opset=11,
    ),
    near_miss=RuleCase(
        "BitShift",
        (Fed((2, 3), DType.UINT64), ConstInput(np.array(2, np.uint64))),
        {"direction": "RIGHT"},
        opset=11,
    ),
)
def bit_shift_as_product(site: Site) -> Sequence[str]:
    """Write the product or the quotient."""
    left = site.text("direction", "") == "LEFT"
    require_range(site, 0, INT32)
    x, shift = site.range(0), site.range(1)
    small = shift is not None and shift.within(Range(0, _MOST_BITS))
    require(small, "shifts are known to be 0 to 30", "已知移位数为 0 到 30")
    given = site.input(1)
    if given.const is not None:
        power = site.const(2 ** given.const.numpy().astype(np.int64), DType.INT32, "powers")
    else:
        table = site.const(2 ** tables.arange(_MOST_BITS + 1), DType.INT32, "powers")
        power = site.op("Gather", [table, site.cast(given.name, DType.INT32)])
    y = site.op("Mul" if left else "Div", [site.cast(site.name(0), DType.INT32), power])
    if left and x is not None and shift is not None:
        most = x.high << shift.high
        require(most <= INT32.high, "no result is beyond int32", "结果不超出 int32")
        modulus = _MODULUS.get(site.element)
        if modulus is not None and most >= modulus:
            y = site.op("Mod", [y, site.const(modulus, DType.INT32, "modulus")])
    return [site.cast(y, site.element)]
