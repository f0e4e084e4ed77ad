"""Rule mod-in-int64: remainders of int32 are taken in int64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "mod-in-int64",
    ("Mod",),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "Mod of int32, whose values may be beyond 2^24", "值可能超过 2^24 的 int32 Mod"
        ),
        after=Words("Cast to int64, Mod, Cast to int32", "转为 int64 做 Mod，再转回 int32"),
        condition=Words("A is int32", "A 为 int32"),
    ),
    example=RuleCase(
        "Mod",
        (Fed((3, 4), DType.INT32), ConstInput(np.array([7, 2**25 + 1, 3, 9], np.int32))),
        {"fmod": 1},
        cann=5,
    ),
    near_miss=RuleCase(
        "Mod", (Fed((3, 4), DType.INT64), ConstInput(np.array([7, 2, 3, 9]))), {"fmod": 1}, cann=5
    ),
    deviations=(
        "Mod/dividend-in-float32",
        "Mod/divisor-in-float32",
    ),
)
def mod_in_int64(site: Site) -> Sequence[str]:
    """Write the remainder of wider integers."""
    meant_for(site.element is DType.INT32)
    wide = [site.cast(site.name(at), DType.INT64) for at in (0, 1)]
    return [site.cast(site.again(wide)[0], DType.INT32)]
