"""Rule gather-from-start: constant indices are counted from the first element."""

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
    "gather-from-start",
    (
        "Gather",
        "GatherND",
    ),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "Gather or GatherND with negative constant indices", "带负常量下标的 Gather、GatherND"
        ),
        after=Words("the operator with indices of 0 or more", "下标不小于 0 的该算子"),
        condition=Words(
            "indices are constant; dims along them are known", "indices 为常量；所选轴的大小已知"
        ),
    ),
    example=RuleCase("GatherND", (Fed((3, 4)), ConstInput(np.array([[-1, 0], [1, -2]])))),
    near_miss=RuleCase("GatherND", (Fed((3, 4)), ConstInput(np.array([[1, 0]])))),
    deviations=(
        "Gather/negative-indices",
        "GatherND/negative-indices",
    ),
)
def gather_from_start(site: Site) -> Sequence[str]:
    """Write the operator with other indices."""
    indices, dims = site.constant(1), site.dims(0)
    if site.node.op_type == "Gather":
        sizes = [dims[site.axis(0, len(dims))]]
    else:
        first = site.integer("batch_dims", 0)
        sizes = list(dims[first : first + indices.shape[-1]])
    require(None not in sizes, "dims along indices are known", "所选轴的大小已知")
    found = np.where(indices < 0, indices + np.array(sizes, indices.dtype), indices)
    dtype = DType.INT32 if indices.dtype == np.int32 else DType.INT64
    return site.again([site.name(0), site.const(found, dtype, "indices")])
