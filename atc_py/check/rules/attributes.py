"""Predicates on the values of attributes, equations of Einsum among them."""

import math
from collections.abc import Callable
from itertools import accumulate
from operator import mul
from typing import Any

from atc_py.check.bound_node import BoundNode
from atc_py.check.predicate import predicate
from atc_py.check.reading import (
    HOLDS,
    Answer,
    at_fault,
    attribute,
    elements,
    fails,
    list_of,
    noted,
    shown,
)
from atc_py.diag import ATTR_MISSING, ATTR_NOT_SUPPORTED, ATTR_OUT_OF_RANGE
from atc_py.spec import implied, rules
from atc_py.text import Text

_ROUNDING = 1e-7
"""Bound on the relative rounding error of float32; the next number is farther away."""

_FACTORS = 4
"""Elements of a list whose product is computed in full; windows have two or three."""


@predicate(
    ATTR_MISSING,
    demand="{attribute} of {op} must be set",
    help_=Text(
        "set {attribute} where the model is built, or export it again with a newer exporter"
    ),
)
def _attr_present(rule: implied.AttrPresent, node: BoundNode) -> Answer:
    if not node.has_attribute(rule.attribute) or node.is_set(rule.attribute):
        return HOLDS
    return fails(Text("not set"))


@predicate(
    ATTR_NOT_SUPPORTED,
    demand="{attribute} of {op} is not supported yet and must be left out or at its default",
    help_=Text("leave {attribute} out, or express what it does with other operators"),
)
def _attr_at_default(rule: implied.AttrAtDefault, node: BoundNode) -> Answer:
    row = node.spec.attribute(rule.attribute)
    if row is None or not node.has_attribute(row.name) or not node.is_set(row.name):
        return HOLDS
    value = node.value(rule.attribute)
    return HOLDS if _are_equal(value, row.default_at(node.opset)) else fails(shown(value))


@predicate(
    ATTR_MISSING,
    demand="{attribute} of {op} must be set and not empty",
    help_=Text("write {attribute} out where the model is built; if all are meant, list all"),
)
def _attr_given(rule: rules.AttrGiven, node: BoundNode) -> Answer:
    if not node.has_attribute(rule.attribute):
        return HOLDS
    if not node.is_set(rule.attribute):
        return fails(Text("not set"))
    value = node.value(rule.attribute)
    return fails(shown(value)) if isinstance(value, tuple) and not value else HOLDS


@predicate(
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must not be {value}",
    help_=Text("set {attribute} to something else than {value} where the model is built"),
)
def _attr_excludes(rule: rules.AttrExcludes, node: BoundNode) -> Answer:
    return _each_element(node, rule.attribute, lambda item: not _are_equal(item, rule.value))


@predicate(
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must be {one_of}",
    help_=Text(
        "set {attribute} to {one_of} where the model is built, or run this node on the host"
    ),
)
def _attr_one_of(rule: rules.AttrOneOf, node: BoundNode) -> Answer:
    return _each_element(
        node, rule.attribute, lambda item: any(_are_equal(item, choice) for choice in rule.one_of)
    )


@predicate(
    ATTR_OUT_OF_RANGE,
    kind=implied.AttrInRange,
    demand="{attribute} of {op} must be {range}",
    help_=Text(
        "bring {attribute} into the range where the model is built, or run this node on the host"
    ),
)
@predicate(
    ATTR_OUT_OF_RANGE,
    kind=rules.AttrEachInRange,
    demand="{attribute} of {op} must have every element {range}",
    help_=Text(
        "bring {attribute} into the range where the model is built: a large step or window "
        "can often be made of two smaller nodes; or run this node on the host"
    ),
)
def _attr_in_range(rule: implied.AttrInRange | rules.AttrEachInRange, node: BoundNode) -> Answer:
    least, most = rule.range
    return _each_element(node, rule.attribute, lambda item: bool(least <= item <= most))


@predicate(
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must be odd",
    help_=Text(
        "choose the next odd number for {attribute} and train or calibrate the model with it"
    ),
)
def _attr_odd(rule: rules.AttrOdd, node: BoundNode) -> Answer:
    return _each_element(node, rule.attribute, lambda item: isinstance(item, int) and item % 2 == 1)


@predicate(
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must be a multiple of {factor}",
    help_=Text("choose a multiple of {factor} for {attribute} and train the model with it"),
)
def _attr_multiple(rule: rules.AttrMultiple, node: BoundNode) -> Answer:
    return _each_element(
        node,
        rule.attribute,
        lambda item: isinstance(item, int) and item % rule.factor == 0,
    )


@predicate(
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must be positive and finite",
    help_=Text(
        "write a positive, finite {attribute}; a value of 0 comes from calibration data that "
        "are all the same"
    ),
)
def _attr_positive(rule: rules.AttrPositive, node: BoundNode) -> Answer:
    return _each_element(
        node,
        rule.attribute,
        lambda item: isinstance(item, int | float) and 0 < item < math.inf,
    )


@predicate(
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must not repeat an element",
    help_=Text("list each element of {attribute} once where the model is built"),
)
def _attr_distinct(rule: rules.AttrDistinct, node: BoundNode) -> Answer:
    items = elements(node, rule.attribute)
    seen: set[Any] = set()
    for index, item in enumerate(items):
        if item in seen:
            return fails(at_fault(items, index))
        seen.add(item)
    return HOLDS


@predicate(
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must have {length} elements",
    help_=Text("write {attribute} with {length} elements where the model is built"),
)
def _attr_length(rule: rules.AttrLength, node: BoundNode) -> Answer:
    value = list_of(node, rule.attribute)
    if len(value) == rule.length:
        return HOLDS
    return fails(noted(len(value), f"{rule.attribute} = {shown(value)}"))


@predicate(
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must have as many elements as {along}",
    help_=Text("give {attribute} and {along} the same number of elements where the model is built"),
)
def _attr_lengths_equal(rule: rules.AttrLengthsEqual, node: BoundNode) -> Answer:
    other = attribute(node, rule.along)
    if not isinstance(other, tuple):
        return HOLDS
    value = list_of(node, rule.attribute)
    if len(value) == len(other):
        return HOLDS
    return fails(noted(len(value), f"{rule.along} = {shown(other)}"))


@predicate(
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must have {value} at positions {positions}",
    help_=Text("write {value} there where the model is built, or run this node on the host"),
)
def _attr_elements_are(rule: rules.AttrElementsAre, node: BoundNode) -> Answer:
    """Too short a list is another rule's matter."""
    items = elements(node, rule.attribute)
    wrong = [at for at in rule.positions if at < len(items) and items[at] != rule.value]
    return fails(at_fault(items, wrong[0])) if wrong else HOLDS


@predicate(
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must multiply to at most {limit}",
    help_=Text(
        "make the window smaller, split it into two nodes with smaller windows, or use a "
        "reduction where the window covers whole axes"
    ),
)
def _product_at_most(rule: rules.ProductAtMost, node: BoundNode) -> Answer:
    items = elements(node, rule.attribute)
    if not items or any(math.isnan(item) for item in items):
        return fails(shown(attribute(node, rule.attribute)))
    if any(item < 1 for item in items):
        return HOLDS  # the range of the elements, which each such attribute has, reports it
    if not any(product > rule.limit for product in accumulate(items, mul)):
        return HOLDS
    text = shown(items)
    return fails(text if len(items) > _FACTORS else noted(shown(math.prod(items)), text))


@predicate(
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must be {one_of}, up to the choice of letters",
    help_=Text("express the sum with Transpose, Reshape and MatMul where the model is built"),
)
def _equation_one_of(rule: rules.EquationOneOf, node: BoundNode) -> Answer:
    value = attribute(node, rule.attribute)
    if value is None:
        return HOLDS
    from atc_py.onnx_graph.source.equation import read_equation  # Einsum alone has any

    equation = read_equation(value) if isinstance(value, str) else None
    listed = [read for text in rule.one_of if (read := read_equation(text))]
    holds = equation is not None and equation.renamed in [tensor.renamed for tensor in listed]
    return HOLDS if holds else fails(shown(value))


@predicate(
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must have no blanks and an arrow before the result",
    help_=Text("write {attribute} without blanks and with the result after an arrow"),
)
def _equation_written_out(rule: rules.EquationWrittenOut, node: BoundNode) -> Answer:
    """Texts that are not equations are another rule's matter."""
    from atc_py.onnx_graph.source.equation import read_equation  # as above

    value = attribute(node, rule.attribute)
    equation = read_equation(value) if isinstance(value, str) else None
    return HOLDS if equation is None or str(equation) == value else fails(shown(value))


def _each_element(node: BoundNode, name: str, keeps: Callable[[Any], bool]) -> Answer:
    """True if an attribute, or each element of a list, has the right type and is valid.

    An empty list fails: none of these attributes has a meaning without elements.
    """
    items, value = elements(node, name), attribute(node, name)
    if not items:
        return fails(shown(value))
    fault = next((index for index, item in enumerate(items) if not keeps(item)), None)
    if fault is None:
        return HOLDS
    return fails(at_fault(items, fault) if isinstance(value, tuple) else shown(value))


def _are_equal(value: Any, other: Any) -> bool:
    """True if two values are equal; files carry floats as float32, which moves decimals."""
    if isinstance(value, tuple) and isinstance(other, tuple):
        return len(value) == len(other) and all(map(_are_equal, value, other))
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=_ROUNDING)
    return isinstance(value, int | float | str) and value == other
