"""Rule gather-nd-with-batches: the positions of batch axes are written before those that are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for, require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "gather-nd-with-batches",
    ("GatherND",),
    Exactness.EQUAL,
    RuleText(
        before=Words("GatherND with batch_dims", "带 batch_dims 的 GatherND"),
        after=Words("Concat of constant positions and indices, GatherND", "常量位置与下标 Concat，再 GatherND"),
        condition=Words("the dims of indices are known", "indices 的形状已知"),
    ),
    example=RuleCase(
        "GatherND", (Fed((2, 3, 4)), ConstInput(np.array([[[1]], [[0]]]))), {"batch_dims": 1},
        operator_list="cann-9.0",
    ),
    near_miss=RuleCase(
        "GatherND", (Fed((2, 3, 4)), ConstInput(np.array([[1]]))), operator_list="cann-9.0"
    ),
    deviations=("GatherND/batch-dims-ignored", "GatherND/batch-dims-refused"),
    lists=True,
)  # fmt: skip
def gather_nd_with_batches(site: Site) -> Sequence[str]:
    """Write GatherND of whole positions."""
    batches = site.integer("batch_dims", 0)
    meant_for(batches)
    dims = site.shape(1)
    require(batches < len(dims), "batch_dims is below the rank", "batch_dims 小于秩")
    grid = np.moveaxis(tables.indices(dims[:-1])[:batches], 0, -1)
    whole = site.op("Concat", [site.const(grid, label="batches"), site.name(1)], axis=len(dims) - 1)
    return site.again([site.name(0), whole], batch_dims=None)
