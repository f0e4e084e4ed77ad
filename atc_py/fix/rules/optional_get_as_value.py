"""Rule optional-get-as-value: the value of an optional that the model makes itself, taken directly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import CaseGraph, Fed, MadeInput, RuleCase
from atc_py.fix.parts.sequences import optional_value
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_MADE = CaseGraph({}, ("p",), (("Optional", ("a",), ("p",), {}),))


@fix_rule(
    "optional-get-as-value",
    ("OptionalGetElement",),
    Exactness.EQUAL,
    RuleText(
        before=Words("OptionalGetElement", "OptionalGetElement"),
        after=Words("the value", "其值"),
        condition=Words(
            "a node of the model makes the optional, and it has a value; or it is a tensor",
            "optional 由模型中的节点构造且有值，或输入就是张量",
        ),
    ),
    example=RuleCase(
        "OptionalGetElement",
        (MadeInput("o"),),
        opset=15,
        before=CaseGraph({"a": Fed((2,))}, (), (("Optional", ("a",), ("o",), {}),)),
    ),
    near_miss=RuleCase(
        "OptionalGetElement",
        (MadeInput("o"),),
        opset=17,
        before=CaseGraph(
            {"a": Fed((2,)), "c": Fed((), DType.BOOL)},
            (),
            (("If", ("c",), ("o",), {"then_branch": _MADE, "else_branch": _MADE}),),
        ),
    ),
)
def optional_get_as_value(site: Site) -> Sequence[str]:
    """Return the value."""
    value = optional_value(site)
    require(value, "the optional has a value", "optional 有值")
    return [value]
