"""Rule sequence-length-as-constant: the number of tensors in a sequence that the model makes itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import CaseGraph, Fed, MadeInput, RuleCase
from atc_py.fix.parts.sequences import elements_of
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "sequence-length-as-constant",
    ("SequenceLength",),
    Exactness.EQUAL,
    RuleText(
        before=Words("SequenceLength", "SequenceLength"),
        after=Words("a constant", "常量"),
        condition=Words(
            "nodes of the model make the sequence and change it at constant places",
            "序列由模型中的节点在常量位置构造和修改",
        ),
    ),
    example=RuleCase(
        "SequenceLength",
        (MadeInput("s"),),
        before=CaseGraph({"a": Fed((5, 2))}, (), (("SplitToSequence", ("a",), ("s",), {}),)),
    ),
    near_miss=RuleCase(
        "SequenceLength",
        (MadeInput("s"),),
        before=CaseGraph(
            {"a": Fed((5, 2)), "n": Fed((), DType.INT64, (1, 5))},
            (),
            (("SplitToSequence", ("a", "n"), ("s",), {}),),
        ),
    ),
)
def sequence_length_as_constant(site: Site) -> Sequence[str]:
    """Write the number."""
    return [site.const(len(elements_of(site, site.name(0))), label="length")]
