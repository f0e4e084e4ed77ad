"""Rule eye-like-as-constant: ones on a diagonal of a matrix whose dims are known, written as a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_MOST_ELEMENTS = 2**24
"""Elements of the constant at most."""


@fix_rule(
    "eye-like-as-constant",
    ("EyeLike",),
    Exactness.EQUAL,
    RuleText(
        before=Words("EyeLike", "EyeLike"),
        after=Words("a constant", "常量"),
        condition=Words(
            f"the dims are known; at most {_MOST_ELEMENTS} elements",
            f"形状已知，元素不超过 {_MOST_ELEMENTS} 个",
        ),
    ),
    example=RuleCase("EyeLike", (Fed((2, 3)),), {"k": 1}),
    near_miss=RuleCase("EyeLike", (Fed((4097, 4097)),)),
    deviations=("EyeLike/float32-without-dtype", "EyeLike/diagonal-of-rows"),
    lists=True,
)
def eye_like_as_constant(site: Site) -> Sequence[str]:
    """Write the constant."""
    rows, columns = site.shape(0)
    require(rows * columns <= _MOST_ELEMENTS, "the constant is small enough", "常量不太大")
    result = site.output(0)
    dtype = None if result is None else result.dtype
    require(dtype is not None, "the dtype is known", "数据类型已知")
    ones = tables.eye(rows, columns, site.integer("k", 0), np.int8)
    return [site.const(ones, dtype or DType.FLOAT32, "eye")]
