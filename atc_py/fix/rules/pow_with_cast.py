"""Rule pow-with-cast: the exponent in the dtype of the base."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "pow-with-cast",
    ("Pow",),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "Pow of a float with an exponent of another dtype", "指数与底数类型不同的 Pow"
        ),
        after=Words("Cast of the exponent, Pow", "转换指数类型，再 Pow"),
        condition=Words(
            "the base is a float; constant exponents are exact in its dtype",
            "底数为浮点；常量指数可精确表示",
        ),
    ),
    example=RuleCase("Pow", (Fed((2, 3)), ConstInput(np.array([2, 3, 1])))),
    near_miss=RuleCase("Pow", (Fed((2, 3), DType.INT32), Fed((3,)))),
)
def pow_with_cast(site: Site) -> Sequence[str]:
    """Write Pow with both operands of one dtype."""
    require(site.element.is_float, "the base is a float", "底数为浮点")
    exponent = site.input(1)
    require(exponent.dtype is not site.element, "the dtypes differ", "两者类型不同")
    if exponent.const is not None:
        value = exponent.const.numpy()
        exact = (value.astype(site.element.numpy).astype(value.dtype) == value).all()
        require(exact, "the exponent is exact in the dtype of the base", "指数可用底数类型精确表示")
    else:
        found = site.range(1)
        fits = found is not None and max(-found.low, found.high) <= 2**11
        require(fits, "the exponent is at most 2048 in magnitude", "指数的绝对值不超过 2048")
    return [site.op("Pow", [site.name(0), site.cast(exponent.name, site.element)])]
