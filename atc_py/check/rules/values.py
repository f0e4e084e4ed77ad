"""Predicates on values of tensors that are known when the model is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy.typing as npt

from atc_py.check.answers import HOLDS, Answer, all_of, fails, unknown
from atc_py.check.open_dims import NOT_YET
from atc_py.check.predicate import predicate
from atc_py.check.rules.reading import constant, is_known, may_be_known, numbers
from atc_py.check.rules.wording import array_at_fault
from atc_py.diag.codes import VALUE_NOT_CONSTANT, VALUE_OUT_OF_RANGE
from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec.rule import Level, Number, Rule
from atc_py.spec.rules import (
    KnownValuesAre,
    KnownValuesAtLeast,
    KnownValuesExclude,
    ValuesAtLeast,
    ValuesEqual,
    ValuesExclude,
    ValuesKnown,
)
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.check.bound_node import BoundNode

_Keeps: TypeAlias = "Callable[[npt.NDArray[Any], Callable[[Number], Any]], Any]"
"""Function that marks values that keep a rule, from integers or float64 and their dtype."""

_NOT_CONSTANT = fails(Text("not constant"))
"""The answer for values that are known at run time only."""


@predicate(
    ValuesKnown,
    VALUE_NOT_CONSTANT,
    demand="{tensor} of {op} must be known when the model is compiled",
    help_=Text(
        "export {tensor} as a constant, fix the input shapes that it is computed from, or "
        "simplify the model so that it folds"
    ),
)
def values_known(rule: ValuesKnown, node: BoundNode) -> Answer:
    """Judge a node by a ValuesKnown rule."""
    return all_of(
        HOLDS if is_known(tensor) else _not_known(node, tensor)
        for tensor in node.tensors(rule.tensor)
    )


@predicate(
    ValuesAtLeast,
    VALUE_OUT_OF_RANGE,
    demand="{tensor} of {op} must be constant with values of at least {least}",
    help_=Text("export {tensor} as a constant whose values are {least} or more"),
)
def values_at_least(rule: ValuesAtLeast, node: BoundNode) -> Answer:
    """Judge a node by a ValuesAtLeast rule."""
    return _constant_values(node, rule.tensor, _at_least(rule.least))


@predicate(
    KnownValuesAtLeast,
    VALUE_OUT_OF_RANGE,
    demand="{tensor} of {op}, where constant, must have values of at least {least}",
    help_=Text(
        "write values of {least} or more into {tensor}; add the length of the axis to an "
        "index that counts from the end"
    ),
)
def known_values_at_least(rule: KnownValuesAtLeast, node: BoundNode) -> Answer:
    """Judge a node by a KnownValuesAtLeast rule."""
    return _known_values(rule, node, rule.tensor, _at_least(rule.least))


@predicate(
    ValuesEqual,
    VALUE_OUT_OF_RANGE,
    demand="{tensor} of {op} must be constant with every value {value}",
    help_=Text(
        "export {tensor} as the constant {value}, or produce other values with further operators"
    ),
)
def values_equal(rule: ValuesEqual, node: BoundNode) -> Answer:
    """Judge a node by a ValuesEqual rule."""
    return _constant_values(node, rule.tensor, _equal_to(rule.value), flags=True)


@predicate(
    ValuesExclude,
    VALUE_OUT_OF_RANGE,
    demand="{tensor} of {op} must be constant without the value {value}",
    help_=Text("export {tensor} as a constant without {value}"),
)
def values_exclude(rule: ValuesExclude, node: BoundNode) -> Answer:
    """Judge a node by a ValuesExclude rule."""
    return _constant_values(node, rule.tensor, _other_than(rule.value))


@predicate(
    KnownValuesExclude,
    VALUE_OUT_OF_RANGE,
    demand="{tensor} of {op}, where constant, must not have the value {value}",
    help_=Text("export {tensor} with values other than {value}"),
)
def known_values_exclude(rule: KnownValuesExclude, node: BoundNode) -> Answer:
    """Judge a node by a KnownValuesExclude rule."""
    return _known_values(rule, node, rule.tensor, _other_than(rule.value))


@predicate(
    KnownValuesAre,
    VALUE_OUT_OF_RANGE,
    demand="{tensor} of {op}, where constant, must be {values}",
    help_=Text("export {tensor} as {values}"),
)
def known_values_are(rule: KnownValuesAre, node: BoundNode) -> Answer:
    """Judge a node by a KnownValuesAre rule."""
    return _known_values(rule, node, rule.tensor, _the_same_as(rule.values))


def _at_least(least: Number) -> _Keeps:
    """A mask of the values that are at least `least`; NaN is not."""
    return lambda data, _: data >= least


def _equal_to(value: Number) -> _Keeps:
    """A mask of the values that equal `value` in their own dtype: 0.1 in float16 is 0.09997559."""
    return lambda data, kind: data == (float(kind(value)) if data.dtype.kind == "f" else value)


def _the_same_as(values: tuple[Number, ...]) -> _Keeps:
    """A mask of the values that are those; all are off where there are more or fewer."""

    def keeps(data: npt.NDArray[Any], _: Any) -> npt.NDArray[Any]:
        import numpy as np

        kept: npt.NDArray[Any] = np.zeros(data.shape, np.bool_)
        return np.equal(data, values, out=kept) if data.size == len(values) else kept

    return keeps


def _other_than(value: Number) -> _Keeps:
    """A mask of the values that differ from `value`."""
    return lambda data, _: data != value


def _constant_values(node: BoundNode, name: str, keeps: _Keeps, *, flags: bool = False) -> Answer:
    """True if operand `name` is constant and all its values keep a rule."""
    return all_of(
        _values(name, tensor, keeps, flags=flags) if is_known(tensor) else _not_known(node, tensor)
        for tensor in node.tensors(name)
    )


def _not_known(node: BoundNode, tensor: SourceTensor) -> Answer:
    """The answer for a tensor that must be known and is not."""
    return unknown(NOT_YET) if may_be_known(node, tensor) else _NOT_CONSTANT


def _known_values(rule: Rule, node: BoundNode, name: str, keeps: _Keeps) -> Answer:
    """True if the values of operand `name` keep a rule where it is constant.

    Values that may be constant with other dims are not decided where they would be an error then.
    """
    waits = node.waits and rule.level is Level.ERROR
    return all_of(
        _values(name, tensor, keeps)
        if is_known(tensor)
        else unknown(NOT_YET)
        if waits and tensor.settles
        else HOLDS
        for tensor in node.tensors(name)
    )


def _values(name: str, tensor: SourceTensor, keeps: _Keeps, *, flags: bool = False) -> Answer:
    """True if all values of a constant keep a rule; what is not a number keeps none.

    With `flags`, false and true count as 0 and 1.
    """
    data = constant(name, tensor)
    if isinstance(data, Text):
        return unknown(data)
    found = data.ravel().astype("int8") if flags and data.dtype.kind == "b" else numbers(data)
    if found is None:
        return fails(array_at_fault(data)) if data.size else HOLDS
    kept = keeps(found, data.dtype.type)
    return HOLDS if kept.all() else fails(array_at_fault(data, int(kept.argmin())))
