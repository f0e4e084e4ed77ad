"""Predicates on attributes and inputs that name axes of a tensor."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

from atc_py.check.bound_node import BoundNode
from atc_py.check.predicate import predicate
from atc_py.check.reading import (
    HOLDS,
    Answer,
    NamedTensor,
    SettledError,
    all_of,
    array_at_fault,
    asked,
    at_fault,
    attribute,
    fails,
    integer_list,
    integers,
    operand,
    operands,
    shown,
    unknown,
)
from atc_py.diag import ATTR_OUT_OF_RANGE, DIM_OUT_OF_RANGE, VALUE_OUT_OF_RANGE
from atc_py.spec import rules
from atc_py.spec.rule import OfAttributeOn
from atc_py.text import Text, verbatim


class _Axes(NamedTuple):
    """Axes that a node names."""

    numbers: tuple[int, ...]  # as it names them, negative ones from the end
    text: Callable[[int], str]  # how the axis at an index is shown


@predicate(
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must name every axis of {tensor} once",
    help_=Text("write {attribute} as a permutation of 0 to r - 1, r being the rank of {tensor}"),
)
def _attr_permutation(rule: rules.AttrPermutation, node: BoundNode) -> Answer:
    items = integer_list(node, rule.attribute)
    if sorted(items) != [*range(len(items))]:
        return fails(shown(items))
    return all_of(asked(_has_rank, tensor, items) for tensor in operands(node, rule.tensor))


def _has_rank(tensor: NamedTensor, items: tuple[int, ...]) -> Answer:
    fits = tensor.known_rank() == len(items)
    return HOLDS if fits else fails(tensor.with_rank(shown(items)))


# Axes exist -------------------------------------------------------------------------------------


@predicate(
    ATTR_OUT_OF_RANGE,
    kind=rules.AxisInRank,
    demand="{attribute} of {op} must be in [-r, r - 1], r being the rank of {tensor}",
    help_=Text("name an axis that {tensor} has, or reshape {tensor} to the intended rank"),
)
@predicate(
    VALUE_OUT_OF_RANGE,
    kind=rules.AxesInRank,
    demand="{axes} of {op} must be in [-r, r - 1], r being the rank of {tensor}",
    help_=Text("export {axes} as constant axes that {tensor} has"),
)
def _axes_in_rank(rule: rules.AxisInRank | rules.AxesInRank, node: BoundNode) -> Answer:
    return _each_tensor(rule, node, _has_axes)


def _has_axes(tensor: NamedTensor, axes: _Axes) -> Answer:
    rank = tensor.known_rank() if axes.numbers else 0
    for index, axis in enumerate(axes.numbers):
        if not -rank <= axis < rank:
            return fails(tensor.with_rank(axes.text(index)))
    return HOLDS


# Length 1 ---------------------------------------------------------------------------------------

_RESHAPE = Text("name only axes of length 1, or use Reshape to make the shape")


@predicate(
    DIM_OUT_OF_RANGE,
    kind=rules.AxisExtentIsOne,
    demand="{tensor} of {op} must have length 1 on the axes in {attribute}",
    help_=_RESHAPE,
)
@predicate(
    DIM_OUT_OF_RANGE,
    kind=rules.AxesExtentIsOne,
    demand="{tensor} of {op} must have length 1 on the axes that the values of {axes} name",
    help_=_RESHAPE,
)
def _axes_length_is_one(
    rule: rules.AxisExtentIsOne | rules.AxesExtentIsOne, node: BoundNode
) -> Answer:
    return _each_tensor(rule, node, _has_length_one)


def _has_length_one(tensor: NamedTensor, axes: _Axes) -> Answer:
    """True if a tensor has length 1 on all those of the axes that it has.

    An axis that it does not have is reported by another rule.
    """
    dims = tensor.known_dims() if axes.numbers else ()
    measured = [(axis, dims[axis]) for axis in axes.numbers if -len(dims) <= axis < len(dims)]
    for axis, length in measured:
        if length is not None and length != 1:
            seen = Text("{shown} on axis {axis}", shown=shown(length), axis=axis)
            shape = tensor.shape_text()
            return fails(seen + Text(" ({shape})", shape=shape))
    is_open = any(length is None for _, length in measured)
    return unknown(tensor.described()) if is_open else HOLDS


# Another axis -----------------------------------------------------------------------------------


@predicate(
    ATTR_OUT_OF_RANGE,
    demand="{attribute} of {op} must be axis {axis} of {tensor}, or be separated from it only "
    "by dims of 1",
    help_=Text("transpose {tensor} so that the axis is there, or run this node on the host"),
)
def _axis_is(rule: rules.AxisIs, node: BoundNode) -> Answer:
    return _each_tensor(rule, node, partial(_stands_at, rule.axis))


def _stands_at(wanted: int, tensor: NamedTensor, axes: _Axes) -> Answer:
    """True if only dims of 1 are between each axis and `wanted`.

    An axis that the tensor does not have is reported by another rule.
    """
    for index, axis in enumerate(axes.numbers):
        if axis == wanted:
            continue
        dims = tensor.known_dims()
        if not -len(dims) <= axis < len(dims):
            continue
        first, last = axis % len(dims), wanted % len(dims) if wanted < 0 else wanted
        passed = dims[last:first] if last < first else dims[first + 1 : last + 1]
        if first != last >= len(dims) or any(length not in {None, 1} for length in passed):
            text, shape = verbatim(axes.text(index)), tensor.shape_text()
            return fails(text + Text(" ({name} is {shape})", name=tensor.name, shape=shape))
        if None in passed:
            return unknown(tensor.described())
    return HOLDS


# Steps ------------------------------------------------------------------------------------------


@predicate(
    VALUE_OUT_OF_RANGE,
    demand="{steps} of {op} must be 1 for the last axis of {tensor} where {axes} names that axis",
    help_=Text(
        "take the last axis with step 1 and pick every n-th element with a constant Gather, "
        "or transpose so that the stepped axis is not the last"
    ),
)
def _last_step_is_one(rule: rules.LastStepIsOne, node: BoundNode) -> Answer:
    for steps in map(_of_values, operands(node, rule.steps)):
        if any(step != 1 for step in steps.numbers):
            return all_of(
                asked(_last_step, rule, node, steps, tensor)
                for tensor in operands(node, rule.tensor)
            )
    return HOLDS


def _last_step(
    rule: rules.LastStepIsOne, node: BoundNode, steps: _Axes, tensor: NamedTensor
) -> Answer:
    rank = tensor.rank
    named = operand(node, rule.axes)
    axes: Sequence[int] = range(len(steps.numbers))
    if named is not None:
        axes = named.integers()
    if len(axes) != len(steps.numbers):
        return fails(f"{rule.steps} = {shown(steps.numbers)}, {rule.axes} = {shown(tuple(axes))}")
    for index, axis in enumerate(axes):
        is_last = axis == -1 or (rank is not None and axis == rank - 1)
        if is_last and steps.numbers[index] != 1:
            return fails(steps.text(index))
    decided = rank is not None or all(axis < 0 for axis in axes)
    return HOLDS if decided else unknown(tensor.described())


# Reading ----------------------------------------------------------------------------------------


def _each_tensor(
    rule: OfAttributeOn | rules.AxesInRank | rules.AxesExtentIsOne,
    node: BoundNode,
    test: Callable[[NamedTensor, _Axes], Answer],
) -> Answer:
    """The answer of a test for each tensor, with the axes in the attribute or in an input."""
    if isinstance(rule, OfAttributeOn):
        named = [_of_attribute(rule.attribute, node)]
    else:
        named = [_of_values(tensor) for tensor in operands(node, rule.axes)]
    tensors = operands(node, rule.tensor)
    return all_of(asked(test, *pair) for pair in product(tensors, named))


def _of_attribute(name: str, node: BoundNode) -> _Axes:
    """The axes in an attribute, none if it is absent; where they are no integers a rule fails."""
    value = attribute(node, name)
    axes = () if value is None else integers(value)
    if axes is None:
        raise SettledError(fails(shown(value)))
    is_list = isinstance(value, tuple)
    return _Axes(axes, lambda index: at_fault(axes, index) if is_list else shown(value))


def _of_values(tensor: NamedTensor) -> _Axes:
    return _Axes(tensor.integers(), partial(array_at_fault, tensor.data()))
