"""Predicates that only deviations of CANN ask."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from atc_py.check.answers import HOLDS, Answer, fails, unknown
from atc_py.check.predicate import predicate
from atc_py.check.rules.wording import shown
from atc_py.diag.codes import DEVIATES_ON_CANN
from atc_py.onnx_graph.source import SourceNode
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
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.check.bound_node import BoundNode

_OTHERWISE = Text("express it with other operators")


@predicate(
    AttrAbsent,
    DEVIATES_ON_CANN,
    demand="{attribute} of {op} must be left out",
    help_=_OTHERWISE,
)
def attr_absent(rule: AttrAbsent, node: BoundNode) -> Answer:
    """Judge a node by an AttrAbsent rule."""
    return fails(shown(node.value(rule.attribute))) if node.is_set(rule.attribute) else HOLDS


@predicate(
    AttrRepeats,
    DEVIATES_ON_CANN,
    demand="{attribute} of {op} must be left out or repeat {values}",
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
    demand="{tensor} of {op} must be left out",
    help_=_OTHERWISE,
)
def operand_not_given(rule: OperandNotGiven, node: BoundNode) -> Answer:
    """Judge a node by an OperandNotGiven rule."""
    return fails(Text("given")) if node.tensors(rule.tensor) else HOLDS


@predicate(
    AnyAttrGiven,
    DEVIATES_ON_CANN,
    demand="{op} must set one of {attributes}",
    help_=Text("write one of {attributes}, if with its default"),
)
def any_attr_given(rule: AnyAttrGiven, node: BoundNode) -> Answer:
    """Judge a node by an AnyAttrGiven rule."""
    given = (node.view.attributes.get(name) for name in rule.attributes)
    if any(value is not None and value != () for value in given):
        return HOLDS
    return fails(Text("none of them"))


@predicate(
    NoneBeforeSets,
    DEVIATES_ON_CANN,
    demand="no {op} before the node may set {attribute} unless one up to the node sets {along}",
    help_=Text("set {along} on the node"),
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
    demand="{op} with {along} must set {attribute} if one before it in the model does",
    help_=Text("set {attribute} on the node"),
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
    """The first node that sets an attribute."""
    return next((each for each in nodes if attribute in each.attributes), None)


def _in_order(node: BoundNode) -> tuple[SourceNode, ...]:
    """The nodes before, if the parser surely reads them before; else none."""
    return () if _order_is_open(node) else node.before


def _order_is_open(node: BoundNode) -> bool:
    """True where a node stands in a branch: when its graph is parsed is not known."""
    return any(each.scope for each in (node.view, *node.before))


def _named(node: SourceNode, attribute: str) -> Text:
    name = f'"{node.name}"' if node.name else f"node {node.index}"
    return Text("{name} sets {attribute}", name=name, attribute=attribute)


@predicate(
    AnyOperandGiven,
    DEVIATES_ON_CANN,
    demand="{op} must have {tensor}, {other} or both",
    help_=Text("give one of the two", context="operands"),
)
def any_operand_given(rule: AnyOperandGiven, node: BoundNode) -> Answer:
    """Judge a node by an AnyOperandGiven rule."""
    given = node.tensors(rule.tensor) or node.tensors(rule.other)
    return HOLDS if given else fails(Text("neither"))


@predicate(
    AttrTruncatesToNonzero,
    DEVIATES_ON_CANN,
    demand="{attribute} of {op} must be left out, or be 1 or more in magnitude",
    help_=Text("write an integer other than 0"),
)
def attr_truncates_to_nonzero(rule: AttrTruncatesToNonzero, node: BoundNode) -> Answer:
    """Judge a node by an AttrTruncatesToNonzero rule."""
    found = node.value(rule.attribute)
    if not node.is_set(rule.attribute) or not isinstance(found, int | float):
        return HOLDS
    return fails(shown(found)) if abs(found) < 1 else HOLDS
