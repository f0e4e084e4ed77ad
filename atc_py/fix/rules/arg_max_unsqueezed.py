"""Rule arg-max-unsqueezed: the axis that keepdims keeps is inserted by Unsqueeze."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "arg-max-unsqueezed",
    ("ArgMax", "ArgMin"),
    Exactness.EQUAL,
    RuleText(
        before=Words("ArgMax or ArgMin that keeps its axis", "保留轴的 ArgMax、ArgMin"),
        after=Words("the operator with keepdims 0, Unsqueeze", "keepdims 为 0 的该算子，再 Unsqueeze"),
        condition=Words("the rank is known", "秩已知"),
    ),
    example=RuleCase("ArgMax", (Fed((2, 3, 4)),), {"axis": 2}, cann=5),
    near_miss=RuleCase("ArgMax", (Fed((2, 3, 4)),), {"axis": 1}, cann=5),
    deviations=("ArgMax/kept-axis-at-1", "ArgMin/kept-axis-at-1"),
)  # fmt: skip
def arg_max_unsqueezed(site: Site) -> Sequence[str]:
    """Write the positions without their axis, and insert it."""
    meant_for(site.flag("keepdims", default=True))
    axis = site.axis(0, len(site.dims(0)))
    (found,) = site.again([site.name(0)], keepdims=0)
    return [site.unsqueeze(found, [axis])]
