"""Rule concat-from-sequence-as-concat: the tensors of a sequence that the model makes itself, joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import CaseGraph, Fed, MadeInput, RuleCase
from atc_py.fix.parts.sequences import elements_of
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_PLACED = (
    ("SequenceConstruct", ("a", "b"), ("s",), {}),
    ("SequenceInsert", ("s", "b", "n"), ("t",), {}),
)


@fix_rule(
    "concat-from-sequence-as-concat",
    ("ConcatFromSequence",),
    Exactness.EQUAL,
    RuleText(
        before=Words("ConcatFromSequence", "ConcatFromSequence"),
        after=Words("Concat; Unsqueeze before it for a new axis", "Concat；新轴先 Unsqueeze"),
        condition=Words(
            "nodes of the model make the sequence and change it at constant places; it is not empty",
            "序列由模型中的节点在常量位置构造和修改，且非空",
        ),
    ),
    example=RuleCase(
        "ConcatFromSequence",
        (MadeInput("s"),),
        {"axis": -1, "new_axis": 1},
        before=CaseGraph({"a": Fed((2,)), "b": Fed((2,))}, (), _PLACED[:1]),
    ),
    near_miss=RuleCase(
        "ConcatFromSequence",
        (MadeInput("t"),),
        {"axis": 0},
        before=CaseGraph(
            {"a": Fed((2,)), "b": Fed((2,)), "n": Fed((), DType.INT64, (0, 2))}, (), _PLACED
        ),
    ),
)
def concat_from_sequence_as_concat(site: Site) -> Sequence[str]:
    """Write the join."""
    elements = elements_of(site, site.name(0))
    require(elements, "the sequence is not empty", "序列非空")
    axis = site.integer("axis", 0)
    parts = [write() for write in elements]
    if site.integer("new_axis", 0):
        parts = [site.unsqueeze(each, [axis]) for each in parts]
    return [parts[0] if len(parts) == 1 else site.op("Concat", parts, axis=axis)]
