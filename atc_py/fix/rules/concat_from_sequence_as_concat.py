"""Rule concat-from-sequence-as-concat: the tensors of a sequence that the model makes itself, joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import CaseGraph, Fed, MadeInput, RuleCase
from atc_py.fix.parts.sequences import elements_of, split_tensor
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_PAIR = {"a": Fed((2,)), "b": Fed((2,))}
_MAKE = ("SequenceConstruct", ("a", "b"), ("s",), dict[str, int]())
_PLACE = ("SequenceInsert", ("s", "b", "n"), ("t",), dict[str, int]())


@fix_rule(
    "concat-from-sequence-as-concat",
    ("ConcatFromSequence",),
    Exactness.EQUAL,
    RuleText(
        before=Words("ConcatFromSequence", "ConcatFromSequence"),
        after=Words(
            "Concat, for a new axis after Unsqueeze; Transpose of a tensor that was split whole",
            "Concat，新轴先 Unsqueeze；整体拆分的张量用 Transpose",
        ),
        condition=Words(
            "nodes of the model make the sequence and change it at constant places; it is not empty",
            "序列由模型中的节点在常量位置构造和修改，且非空",
        ),
    ),
    example=RuleCase(
        "ConcatFromSequence",
        (MadeInput("s"),),
        {"axis": -1, "new_axis": 1},
        before=CaseGraph(_PAIR, (), (_MAKE,)),
    ),
    near_miss=RuleCase(
        "ConcatFromSequence",
        (MadeInput("t"),),
        {"axis": 0},
        before=CaseGraph({**_PAIR, "n": Fed((), DType.INT64, (0, 2))}, (), (_MAKE, _PLACE)),
    ),
)
def concat_from_sequence_as_concat(site: Site) -> Sequence[str]:
    """Write the join."""
    elements = elements_of(site, site.name(0))
    require(elements, "the sequence is not empty", "序列非空")
    axis, new = site.integer("axis", 0), site.integer("new_axis", 0)
    whole = split_tensor(site, site.name(0))
    if whole is not None and bool(new) == whole.without:
        order = [each for each in range(whole.rank) if each != whole.axis]
        order.insert(axis % whole.rank, whole.axis)
        if new or order == sorted(order):
            return [site.transpose(whole.name, order)]
    parts = [write() for write in elements]
    if new:
        parts = [site.unsqueeze(each, [axis]) for each in parts]
    return [parts[0] if len(parts) == 1 else site.op("Concat", parts, axis=axis)]
