"""Rule top-k-of-integers: integers that float32 holds exactly have the same order there."""

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
    "top-k-of-integers",
    ("TopK",),
    Exactness.EQUAL,
    RuleText(
        before=Words("TopK of integers", "整数的 TopK"),
        after=Words("Cast to float32, TopK, Cast back", "转为 float32，TopK，再转回"),
        condition=Words("values are at most 2^24 in magnitude", "数值的绝对值不超过 2^24"),
        float16=Words(
            "float16 holds integers to 2048 exactly", "float16 只能精确表示不超过 2048 的整数"
        ),
    ),
    example=RuleCase(
        "TopK",
        (Fed((3, 5), DType.INT64, (0, 1000)), ConstInput(np.array([2]))),
        {"axis": 1},
        opset=11,
        outputs=2,
    ),
    near_miss=RuleCase(
        "TopK",
        (Fed((3, 5), DType.INT64), ConstInput(np.array([2]))),
        {"axis": 1},
        opset=11,
        outputs=2,
    ),
)
def top_k_of_integers(site: Site) -> Sequence[str]:
    """Write TopK of the same numbers in float32."""
    meant_for(not site.element.is_float)
    require_range(site, 0, EXACT_FLOAT)
    values, places = site.again([site.cast(site.name(0), DType.FLOAT32), site.name(1)], 2)
    return [site.cast(values, site.element), places]
