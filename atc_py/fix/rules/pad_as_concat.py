"""Rule pad-as-concat: constant pads are constants before and after; negative ones are cut off first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.padding import LISTED, pads_of
from atc_py.fix.parts.pools import take
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.parts.padding import Pads
    from atc_py.fix.site import Site

__all__: list[str] = []

_MOST = 2**22
"""Elements of a constant that is written beside the data; larger ones are a tiled number."""


@fix_rule(
    "pad-as-concat",
    ("Pad",),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "Pad with another constant than 0, with negative pads, or of a dtype that is not listed",
            "填充值非 0、填充数为负或类型不在清单中的 Pad",
        ),
        after=Words(
            "Slice where pads are negative; Pad with 0, or Concat with constants along each axis",
            "填充为负处 Slice；填 0 用 Pad，否则沿各轴与常量 Concat",
        ),
        condition=Words(
            "mode constant; pads and axes are constant; dims are known",
            "模式为 constant；pads、axes 为常量；形状已知",
        ),
    ),
    example=RuleCase(
        "Pad",
        (
            Fed((2, 3, 4)),
            ConstInput(np.array([0, 1, -1, 0, 0, 2])),
            ConstInput(np.array(3, np.float32)),
        ),
    ),
    near_miss=RuleCase(
        "Pad", (Fed((2, 3)), ConstInput(np.array([0, 1, 0, 1]))), {"mode": "wrap"}, opset=19
    ),
)
def pad_as_concat(site: Site) -> Sequence[str]:
    """Write the constants around the data."""
    dims, found = list(site.shape(0)), pads_of(site)
    require(found.mode == "constant", "mode is constant", "模式为 constant")
    zeros = found.is_zero and site.element in LISTED
    cut = min((*found.begins, *found.ends)) < 0
    require(cut or not zeros, "the pads are not those of a listed form", "填充不是清单中的形式")
    y = site.name(0)
    for axis, size in enumerate(dims):
        first, last = max(-found.begins[axis], 0), size + min(found.ends[axis], 0)
        require(first < last, "elements of X are left", "X 有元素保留")
        y = take(site, y, axis, range(first, last), size)
        dims[axis] = last - first
    begins, ends = ([max(each, 0) for each in pads] for pads in (found.begins, found.ends))
    if zeros:
        y = site.pad(y, [*begins, *ends])
        return [site.op("Identity", [y]) if y == site.name(0) else y]
    for axis in range(len(dims)):
        parts = [_constants(site, dims, axis, begins[axis], found), y]
        parts.append(_constants(site, dims, axis, ends[axis], found))
        there = [each for each in parts if each]
        if len(there) > 1:
            y = site.op("Concat", there, axis=axis)
        dims[axis] += begins[axis] + ends[axis]
    return [site.op("Identity", [y]) if y == site.name(0) else y]


def _constants(site: Site, dims: Sequence[int], axis: int, count: int, pads: Pads) -> str:
    """Write `count` elements of an axis in the value of the pads; "" for none."""
    if not count:
        return ""
    shape = [*dims[:axis], count, *dims[axis + 1 :]]
    if pads.value is not None and np.prod(shape) <= _MOST:
        return site.const(tables.full(shape, pads.value), site.element, "pads")
    if pads.value is not None:
        one = site.const(tables.full([1] * len(shape), pads.value), site.element, "value")
    else:
        one = site.reshape(site.name(2), [1] * len(shape))
    return site.op("Tile", [one, site.const(shape, label="repeats")])
