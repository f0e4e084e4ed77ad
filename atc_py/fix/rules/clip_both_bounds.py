"""Rule clip-both-bounds: a bound that is absent is the end of the dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for, require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_CLIP_AS_INPUT = 11


@fix_rule(
    "clip-both-bounds",
    ("Clip",),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "Clip without bounds, or of int32 with one",
            "无边界的 Clip，或只有一个边界的 int32 Clip",
        ),
        after=Words("Clip with both bounds, the ends of the dtype", "给出两个边界的 Clip，缺省的取类型的端点"),
        condition=Words("opset 11 or more", "opset 不低于 11"),
    ),
    example=RuleCase("Clip", (Fed((2, 3)),)),
    near_miss=RuleCase("Clip", (Fed((2, 3)), ConstInput(np.array(1, np.float32)))),
    deviations=(
        "Clip/lower-bound-in-float32",
        "Clip/no-bound",
        "Clip/upper-bound-in-float32",
    ),
)
def clip_both_bounds(site: Site) -> Sequence[str]:
    """Write Clip with the bounds that are absent."""
    require(site.opset >= _CLIP_AS_INPUT, "opset 11 or more", "opset 不低于 11")
    least, most = site.name(1), site.name(2)
    dtype = site.element
    meant_for(not (least and most) and (dtype is DType.INT32 or not (least or most)))
    limits = np.finfo(dtype.numpy) if dtype.is_float else np.iinfo(dtype.numpy)
    least = least or site.const(limits.min, dtype, "least")
    most = most or site.const(limits.max, dtype, "most")
    return [site.op("Clip", [site.name(0), least, most])]
