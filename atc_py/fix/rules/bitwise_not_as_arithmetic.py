"""Rule bitwise-not-as-arithmetic: in two's complement ~x = -1 - x; of unsigned numbers of n bits it is 2^n - 1 - x."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.narrow import require_range
from atc_py.fix.ranges import INT32
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_NARROW = {DType.INT8: -1, DType.INT16: -1, DType.INT32: -1, DType.UINT8: 255, DType.UINT16: 65535}


@fix_rule(
    "bitwise-not-as-arithmetic",
    ("BitwiseNot",),
    Exactness.EQUAL,
    RuleText(
        before=Words("BitwiseNot", "BitwiseNot"),
        after=Words("Sub from -1 in int32, Cast", "用 int32 以 -1 减之，再 Cast"),
        condition=Words(
            "the dtype has at most 16 bits, or values are shown to fit int32",
            "数据类型不超过 16 位，或可证明数值在 int32 以内",
        ),
    ),
    example=RuleCase("BitwiseNot", (Fed((2, 3), DType.UINT8),), opset=18),
    near_miss=RuleCase("BitwiseNot", (Fed((2, 3), DType.UINT64),), opset=18),
)
def bitwise_not_as_arithmetic(site: Site) -> Sequence[str]:
    """Write the difference from all ones."""
    if site.element is DType.INT64:
        require_range(site, 0, INT32)
    else:
        require(site.element in _NARROW, "the dtype fits int32", "数据类型可用 int32 表示")
    ones = site.const(_NARROW.get(site.element, -1), DType.INT32, "ones")
    wide = site.element is DType.INT32
    x = site.name(0) if wide else site.cast(site.name(0), DType.INT32)
    y = site.op("Sub", [ones, x])
    return [y if wide else site.cast(y, site.element)]
