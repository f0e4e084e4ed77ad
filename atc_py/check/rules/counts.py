"""Predicates on numbers of elements and sums of values that must fit the shape of a tensor."""

from atc_py.check.bound_node import BoundNode
from atc_py.check.open_dims import NOT_YET
from atc_py.check.predicate import each_pair, each_tensor, predicate
from atc_py.check.reading import (
    HOLDS,
    Answer,
    all_of,
    asked,
    attribute,
    count_of,
    dims_of,
    fails,
    integer_list,
    integers,
    integers_in,
    is_known,
    known_count,
    known_dims,
    known_length,
    known_rank,
    lengths,
    noted,
    rank_of,
    shown,
    unknown,
    with_rank,
)
from atc_py.diag import SHAPES_DISAGREE
from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec import rules
from atc_py.text import Text


@predicate(
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must have one element for each dimension of {other}",
    help_=Text("give {tensor} one element for each axis of {other}, or reshape {other}"),
)
@each_pair
def _count_is_rank(rule: rules.CountIsRank, tensor: SourceTensor, other: SourceTensor) -> Answer:
    return _count_fits(rule, tensor, other, 1)


@predicate(
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must be empty or have {count} x rank of {other} elements",
    help_=Text(
        "give {tensor} {count} x rank of {other} elements, or leave it empty where it is not used"
    ),
)
@each_pair
def _count_per_axis(rule: rules.CountPerAxis, tensor: SourceTensor, other: SourceTensor) -> Answer:
    empty = count_of(dims_of(tensor)) == 0
    return HOLDS if empty else _count_fits(rule, tensor, other, rule.count)


def _count_fits(
    rule: rules.CountIsRank | rules.CountPerAxis,
    tensor: SourceTensor,
    other: SourceTensor,
    per_axis: int,
) -> Answer:
    count = known_count(rule.tensor, tensor)
    if rank_of(other) is None and count % per_axis:
        return fails(shown(count))
    rank = known_rank(rule.other, other)
    return HOLDS if count == per_axis * rank else fails(with_rank(shown(count), rule.other, rank))


@predicate(
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must have one element, or as many as {other} has on axis {axis}, if any",
    help_=Text(
        "export {tensor} with one element, or with one for each index of axis {axis} of {other}"
    ),
)
@each_pair
def _count_is_one_or_length(
    rule: rules.CountIsOneOrExtent, tensor: SourceTensor, other: SourceTensor
) -> Answer:
    count = known_count(rule.tensor, tensor)
    if count == 1:
        return HOLDS
    dims = known_dims(rule.other, other)
    if not -len(dims) <= rule.axis < len(dims):
        return fails(with_rank(shown(count), rule.other, len(dims)))
    return _is_length(count, rule, other, dims[rule.axis])


def _is_length(
    count: int,
    rule: rules.CountIsOneOrExtent | rules.CountIsLength,
    other: SourceTensor,
    length: int | None,
) -> Answer:
    known = known_length(rule.other, other, length)
    return HOLDS if count == known else fails(_with_length(count, rule.other, rule.axis, known))


@predicate(
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must have as many elements as {other} has on axis {axis}",
    help_=Text("export {tensor} with one element for each index of axis {axis} of {other}"),
)
@each_pair
def _count_is_length(
    rule: rules.CountIsLength, tensor: SourceTensor, other: SourceTensor
) -> Answer:
    count, dims = known_count(rule.tensor, tensor), known_dims(rule.other, other)
    if not -len(dims) <= rule.axis < len(dims):
        return HOLDS  # the rule on the rank reports it
    return _is_length(count, rule, other, dims[rule.axis])


@predicate(
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must have as many elements as {dim} of {other} times {attribute}",
    help_=Text("give {tensor} one element for each channel of the result"),
)
def _count_is_product(rule: rules.CountIsProduct, node: BoundNode) -> Answer:
    factor = integers(attribute(node, rule.attribute))
    if factor is None or len(factor) != 1:
        return HOLDS  # the rule on the attribute reports it
    return all_of(
        asked(_is_product, rule, tensor, other, length, factor[0])
        for tensor in node.tensors(rule.tensor)
        for other, length in lengths(node, rule.other, rule.dim)
    )


def _is_product(
    rule: rules.CountIsProduct,
    tensor: SourceTensor,
    other: SourceTensor,
    length: int | None,
    factor: int,
) -> Answer:
    count, known = known_count(rule.tensor, tensor), known_length(rule.other, other, length)
    product = known * factor
    return HOLDS if count == product else fails(noted(count, f"{known} * {factor} = {product}"))


# Sums -------------------------------------------------------------------------------------------

_PARTS = Text(
    "make the parts add up to the length along {along}, or leave them out for equal parts"
)


@predicate(
    SHAPES_DISAGREE,
    demand="{attribute} of {op} must add up to the length of {tensor} along {along}",
    help_=_PARTS,
)
def _attr_sum_is_length(rule: rules.AttrSumIsExtent, node: BoundNode) -> Answer:
    total = sum(integer_list(node, rule.attribute))
    return _sum_is_length(total, node, rule.tensor, rule.along)


@predicate(
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must add up to the length of {other} along {along}",
    help_=_PARTS,
)
@each_tensor
def _values_sum_is_length(
    rule: rules.ValuesSumIsExtent, node: BoundNode, tensor: SourceTensor
) -> Answer:
    if not node.tensors(rule.other):
        return HOLDS
    total = sum(integers_in(rule.tensor, tensor))
    return _sum_is_length(total, node, rule.other, rule.along)


@predicate(
    SHAPES_DISAGREE,
    demand="{tensor} of {op}, where constant, must add up to {dim} of {other}",
    help_=Text("make the values of {tensor} add up to the length of {other}"),
)
def _known_sum_is_dim(rule: rules.KnownSumIsDim, node: BoundNode) -> Answer:
    known = [tensor for tensor in node.tensors(rule.tensor) if is_known(tensor)]
    if node.waits and len(known) < len(node.tensors(rule.tensor)):
        return unknown(NOT_YET)
    return all_of(
        asked(_adds_up_to, rule, tensor, other, length)
        for tensor in known
        for other, length in lengths(node, rule.other, rule.dim)
    )


def _adds_up_to(
    rule: rules.KnownSumIsDim, tensor: SourceTensor, other: SourceTensor, length: int | None
) -> Answer:
    total = sum(integers_in(rule.tensor, tensor))
    known = known_length(rule.other, other, length)
    if total == known:
        return HOLDS
    note = Text("{dim} of {tensor} is {length}", dim=rule.dim, tensor=rule.other, length=known)
    return fails(noted(shown(total), note))


def _sum_is_length(total: int, node: BoundNode, name: str, along: str) -> Answer:
    """True if a sum is the length of operand `name` on the axis in attribute `along`.

    An invalid axis, or one that the tensor does not have, is reported by another rule.
    """
    axes = integers(attribute(node, along))
    if axes is None or len(axes) != 1:
        return HOLDS
    return all_of(asked(_sum_fits, total, name, tensor, axes[0]) for tensor in node.tensors(name))


def _sum_fits(total: int, name: str, tensor: SourceTensor, axis: int) -> Answer:
    dims = known_dims(name, tensor)
    if not -len(dims) <= axis < len(dims):
        return HOLDS
    length = known_length(name, tensor, dims[axis])
    return HOLDS if total == length else fails(_with_length(total, name, axis, length))


def _with_length(count: int, name: str, axis: int, length: int) -> Text:
    there = Text("{name} has {length} on axis {axis}", name=name, length=shown(length), axis=axis)
    return noted(shown(count), there)
