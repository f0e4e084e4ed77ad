"""Rule optional-has-as-constant: an optional that the model makes itself has a value, or has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import CaseGraph, Fed, MadeInput, RuleCase
from atc_py.fix.parts.sequences import optional_value
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_MADE = CaseGraph({}, ("p",), (("Optional", ("a",), ("p",), {}),))


@fix_rule(
    "optional-has-as-constant",
    ("OptionalHasElement",),
    Exactness.EQUAL,
    RuleText(
        before=Words("OptionalHasElement", "OptionalHasElement"),
        after=Words("a constant", "常量"),
        condition=Words(
            "a node of the model makes the optional; or it is a tensor or absent",
            "optional 由模型中的节点构造，或输入就是张量，或缺省",
        ),
    ),
    example=RuleCase(
        "OptionalHasElement",
        (MadeInput("o"),),
        opset=15,
        before=CaseGraph({"a": Fed((2,))}, (), (("Optional", ("a",), ("o",), {}),)),
    ),
    near_miss=RuleCase(
        "OptionalHasElement",
        (MadeInput("o"),),
        opset=17,
        before=CaseGraph(
            {"a": Fed((2,)), "c": Fed((), DType.BOOL)},
            (),
            (("If", ("c",), ("o",), {"then_branch": _MADE, "else_branch": _MADE}),),
        ),
    ),
)
def optional_has_as_constant(site: Site) -> Sequence[str]:
    """Write the answer."""
    return [site.const(optional_value(site) != "", DType.BOOL, "has")]
