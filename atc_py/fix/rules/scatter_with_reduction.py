"""Rule scatter-with-reduction: updates are reduced under a mask of the positions that they go to.

Of one row with indices i(k) and updates u(k): y(p) = data(p) + sum over k with i(k) = p of u(k); the
same with products, the largest and the smallest.
"""

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

_MOST_ELEMENTS = 2**24
"""Elements of the mask, which has every update for every position."""

_REDUCTIONS = {
    "add": ("ReduceSum", "Add"), "max": ("ReduceMax", "Max"), "min": ("ReduceMin", "Min"),
    "mul": ("ReduceProd", "Mul"),
}  # fmt: skip
"""By reduction: that of the updates, and the operator that joins them with the data."""


@fix_rule(
    "scatter-with-reduction",
    ("ScatterElements", "ScatterND"),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "ScatterElements or ScatterND with reduction add, mul, max or min",
            "带 add、mul、max 或 min 归约的 ScatterElements、ScatterND",
        ),
        after=Words(
            "Equal of indices and positions, Where, the reduction over all updates, Add, Mul, Max or Min",
            "下标与位置做 Equal，Where，对全部更新归约，再 Add、Mul、Max 或 Min",
        ),
        condition=Words(
            "dims are known; data are floats; updates times positions are at most 2^24",
            "形状已知；数据为浮点；更新数乘以位置数不超过 2^24",
        ),
        float16=Words("sums are taken in float16 where the target does", "目标以 float16 求和"),
    ),
    example=RuleCase(
        "ScatterElements",
        (Fed((3, 4)), ConstInput(np.array([[1, 1, 3]])), Fed((1, 3))),
        {"axis": 1, "reduction": "add"},
        opset=16,
    ),
    near_miss=RuleCase(
        "ScatterElements",
        (Fed((3, 4), DType.FLOAT64), ConstInput(np.array([[1, 1, 3]])), Fed((1, 3), DType.FLOAT64)),
        {"axis": 1, "reduction": "add"},
        opset=16,
    ),
)  # fmt: skip
def scatter_with_reduction(site: Site) -> Sequence[str]:
    """Write the reduction along one axis, or that over whole positions."""
    reduction = site.text("reduction", "none")
    require(reduction in _REDUCTIONS, "there is a reduction", "有归约")
    require(site.element in FLOATS, "data are floats", "数据为浮点")
    if site.node.op_type == "ScatterND":
        return [_scatter_rows(site, reduction)]
    return [_scatter_along(site, reduction)]


def _scatter_along(site: Site, reduction: str) -> str:
    """Write the reduction along an axis; what other axes of the updates leave out stays."""
    dims, shape = site.shape(0), site.shape(1)
    rank = len(dims)
    axis = site.axis(0, rank)
    size, count = dims[axis], shape[axis]
    others = [each for each in range(rank) if each != axis]
    outer = [shape[each] for each in others]
    require(int(np.prod(outer, dtype=np.int64)) * size * count <= _MOST_ELEMENTS, *_TOO_MANY)
    order = [*others, axis]
    data = site.transpose(site.name(0), order)
    part = data
    for place, each in enumerate(others):
        if shape[each] < dims[each]:
            part = site.slice(part, place, 0, shape[each])
    indices, updates = (
        site.transpose(name, order) for name in (_indices(site, size), site.name(2))
    )
    part = _reduced(site, reduction, part, (indices, updates), rank - 1)
    for place in range(rank - 2, -1, -1):
        each = others[place]
        if shape[each] == dims[each]:
            continue
        rest = data
        for before in range(place):
            if shape[others[before]] < dims[others[before]]:
                rest = site.slice(rest, before, 0, shape[others[before]])
        rest = site.slice(rest, place, shape[each], dims[each])
        part = site.op("Concat", [part, rest], axis=place)
    return site.transpose(part, [int(each) for each in np.argsort(order)])


def _reduced(site: Site, reduction: str, data: str, given: tuple[str, str], outer: int) -> str:
    """Write the reduction of rows: data [..., n], indices and updates [..., m]."""
    over, join = _REDUCTIONS[reduction]
    indices, updates = (site.unsqueeze(each, [outer + 1]) for each in given)
    size = _row(site)
    places = site.const(tables.arange(size), DType.INT32, "places")
    mask = site.op("Equal", [indices, places])
    neutral = {"add": 0.0, "mul": 1.0}.get(reduction)
    rest = (
        site.unsqueeze(data, [outer])
        if neutral is None
        else site.const(neutral, site.element, "neutral")
    )
    found = site.reduce(over, site.op("Where", [mask, updates, rest]), [outer], keepdims=False)
    return site.op(join, [data, found])


def _row(site: Site) -> int:
    """Return the number of positions that updates may go to."""
    dims = site.shape(0)
    if site.node.op_type == "ScatterElements":
        return dims[site.axis(0, len(dims))]
    return int(np.prod(dims[: site.shape(1)[-1]], dtype=np.int64))


def _indices(site: Site, size: int) -> str:
    """Write indices in int32, counted from the front."""
    return from_front(site, site.cast(site.name(1), DType.INT32), size, site.range(1))


def _scatter_rows(site: Site, reduction: str) -> str:
    """Write the reduction over whole positions: rows are what the positions do not reach into."""
    dims, shape = site.shape(0), site.shape(1)
    depth = shape[-1]
    require(0 < depth <= len(dims), "positions have 1 to rank parts", "位置的分量数为 1 到秩")
    count = int(np.prod(shape[:-1], dtype=np.int64))
    width = int(np.prod(dims[depth:], dtype=np.int64))
    size = _row(site)
    require(count * size * width <= _MOST_ELEMENTS, *_TOO_MANY)
    whole = site.reshape(site.cast(site.name(1), DType.INT32), [count, depth])
    steps = np.cumprod([1, *dims[depth - 1 : 0 : -1]])[::-1]
    total = ""
    for part in range(depth):
        column = site.slice(whole, 1, part, part + 1)
        place = from_front(site, column, dims[part], site.range(1))
        grown = site.op("Mul", [place, site.const(int(steps[part]), DType.INT32, "step")])
        total = grown if not total else site.op("Add", [total, grown])
    data = site.transpose(site.reshape(site.name(0), [size, width]), [1, 0])
    updates = site.transpose(site.reshape(site.name(2), [count, width]), [1, 0])
    found = _reduced(site, reduction, data, (site.reshape(total, [1, count]), updates), 1)
    return site.reshape(site.transpose(found, [1, 0]), list(dims))


_TOO_MANY = ("updates times positions are at most 2^24", "更新数乘以位置数不超过 2^24")
