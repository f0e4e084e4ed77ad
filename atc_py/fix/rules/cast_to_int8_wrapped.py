"""Rule cast-to-int8-wrapped: the low eight bits of an int32 are taken by a remainder, and go through a float."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for, require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_SIZE, _HALF = 256, 128
_WITH_MOD = 10
_INT8 = 3
"""ONNX's number of the dtype."""


@fix_rule(
    "cast-to-int8-wrapped",
    ("Cast",),
    Exactness.EQUAL,
    RuleText(
        before=Words("Cast of int32 to int8", "int32 到 int8 的 Cast"),
        after=Words(
            "Mod by 256, Cast to float32, the nearest multiple of 256 subtracted, Cast to int8",
            "对 256 取余，转为 float32，减去 256 的倍数，再转为 int8",
        ),
        condition=Words("opset 10 or more", "opset 不低于 10"),
    ),
    example=RuleCase("Cast", (Fed((3, 4), DType.INT32),), {"to": _INT8}, operator_list="cann-9.0"),
    near_miss=RuleCase("Cast", (Fed((3, 4)),), {"to": _INT8}, operator_list="cann-9.0"),
    deviations=("Cast/int8-range",),
)
def cast_to_int8_wrapped(site: Site) -> Sequence[str]:
    """Write the low bits as a number from -128 to 127, which every path keeps."""
    meant_for(site.element is DType.INT32 and site.integer("to", 0) == _INT8)
    require(site.opset >= _WITH_MOD, "opset 10 or more", "opset 不低于 10")
    size = site.const(_SIZE, DType.INT32, "size")
    rest = site.cast(site.op("Mod", [site.name(0), size], fmod=1), DType.FLOAT32)
    size, half = (site.const(each, DType.FLOAT32) for each in (_SIZE, _HALF))
    turns = site.op("Floor", [site.op("Div", [site.op("Add", [rest, half]), size])])
    low = site.op("Sub", [rest, site.op("Mul", [turns, size])])
    return [site.cast(low, DType.INT8)]
