"""Rule max-pool-indices: positions of largest values, by ArgMax over the elements of each window.

The first of equal values counts, in the order of the window; a window of negative infinities alone has no
position that ONNX defines. A tap outside X counts as the nearest one of
its window inside, whose position stands at both places.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.pools import pool_axes, take
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from atc_py.fix.parts.pools import PoolAxis
    from atc_py.fix.site import Site

__all__: list[str] = []

_MOST = 2**24
"""Elements of the table of positions at most."""


@fix_rule(
    "max-pool-indices",
    ("MaxPool",),
    Exactness.BOUNDED,
    RuleText(
        before=Words("MaxPool whose Indices are used", "使用 Indices 的 MaxPool"),
        after=Words(
            "MaxPool; Gather of each window's elements, ArgMax, Gather of their positions, Add",
            "MaxPool；Gather 取出每个窗口的元素、ArgMax、Gather 得到位置、Add",
        ),
        condition=Words(
            "dims are known; each window meets X; all windows have at most 2^24 taps",
            "形状已知；每个窗口都与 X 重叠；全部窗口的抽头不超过 2^24",
        ),
        float16=Words(
            "values that float16 makes equal have the position of the first",
            "在 float16 中相等的值取第一个的位置",
        ),
    ),
    example=RuleCase(
        "MaxPool",
        (Fed((2, 3, 6, 7)),),
        {"kernel_shape": [2, 3], "strides": [2, 2], "pads": [0, 1, 0, 1]},
        opset=12,
        outputs=2,
    ),
    bound=0.0,  # bit-equal, but for windows of negative infinities: their position is not defined
    near_miss=RuleCase(
        "MaxPool", (Fed((1, 2, 9, 8)),), {"kernel_shape": [3, 2], "dilations": [2, 3]}, opset=12
    ),
)
def max_pool_indices(site: Site) -> Sequence[str]:
    """Write the largest values and their positions."""
    require(site.output(1) is not None, "Indices are used", "使用 Indices")
    x, axes = site.shape(0), pool_axes(site)
    counts, taps = ([getattr(each, name) for each in axes] for name in ("count", "clamped"))
    window = prod(each.axis.taps for each in axes)
    require(prod(counts) * window <= _MOST, "the table is below 2^24", "位置表小于 2^24")
    (largest,) = site.again([site.name(0)], storage_order=None)
    parts = site.name(0)
    for at, (each, positions) in enumerate(zip(axes, taps, strict=True), 2):
        parts = take(site, parts, at, positions.reshape(-1), each.axis.size)
    rank = len(axes)
    split = [part for each in axes for part in (each.count, each.axis.taps)]
    parts = site.reshape(parts, [x[0] * x[1], *split])
    order = [0, *range(1, 2 * rank, 2), *range(2, 2 * rank + 1, 2)]
    parts = site.reshape(site.transpose(parts, order), [x[0], x[1], prod(counts), window])
    if site.element not in FLOATS:
        parts = site.cast(parts, DType.FLOAT32)
    tap = site.op("ArgMax", [parts], axis=3, keepdims=0)
    first = site.const(tables.arange(prod(counts)) * window, label="first")
    table = site.const(_table(site, axes).reshape(-1), label="table")
    found = site.op("Gather", [table, site.op("Add", [tap, first])], axis=0)
    if x[0] * x[1] > 1:
        base = tables.arange(x[0] * x[1]).reshape(x[0], x[1], 1) * prod(x[2:])
        found = site.op("Add", [found, site.const(base, label="base")])
    return [largest, site.reshape(found, [x[0], x[1], *counts])]


def _table(site: Site, axes: Sequence[PoolAxis]) -> NDArray[np.int64]:
    """Return the position in its channel of each tap of each window."""
    sizes = [each.axis.size for each in axes]
    columns = site.integer("storage_order", 0)
    rank = len(axes)
    table = tables.zeros((1,) * (2 * rank), np.int64)
    for at, each in enumerate(axes):
        step = prod(sizes[:at]) if columns else prod(sizes[at + 1 :])
        dims = [1] * (2 * rank)
        dims[at], dims[rank + at] = each.count, each.axis.taps
        table = table + each.clamped.reshape(dims) * step
    return np.asarray(table)
