"""Rule arg-max-of-reversed: the last of equal extremes is the first one counted from the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


@fix_rule(
    "arg-max-of-reversed",
    ("ArgMax", "ArgMin"),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "ArgMax or ArgMin with select_last_index 1", "select_last_index 为 1 的 ArgMax、ArgMin"
        ),
        after=Words(
            "Gather of the axis in reverse order, the operator, its distance from the end",
            "沿轴反序 Gather，求位置，再由末尾换算",
        ),
        condition=Words("the dim of the axis is known", "该轴大小已知"),
    ),
    example=RuleCase("ArgMax", (Fed((3, 4)),), {"axis": 1, "select_last_index": 1}),
    near_miss=RuleCase("ArgMax", (Fed((3, 4), DType.INT32),), {"axis": 1}),
)
def arg_max_of_reversed(site: Site) -> Sequence[str]:
    """Write the size less 1 less the position in the reversed axis."""
    require(
        site.integer("select_last_index", 0), "select_last_index is 1", "select_last_index 为 1"
    )
    dims = site.dims(0)
    axis = site.axis(0, len(dims))
    size = dims[axis]
    require(size is not None, "the dim of the axis is known", "该轴大小已知")
    order = site.const(tables.arange(int(size or 0))[::-1], label="reversed")
    x = site.op("Gather", [site.name(0), order], axis=axis)
    (found,) = site.again([x], select_last_index=None)
    count = site.cast(found, DType.INT32)
    last = site.const(int(size or 1) - 1, DType.INT32, "last")
    return [site.cast(site.op("Sub", [last, count]), DType.INT64)]
