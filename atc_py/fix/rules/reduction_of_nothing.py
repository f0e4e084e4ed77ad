"""Rule reduction-of-nothing: a reduction without axes that is stated to reduce none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "reduction-of-nothing",
    ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "a reduction without axes with noop_with_empty_axes 1",
            "noop_with_empty_axes 为 1 且无轴的归约",
        ),
        after=Words("its input", "其输入"),
        condition=Words("axes are absent or empty", "axes 不存在或为空"),
    ),
    example=RuleCase("ReduceMean", (Fed((2, 3)),), {"noop_with_empty_axes": 1}, opset=18),
    near_miss=RuleCase("ReduceMean", (Fed((2, 3)),), {"noop_with_empty_axes": 0}, opset=18),
)
def reduction_of_nothing(site: Site) -> Sequence[str]:
    """Return the input."""
    require(site.integer("noop_with_empty_axes", 0) == 1, "no axis is reduced", "不归约任何轴")
    require(site.tensor(1) is None or not site.constant(1).size, "axes are empty", "axes 为空")
    return [site.op("Identity", [site.name(0)])]
