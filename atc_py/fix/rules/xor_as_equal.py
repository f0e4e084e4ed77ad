"""Rule xor-as-equal: one of two, not both: they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import meant_for
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "xor-as-equal",
    ("Xor",),
    Exactness.EQUAL,
    RuleText(
        before=Words("Xor", "Xor"),
        after=Words("Equal, Not", "Equal，再取 Not"),
        condition=Words("none", "无"),
    ),
    example=RuleCase("Xor", (Fed((2, 3), DType.BOOL), Fed((3,), DType.BOOL))),
    near_miss=None,
)
def xor_as_equal(site: Site) -> Sequence[str]:
    """Write the negation of A == B."""
    meant_for(site.element is DType.BOOL)
    return [site.op("Not", [site.op("Equal", [site.name(0), site.name(1)])])]
