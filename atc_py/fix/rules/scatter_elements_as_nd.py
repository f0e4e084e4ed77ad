"""Rule scatter-elements-as-nd: elements scattered along an axis, as ScatterND with whole positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.positions import from_front
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


_EXACT_FLOAT = 2**24
"""Integers up to this magnitude are exact in float32."""


@fix_rule(
    "scatter-elements-as-nd",
    ("Scatter", "ScatterElements"),
    Exactness.EQUAL,
    RuleText(
        before=Words("ScatterElements without a reduction", "无归约的 ScatterElements"),
        after=Words(
            "positions of every element by Concat with constants, ScatterND",
            "与常量 Concat 得到每个元素的完整位置，再 ScatterND",
        ),
        condition=Words(
            "dims of indices are known; indices have no negative value; integers are below 2^24",
            "indices 的形状已知且无负值；整数小于 2^24",
        ),
        float16=Words(
            "integers above 2048 are carried as float32 at least",
            "大于 2048 的整数至少以 float32 传递",
        ),
    ),
    example=RuleCase(
        "ScatterElements",
        (Fed((3, 4)), ConstInput(np.array([[1, 0, 2, 3]])), Fed((1, 4))),
        {"axis": 1},
    ),
    near_miss=RuleCase(
        "ScatterElements",
        (Fed((3, 4)), Fed((1, 4), DType.INT64, (0, 3)), Fed((1, 4))),
        {"axis": 1, "reduction": "add"},
        opset=16,
    ),
)
def scatter_elements_as_nd(site: Site) -> Sequence[str]:
    """Write ScatterND with one position for each element of indices."""
    require(site.text("reduction", "none") == "none", "no reduction", "无归约")
    dims, shape = site.dims(0), site.shape(1)
    rank = len(dims)
    axis = site.axis(0, rank)
    found = site.range(1)
    indices = site.name(1)
    if site.tensor(1) is not None and site.input(1).dtype is not DType.INT64:
        indices = site.cast(indices, DType.INT64)
    if found is None or found.low < 0:
        size = dims[axis]
        require(size is not None, "the axis has a known dim", "轴的大小已知")
        small = site.cast(indices, DType.INT32)
        indices = site.cast(from_front(site, small, int(size or 0), found), DType.INT64)
    grid = tables.indices(shape)
    column = site.unsqueeze(indices, [rank])
    columns = [
        column if each == axis else site.const(grid[each][..., None], label="grid")
        for each in range(rank)
    ]
    whole = column if rank == 1 else site.op("Concat", columns, axis=rank)
    if site.element in FLOATS:
        return [site.op("ScatterND", [site.name(0), whole, site.name(2)])]
    for position in (0, 2):
        bounds = site.range(position)
        fits = bounds is not None and max(-bounds.low, bounds.high) <= _EXACT_FLOAT
        require(fits, "integers are below 2^24", "整数小于 2^24")
    given, updates = (site.cast(site.name(each), DType.FLOAT32) for each in (0, 2))
    return [site.cast(site.op("ScatterND", [given, whole, updates]), site.element)]
