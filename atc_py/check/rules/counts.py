"""Predicates on numbers of elements and sums of values that must fit the shape of a tensor."""

from typing import Any

from atc_py.check.bound_node import BoundNode
from atc_py.check.open_dims import NOT_YET
from atc_py.check.predicate import each_pair, predicate
from atc_py.check.reading import (
    HOLDS,
    Answer,
    all_of,
    array_at_fault,
    attribute,
    constant,
    count_of,
    described,
    dims_of,
    fails,
    integers,
    is_known,
    lengths,
    noted,
    rank_of,
    shown,
    unknown,
    whole_numbers,
    with_rank,
)
from atc_py.diag import SHAPES_DISAGREE
from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec.rules import (
    AttrSumIsExtent,
    CountIsLength,
    CountIsOneOrExtent,
    CountIsProduct,
    CountIsRank,
    CountPerAxis,
    KnownSumIsDim,
    ValuesSumIsExtent,
)
from atc_py.text import Text


@predicate(
    CountIsRank,
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must have one element for each dimension of {other}",
    help_=Text("give {tensor} one element for each axis of {other}, or reshape {other}"),
)
@each_pair
def _count_is_rank(rule: CountIsRank, tensor: SourceTensor, other: SourceTensor) -> Answer:
    return _count_fits(rule, tensor, other, 1)


@predicate(
    CountPerAxis,
    SHAPES_DISAGREE,
    demand="{tensor} of {op}, unless empty, must have {count} x rank of {other} elements",
    help_=Text(
        "give {tensor} {count} x rank of {other} elements, or leave it empty where it is not used"
    ),
)
@each_pair
def _count_per_axis(rule: CountPerAxis, tensor: SourceTensor, other: SourceTensor) -> Answer:
    empty = count_of(dims_of(tensor)) == 0
    return HOLDS if empty else _count_fits(rule, tensor, other, rule.count)


def _count_fits(
    rule: CountIsRank | CountPerAxis, tensor: SourceTensor, other: SourceTensor, per_axis: int
) -> Answer:
    """True if a tensor has `per_axis` elements for each dimension of another."""
    count, rank = count_of(dims_of(tensor)), rank_of(other)
    if count is None:
        return unknown(described(rule.tensor, tensor))
    if rank is None:
        whole = count % per_axis == 0
        return unknown(described(rule.other, other)) if whole else fails(shown(count))
    return HOLDS if count == per_axis * rank else fails(with_rank(shown(count), rule.other, rank))


@predicate(
    CountIsOneOrExtent,
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must have one element, or as many as {other} has on axis {axis}, if any",
    help_=Text(
        "export {tensor} with one element, or with one for each index of axis {axis} of {other}"
    ),
)
@each_pair
def _count_is_one_or_length(
    rule: CountIsOneOrExtent, tensor: SourceTensor, other: SourceTensor
) -> Answer:
    count, dims = count_of(dims_of(tensor)), dims_of(other)
    if count == 1:
        return HOLDS
    if count is None:
        return unknown(described(rule.tensor, tensor))
    if dims is None:
        return unknown(described(rule.other, other))
    if not -len(dims) <= rule.axis < len(dims):
        return fails(with_rank(shown(count), rule.other, len(dims)))
    return _is_length(count, rule, other, dims[rule.axis])


def _is_length(
    count: int, rule: CountIsOneOrExtent | CountIsLength, other: SourceTensor, length: int | None
) -> Answer:
    if length is None:
        return unknown(described(rule.other, other))
    return HOLDS if count == length else fails(_with_length(count, rule.other, rule.axis, length))


@predicate(
    CountIsLength,
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must have as many elements as {other} has on axis {axis}",
    help_=Text("export {tensor} with one element for each index of axis {axis} of {other}"),
)
@each_pair
def _count_is_length(rule: CountIsLength, tensor: SourceTensor, other: SourceTensor) -> Answer:
    """The answer for two tensors; without the axis another rule says so."""
    count, dims = count_of(dims_of(tensor)), dims_of(other)
    if count is None:
        return unknown(described(rule.tensor, tensor))
    if dims is None:
        return unknown(described(rule.other, other))
    if not -len(dims) <= rule.axis < len(dims):
        return HOLDS
    return _is_length(count, rule, other, dims[rule.axis])


@predicate(
    CountIsProduct,
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must have as many elements as {dim} of {other} times {attribute}",
    help_=Text("give {tensor} one element for each channel of the result"),
)
def _count_is_product(rule: CountIsProduct, node: BoundNode) -> Answer:
    factor = integers(attribute(node, rule.attribute))
    if factor is None or len(factor) != 1:
        return HOLDS  # the rule on the attribute reports it
    return all_of(
        _is_product(rule, tensor, other, length, factor[0])
        for tensor in node.tensors(rule.tensor)
        for other, length in lengths(node, rule.other, rule.dim)
    )


def _is_product(
    rule: CountIsProduct,
    tensor: SourceTensor,
    other: SourceTensor,
    length: int | None,
    factor: int,
) -> Answer:
    count = count_of(dims_of(tensor))
    if count is None:
        return unknown(described(rule.tensor, tensor))
    if length is None:
        return unknown(described(rule.other, other))
    product = length * factor
    return HOLDS if count == product else fails(noted(count, f"{length} * {factor} = {product}"))


# Sums -------------------------------------------------------------------------------------------

_PARTS = Text(
    "make the parts add up to the length along {along}, or leave them out for equal parts"
)


@predicate(
    AttrSumIsExtent,
    SHAPES_DISAGREE,
    demand="{attribute} of {op} must add up to the length of {tensor} along {along}",
    help_=_PARTS,
)
def _attr_sum_is_length(rule: AttrSumIsExtent, node: BoundNode) -> Answer:
    value = attribute(node, rule.attribute)
    if value is None:
        return HOLDS
    parts = integers(value)
    if parts is None or not isinstance(value, tuple):
        return fails(shown(value))
    return _sum_is_length(sum(parts), node, rule.tensor, attribute(node, rule.along))


@predicate(
    ValuesSumIsExtent,
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must add up to the length of {other} along {along}",
    help_=_PARTS,
)
def _values_sum_is_length(rule: ValuesSumIsExtent, node: BoundNode) -> Answer:
    if not node.tensors(rule.other):
        return HOLDS
    answers = []
    for tensor in node.tensors(rule.tensor):
        data = constant(rule.tensor, tensor)
        if isinstance(data, Text):
            answers.append(unknown(data))
            continue
        parts = whole_numbers(data)
        if parts is None:
            return fails(array_at_fault(data))
        along = attribute(node, rule.along)
        answers.append(_sum_is_length(sum(parts), node, rule.other, along))
    return all_of(answers)


@predicate(
    KnownSumIsDim,
    SHAPES_DISAGREE,
    demand="{tensor} of {op}, where constant, must add up to {dim} of {other}",
    help_=Text("make the values of {tensor} add up to the length of {other}"),
)
def _known_sum_is_dim(rule: KnownSumIsDim, node: BoundNode) -> Answer:
    known = [tensor for tensor in node.tensors(rule.tensor) if is_known(tensor)]
    if node.waits and len(known) < len(node.tensors(rule.tensor)):
        return unknown(NOT_YET)
    return all_of(
        _adds_up_to(rule, tensor, other, length)
        for tensor in known
        for other, length in lengths(node, rule.other, rule.dim)
    )


def _adds_up_to(
    rule: KnownSumIsDim, tensor: SourceTensor, other: SourceTensor, length: int | None
) -> Answer:
    data = constant(rule.tensor, tensor)
    if isinstance(data, Text):
        return unknown(data)
    parts = whole_numbers(data)
    if parts is None:
        return fails(array_at_fault(data))
    if length is None:
        return unknown(described(rule.other, other))
    if sum(parts) == length:
        return HOLDS
    note = Text("{dim} of {tensor} is {length}", dim=rule.dim, tensor=rule.other, length=length)
    return fails(noted(shown(sum(parts)), note))


def _sum_is_length(total: int, node: BoundNode, name: str, along: Any) -> Answer:
    """True if a sum is the length of operand `name` on axis `along`.

    An invalid axis, or one that the tensor does not have, is reported by another rule.
    """
    axes = integers(along)
    if axes is None or len(axes) != 1:
        return HOLDS
    return all_of(_sum_fits(total, name, tensor, axes[0]) for tensor in node.tensors(name))


def _sum_fits(total: int, name: str, tensor: SourceTensor, axis: int) -> Answer:
    dims = dims_of(tensor)
    if dims is None:
        return unknown(described(name, tensor))
    if not -len(dims) <= axis < len(dims):
        return HOLDS
    length = dims[axis]
    if length is None:
        return unknown(described(name, tensor))
    return HOLDS if total == length else fails(_with_length(total, name, axis, length))


def _with_length(count: int, name: str, axis: int, length: int) -> Text:
    there = Text("{name} has {length} on axis {axis}", name=name, length=shown(length), axis=axis)
    return noted(shown(count), there)
