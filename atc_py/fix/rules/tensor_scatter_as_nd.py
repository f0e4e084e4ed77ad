"""Rule tensor-scatter-as-nd: rows of a cache are replaced from a position on that each batch has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "tensor-scatter-as-nd",
    ("TensorScatter",),
    Exactness.EQUAL,
    RuleText(
        before=Words("TensorScatter", "TensorScatter"),
        after=Words(
            "positions by Add (and Mod if circular), Transpose, ScatterND",
            "以 Add（circular 时再取 Mod）得到位置，Transpose，ScatterND",
        ),
        condition=Words("dims are known; data are floats", "形状已知；数据为浮点"),
    ),
    example=RuleCase(
        "TensorScatter",
        (Fed((2, 3, 5, 4)), Fed((2, 3, 2, 4)), Fed((2,), DType.INT64, (0, 3))),
        opset=24,
    ),
    near_miss=RuleCase(
        "TensorScatter",
        (Fed((2, 5, 4), DType.FLOAT64), Fed((2, 2, 4), DType.FLOAT64)),
        opset=24,
    ),
)
def tensor_scatter_as_nd(site: Site) -> Sequence[str]:
    """Write ScatterND on the tensor with the axis after the batch."""
    require(site.element in FLOATS, "data are floats", "数据为浮点")
    dims, new = site.shape(0), site.shape(1)
    axis = site.axis(-2, len(dims))
    require(axis > 0, "the axis is not that of the batch", "该轴不是批次轴")
    batch, count, size = new[0], new[axis], dims[axis]
    steps = site.const(tables.arange(count)[None], DType.INT32, "steps")
    places = site.const(tables.zeros((batch, count)), DType.INT32, "start")
    places = site.op("Add", [places, steps])
    if site.tensor(2) is not None:
        start = site.unsqueeze(site.cast(site.name(2), DType.INT32), [1])
        places = site.op("Add", [start, places])
    if site.text("mode", "linear") == "circular":
        places = site.op("Mod", [places, site.const(size, DType.INT32, "size")])
    places = site.unsqueeze(site.cast(places, DType.INT64), [2])
    rows = site.const(tables.repeat(tables.arange(batch)[:, None, None], count, 1), label="rows")
    whole = site.op("Concat", [rows, places], axis=2)
    order = [0, axis, *(each for each in range(1, len(dims)) if each != axis)]
    given = [site.transpose(site.name(at), order) for at in (0, 1)]
    y = site.op("ScatterND", [given[0], whole, given[1]])
    return [site.transpose(y, [int(each) for each in np.argsort(order)])]
