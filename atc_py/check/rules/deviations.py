"""Predicates that only deviations of CANN ask."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from atc_py.check.answers import HOLDS, Answer, fails
from atc_py.check.predicate import predicate
from atc_py.check.rules.wording import shown
from atc_py.diag import Words
from atc_py.diag.codes import DEVIATES_ON_CANN
from atc_py.spec.deviation_rules import (
    AnyOperandGiven,
    AttrAbsent,
    AttrRepeats,
    AttrTruncatesToNonzero,
    OperandNotGiven,
)

if TYPE_CHECKING:
    from atc_py.check.bound_node import BoundNode

_OTHERWISE = Words("express it with other operators", "请改用其他算子表达")


@predicate(
    AttrAbsent,
    DEVIATES_ON_CANN,
    en="{attribute} of {op} must be left out",
    zh="{op} 不得设置 {attribute}",
    help_=_OTHERWISE,
)
def attr_absent(rule: AttrAbsent, node: BoundNode) -> Answer:
    """Judge a node by an AttrAbsent rule."""
    return fails(shown(node.value(rule.attribute))) if node.is_set(rule.attribute) else HOLDS


@predicate(
    AttrRepeats,
    DEVIATES_ON_CANN,
    en="{attribute} of {op} must be left out or repeat {values}",
    zh="{op} 的 {attribute} 须不设置，或依次重复 {values}",
    help_=_OTHERWISE,
)
def attr_repeats(rule: AttrRepeats, node: BoundNode) -> Answer:
    """Judge a node by an AttrRepeats rule."""
    found = node.value(rule.attribute)
    if not isinstance(found, tuple):
        return HOLDS
    wanted = cycle(each.lower() for each in rule.values)
    same = all(str(one).lower() == two for one, two in zip(found, wanted, strict=False))
    return HOLDS if same else fails(shown(found))


@predicate(
    OperandNotGiven,
    DEVIATES_ON_CANN,
    en="{tensor} of {op} must be left out",
    zh="{op} 不得给出 {tensor}",
    help_=_OTHERWISE,
)
def operand_not_given(rule: OperandNotGiven, node: BoundNode) -> Answer:
    """Judge a node by an OperandNotGiven rule."""
    return fails(Words("given", "已给出")) if node.tensors(rule.tensor) else HOLDS


@predicate(
    AnyOperandGiven,
    DEVIATES_ON_CANN,
    en="{op} must have {tensor}, {other} or both",
    zh="{op} 须给出 {tensor}、{other} 之一或两者",
    help_=Words("give one of the two", "请给出其中之一"),
)
def any_operand_given(rule: AnyOperandGiven, node: BoundNode) -> Answer:
    """Judge a node by an AnyOperandGiven rule."""
    given = node.tensors(rule.tensor) or node.tensors(rule.other)
    return HOLDS if given else fails(Words("neither", "均未给出"))


@predicate(
    AttrTruncatesToNonzero,
    DEVIATES_ON_CANN,
    en="{attribute} of {op} must be left out, or be 1 or more in magnitude",
    zh="{op} 的 {attribute} 须不设置，或绝对值不小于 1",
    help_=Words("write an integer other than 0", "请写成非 0 的整数"),
)
def attr_truncates_to_nonzero(rule: AttrTruncatesToNonzero, node: BoundNode) -> Answer:
    """Judge a node by an AttrTruncatesToNonzero rule."""
    found = node.value(rule.attribute)
    if not node.is_set(rule.attribute) or not isinstance(found, int | float):
        return HOLDS
    return fails(shown(found)) if abs(found) < 1 else HOLDS
