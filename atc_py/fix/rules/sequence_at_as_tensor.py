"""Rule sequence-at-as-tensor: a tensor of a sequence that the model makes itself, taken directly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import CaseGraph, ConstInput, Fed, MadeInput, RuleCase
from atc_py.fix.parts.sequences import elements_of, place_in
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_PAIR = CaseGraph(
    {"a": Fed((2,)), "b": Fed((3,))}, (), (("SequenceConstruct", ("a", "b"), ("s",), {}),)
)


@fix_rule(
    "sequence-at-as-tensor",
    ("SequenceAt",),
    Exactness.EQUAL,
    RuleText(
        before=Words("SequenceAt", "SequenceAt"),
        after=Words(
            "the tensor, or a Slice of the tensor that SplitToSequence splits",
            "对应的张量，或 SplitToSequence 所拆分张量的 Slice",
        ),
        condition=Words(
            "the place is constant and in the sequence, which nodes of the model make and change "
            "at constant places",
            "位置为常量且在序列之内；序列由模型中的节点在常量位置构造和修改",
        ),
    ),
    example=RuleCase("SequenceAt", (MadeInput("s"), ConstInput(np.array(-1))), before=_PAIR),
    near_miss=RuleCase("SequenceAt", (MadeInput("s"), Fed((), DType.INT64, (0, 0))), before=_PAIR),
)
def sequence_at_as_tensor(site: Site) -> Sequence[str]:
    """Write the tensor."""
    elements = elements_of(site, site.name(0))
    count = len(elements)
    return [elements[place_in(site.input(1), 0, count, count - 1)]()]
