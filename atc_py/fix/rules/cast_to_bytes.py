"""Rule cast-to-bytes: casts to eight bits that CANN takes another way, over a wider dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_BYTES = {2: (DType.UINT8, 0.0, 255.0), 3: (DType.INT8, -128.0, 127.0)}
"""Dtypes of eight bits by ONNX's numbers, and their ends."""


@fix_rule(
    "cast-to-bytes",
    ("Cast",),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "Cast of float16 to int8 or uint8, or of int8 to uint8",
            "float16 到 int8、uint8 的 Cast，或 int8 到 uint8 的 Cast",
        ),
        after=Words(
            "Cast to float32, Clip to the range, Cast; or Cast to int32, Cast",
            "转为 float32，Clip 到目标范围，再转换；或先转为 int32 再转换",
        ),
        condition=Words(
            "ONNX leaves open what becomes of floats out of range: they become the nearest end",
            "ONNX 未规定超出范围的浮点数，此处取最近的端点",
        ),
    ),
    example=RuleCase("Cast", (Fed((3, 4), DType.FLOAT16),), {"to": 3}, cann=5),
    near_miss=RuleCase("Cast", (Fed((3, 4), DType.FLOAT16),), {"to": 6}, cann=5),
    deviations=("Cast/float16-wraps", "Cast/int8-magnitude"),
)
def cast_to_bytes(site: Site) -> Sequence[str]:
    """Write the cast in two steps."""
    target = site.integer("to", 0)
    meant_for(target in _BYTES)
    dtype, low, high = _BYTES[target]
    if site.element is DType.FLOAT16:
        x = site.clip(site.cast(site.name(0), DType.FLOAT32), low, high)
        return [site.cast(x, dtype)]
    meant_for(site.element is DType.INT8)
    return [site.cast(site.cast(site.name(0), DType.INT32), dtype)]
