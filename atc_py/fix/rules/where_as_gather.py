"""Rule where-as-gather: a choice between elements of a dtype that Where does not take.

The choice is made between places: those of the elements of X and of Y in the row of both, which are
constant. Of bool it is (condition and X) or (not condition and Y).
"""

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

_INTEGERS = frozenset({DType.INT16, DType.INT64, DType.UINT16, DType.UINT32, DType.UINT64})
_MOST_ELEMENTS = 2**24
"""Elements of the result at most: two constants have as many."""


@fix_rule(
    "where-as-gather",
    ("Where",),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "Where of bool, int64, int16 or unsigned integers",
            "bool、int64、int16 或无符号整数的 Where",
        ),
        after=Words(
            "And, Not and Or for bool; for integers Where of int32 places, Concat, Gather",
            "bool 用 And、Not、Or；整数对 int32 位置取 Where，再 Concat、Gather",
        ),
        condition=Words(
            f"for integers: dims are known; at most {_MOST_ELEMENTS} elements",
            f"整数要求形状已知，元素不超过 {_MOST_ELEMENTS} 个",
        ),
    ),
    example=RuleCase(
        "Where", (Fed((2, 3), DType.BOOL), Fed((3,), DType.INT64), Fed((2, 1), DType.INT64))
    ),
    near_miss=RuleCase(
        "Where", (Fed((2, 3), DType.BOOL), Fed((3,), DType.FLOAT64), Fed((2, 1), DType.FLOAT64))
    ),
)
def where_as_gather(site: Site) -> Sequence[str]:
    """Write the choice."""
    dtype = site.input(1).dtype
    condition, x, y = (site.name(position) for position in range(3))
    if dtype is DType.BOOL:
        first = site.op("And", [condition, x])
        second = site.op("And", [site.op("Not", [condition]), y])
        return [site.op("Or", [first, second])]
    require(dtype in _INTEGERS, "the dtype is bool or an integer", "类型为 bool 或整数")
    shapes = [site.shape(position) for position in range(3)]
    dims = np.broadcast_shapes(*shapes)
    sizes = [int(np.prod(each, dtype=np.int64)) for each in (shapes[1], dims)]
    require(0 < sizes[1] <= _MOST_ELEMENTS, "the result is small enough", "结果不太大")
    starts = (0, sizes[0])
    places = [
        np.broadcast_to(tables.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape), dims)
        + start
        for start, shape in zip(starts, shapes[1:], strict=True)
    ]
    chosen = site.op("Where", [condition, *(site.const(each, DType.INT32) for each in places)])
    row = site.op("Concat", [site.reshape(each, [-1]) for each in (x, y)], axis=0)
    return [site.op("Gather", [row, chosen], axis=0)]
