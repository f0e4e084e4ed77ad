"""Rule reverse-sequence-carried: bools and small integers in a float that holds them exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.narrow import EXACT_FLOAT, require_range
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "reverse-sequence-carried",
    ("ReverseSequence",),
    Exactness.EQUAL,
    RuleText(
        before=Words("ReverseSequence of bools or integers", "bool 或整数的 ReverseSequence"),
        after=Words(
            "Cast to float32, ReverseSequence, Cast back", "转为 float32，ReverseSequence，再转回"
        ),
        condition=Words("values are at most 2^24 in magnitude", "数值的绝对值不超过 2^24"),
    ),
    example=RuleCase(
        "ReverseSequence", (Fed((4, 3), DType.BOOL), ConstInput(np.array([2, 4, 1]))), opset=10
    ),
    near_miss=RuleCase(
        "ReverseSequence", (Fed((4, 3), DType.INT64), ConstInput(np.array([2, 4, 1]))), opset=10
    ),
)
def reverse_sequence_carried(site: Site) -> Sequence[str]:
    """Write the reversal of the same numbers in float32."""
    meant_for(not site.element.is_float)
    require_range(site, 0, EXACT_FLOAT)
    (y,) = site.again([site.cast(site.name(0), DType.FLOAT32), site.name(1)])
    return [site.cast(y, site.element)]
