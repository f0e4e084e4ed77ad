"""Rule split-by-sizes: the sizes of parts of unequal length are stated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for, require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "split-by-sizes",
    ("Split",),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "Split with num_outputs, into parts of unequal length",
            "以 num_outputs 切成不等长部分的 Split",
        ),
        after=Words("Split with the size of each part", "给出各部分大小的 Split"),
        condition=Words("the dim along axis is known", "axis 所指的维已知"),
    ),
    example=RuleCase(
        "Split", (Fed((5, 4)),), {"axis": 0, "num_outputs": 2}, 18, 2, operator_list="cann-9.0"
    ),
    near_miss=RuleCase(
        "Split", (Fed((4, 4)),), {"axis": 0, "num_outputs": 2}, 18, 2, operator_list="cann-9.0"
    ),
    deviations=("Split/uneven-parts",),
)
def split_by_sizes(site: Site) -> Sequence[str]:
    """Write the parts, of which the last one is shorter."""
    meant_for(site.tensor(1) is None)
    dims, count = site.dims(0), len(site.node.outputs)
    size = dims[site.axis(0, len(dims))]
    require(size is not None, "the dim along axis is known", "axis 所指的维已知")
    each = -(-int(size or 0) // count)
    sizes = [each] * (count - 1)
    sizes.append(int(size or 0) - sum(sizes))
    split = site.const(sizes, label="split")
    return site.again([site.name(0), split], count, num_outputs=None)
