"""Rule one-hot-as-equal: a mark is where the index, counted from either end, is the position."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_EQUAL = frozenset({DType.INT32, DType.INT64, DType.FLOAT32})


@fix_rule(
    "one-hot-as-equal",
    ("OneHot",),
    Exactness.EQUAL,
    RuleText(
        before=Words("OneHot whose indices may be out of range", "索引可能越界的 OneHot"),
        after=Words(
            "Equal with the positions, and with those counted from the end, Or, Where",
            "与各位置及由末尾计数的位置做 Equal，再 Or、Where",
        ),
        condition=Words(
            "depth is constant; the rank of indices is known; indices are int32, int64 or float32",
            "depth 为常量；indices 的秩已知且类型为 int32、int64 或 float32",
        ),
    ),
    example=RuleCase(
        "OneHot",
        (
            Fed((3,), DType.INT64, (-9, 9)),
            ConstInput(np.array(4)),
            ConstInput(np.array([0.5, 2], np.float32)),
        ),
    ),
    near_miss=RuleCase(
        "OneHot", (ConstInput(np.array([0, -1])), ConstInput(np.array(4)), Fed((2,)))
    ),
    deviations=("OneHot/indices-wrap",),
)
def one_hot_as_equal(site: Site) -> Sequence[str]:
    """Write the values at the positions that are marked."""
    require(site.element in _EQUAL, "Equal has the dtype of indices", "Equal 支持 indices 的类型")
    depth = int(site.constant(1).reshape(-1)[0])
    rank = len(site.dims(0)) + 1
    axis = site.axis(-1, rank)
    places = tables.arange(depth).reshape([-1 if each == axis else 1 for each in range(rank)])
    index = site.unsqueeze(site.name(0), [axis])
    marks = [
        site.op("Equal", [index, site.const(each, site.element, "places")])
        for each in (places, places - depth)
    ]
    off, on = (site.reshape(site.slice(site.name(2), 0, at, at + 1), []) for at in (0, 1))
    return [site.op("Where", [site.op("Or", marks), on, off])]
