"""Predicates that only deviations of CANN ask."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from atc_py.check.answers import HOLDS, Answer, fails, unknown
from atc_py.check.predicate import predicate
from atc_py.check.rules.wording import shown
from atc_py.diag import Words
from atc_py.diag.codes import DEVIATES_ON_CANN
from atc_py.spec.deviation_rules import (
    AnyAttrGiven,
    AnyOperandGiven,
    AttrAbsent,
    AttrRepeats,
    AttrTruncatesToNonzero,
    NoneBeforeSets,
    OperandNotGiven,
    SetsAsBefore,
)

if TYPE_CHECKING:
    from atc_py.check.bound_node import BoundNode
    from atc_py.source import SourceNode

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
    AnyAttrGiven,
    DEVIATES_ON_CANN,
    en="{op} must set one of {attributes}",
    zh="{op} 须设置 {attributes} 之一",
    help_=Words("write one of {attributes}, if with its default", "请写明 {attributes} 之一"),
)
def any_attr_given(rule: AnyAttrGiven, node: BoundNode) -> Answer:
    """Judge a node by an AnyAttrGiven rule."""
    given = (node.view.attributes.get(name) for name in rule.attributes)
    if any(value is not None and value != () for value in given):
        return HOLDS
    return fails(Words("none of them", "均未设置"))


@predicate(
    NoneBeforeSets,
    DEVIATES_ON_CANN,
    en="no {op} before the node may set {attribute} unless one up to the node sets {along}",
    zh="该节点之前的 {op} 不得设置 {attribute}，除非至此已有节点设置 {along}",
    help_=Words("set {along} on the node", "请在该节点上设置 {along}"),
)
def none_before_sets(rule: NoneBeforeSets, node: BoundNode) -> Answer:
    """Judge a node by a NoneBeforeSets rule."""
    own = node.view.attributes
    if rule.attribute in own or rule.along in own:
        return HOLDS
    if _some(_in_order(node), rule.along) is not None:
        return HOLDS
    found = _some(node.before, rule.attribute)
    if found is None:
        return HOLDS
    seen = _named(found, rule.attribute)
    return unknown(seen) if _order_is_open(node) else fails(seen)


@predicate(
    SetsAsBefore,
    DEVIATES_ON_CANN,
    en="{op} with {along} must set {attribute} if one before it in the model does",
    zh="若模型中此前的 {op} 设置了 {attribute}，则带 {along} 的节点也须设置",
    help_=Words("set {attribute} on the node", "请在该节点上设置 {attribute}"),
)
def sets_as_before(rule: SetsAsBefore, node: BoundNode) -> Answer:
    """Judge a node by a SetsAsBefore rule."""
    own = node.view.attributes
    if rule.along not in own or rule.attribute in own:
        return HOLDS
    found = _some(node.before, rule.attribute)
    if found is None:
        return HOLDS
    seen = _named(found, rule.attribute)
    return unknown(seen) if _order_is_open(node) else fails(seen)


def _some(nodes: tuple[SourceNode, ...], attribute: str) -> SourceNode | None:
    """Return the first node that sets an attribute."""
    return next((each for each in nodes if attribute in each.attributes), None)


def _in_order(node: BoundNode) -> tuple[SourceNode, ...]:
    """Return the nodes before, if the parser surely reads them before; else none."""
    return () if _order_is_open(node) else node.before


def _order_is_open(node: BoundNode) -> bool:
    """Return True where a node stands in a branch: when its graph is parsed is not known."""
    return any(each.scope for each in (node.view, *node.before))


def _named(node: SourceNode, attribute: str) -> Words:
    """Return words on a node that sets an attribute."""
    name = f'"{node.name}"' if node.name else f"node {node.index}"
    return Words(f"{name} sets {attribute}", f"{name} 设置了 {attribute}")


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
