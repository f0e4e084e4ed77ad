"""Rule reduction-of-all-axes: axes that are absent or empty are stated, every one."""

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

_OPERATORS = ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum")
_KINDS = ("absent-axes", "empty-axes", "no-axes")


@fix_rule(
    "reduction-of-all-axes",
    _OPERATORS,
    Exactness.REORDERED,
    RuleText(
        before=Words("a reduction without axes", "未给出轴的归约"),
        after=Words("the reduction over every axis by its number", "逐一给出所有轴的归约"),
        condition=Words("the rank is known; noop_with_empty_axes is 0", "秩已知；noop_with_empty_axes 为 0"),
    ),
    example=RuleCase("ReduceMax", (Fed((2, 3, 4)),), operator_list="cann-9.0"),
    near_miss=RuleCase("ReduceMax", (Fed((2, 3, 4)),), {"axes": [0, 1, 2]}, operator_list="cann-9.0"),
    deviations=tuple(
        f"{operator}/{kind}"
        for operator in _OPERATORS
        for kind in (_KINDS if operator != "ReduceMean" else _KINDS[2:])
    ),
)  # fmt: skip
def reduction_of_all_axes(site: Site) -> Sequence[str]:
    """Write the reduction with its axes."""
    given = site.tensor(1)
    empty = given is None or (given.const is not None and not site.constant(1).size)
    meant_for(empty and not site.integers("axes") and not site.integer("noop_with_empty_axes", 0))
    axes = list(range(len(site.dims(0))))
    keepdims = bool(site.integer("keepdims", 1))
    return [site.reduce(site.node.op_type, site.name(0), axes, keepdims=keepdims)]
