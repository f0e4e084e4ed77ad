"""Predicates on numbers of elements and sums of values that must fit the shape of a tensor."""

from atc_py.check.bound_node import BoundNode
from atc_py.check.open_dims import NOT_YET
from atc_py.check.predicate import each_pair, each_tensor, predicate
from atc_py.check.reading import (
    HOLDS,
    Answer,
    NamedTensor,
    all_of,
    asked,
    attribute,
    count_of,
    fails,
    integer_list,
    integers,
    lengths,
    noted,
    operands,
    shown,
    unknown,
)
from atc_py.diag import SHAPES_DISAGREE
from atc_py.spec import rules
from atc_py.text import Text


@predicate(
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must have one element for each dimension of {other}",
    help_=Text("give {tensor} one element for each axis of {other}, or reshape {other}"),
)
@each_pair
def _count_is_rank(_: rules.CountIsRank, tensor: NamedTensor, other: NamedTensor) -> Answer:
    return _count_fits(tensor, other, 1)


@predicate(
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must be empty or have {count} x rank of {other} elements",
    help_=Text(
        "give {tensor} {count} x rank of {other} elements, or leave it empty where it is not used"
    ),
)
@each_pair
def _count_per_axis(rule: rules.CountPerAxis, tensor: NamedTensor, other: NamedTensor) -> Answer:
    empty = count_of(tensor.dims) == 0
    return HOLDS if empty else _count_fits(tensor, other, rule.count)


def _count_fits(tensor: NamedTensor, other: NamedTensor, per_axis: int) -> Answer:
    count = tensor.known_count()
    if other.rank is None and count % per_axis:
        return fails(shown(count))
    fits = count == per_axis * other.known_rank()
    return HOLDS if fits else fails(other.with_rank(shown(count)))


@predicate(
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must have one element, or as many as {other} has on axis {axis}, if any",
    help_=Text(
        "export {tensor} with one element, or with one for each index of axis {axis} of {other}"
    ),
)
@each_pair
def _count_is_one_or_length(
    rule: rules.CountIsOneOrExtent, tensor: NamedTensor, other: NamedTensor
) -> Answer:
    count = tensor.known_count()
    if count == 1:
        return HOLDS
    dims = other.known_dims()
    if not -len(dims) <= rule.axis < len(dims):
        return fails(other.with_rank(shown(count)))
    return _fits(count, other, rule.axis, dims[rule.axis])


@predicate(
    SHAPES_DISAGREE,
    demand="{tensor} of {op} must have as many elements as {other} has on axis {axis}",
    help_=Text("export {tensor} with one element for each index of axis {axis} of {other}"),
)
@each_pair
def _count_is_length(rule: rules.CountIsLength, tensor: NamedTensor, other: NamedTensor) -> Answer:
    count, dims = tensor.known_count(), other.known_dims()
    if not -len(dims) <= rule.axis < len(dims):
        return HOLDS  # the rule on the rank reports it
    return _fits(count, other, rule.axis, dims[rule.axis])


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
        asked(_is_product, tensor, other, length, factor[0])
        for tensor in operands(node, rule.tensor)
        for other, length in lengths(node, rule.other, rule.dim)
    )


def _is_product(tensor: NamedTensor, other: NamedTensor, length: int | None, factor: int) -> Answer:
    count, known = tensor.known_count(), other.known_length(length)
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
    rule: rules.ValuesSumIsExtent, node: BoundNode, tensor: NamedTensor
) -> Answer:
    if not operands(node, rule.other):
        return HOLDS
    total = sum(tensor.integers())
    return _sum_is_length(total, node, rule.other, rule.along)


@predicate(
    SHAPES_DISAGREE,
    demand="{tensor} of {op}, where constant, must add up to {dim} of {other}",
    help_=Text("make the values of {tensor} add up to the length of {other}"),
)
def _known_sum_is_dim(rule: rules.KnownSumIsDim, node: BoundNode) -> Answer:
    known = [tensor for tensor in operands(node, rule.tensor) if tensor.is_known]
    if node.waits and len(known) < len(operands(node, rule.tensor)):
        return unknown(NOT_YET)
    return all_of(
        asked(_adds_up_to, rule, tensor, other, length)
        for tensor in known
        for other, length in lengths(node, rule.other, rule.dim)
    )


def _adds_up_to(
    rule: rules.KnownSumIsDim, tensor: NamedTensor, other: NamedTensor, length: int | None
) -> Answer:
    total = sum(tensor.integers())
    known = other.known_length(length)
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
    return all_of(asked(_sum_fits, total, tensor, axes[0]) for tensor in operands(node, name))


def _sum_fits(total: int, tensor: NamedTensor, axis: int) -> Answer:
    dims = tensor.known_dims()
    return _fits(total, tensor, axis, dims[axis]) if -len(dims) <= axis < len(dims) else HOLDS


def _fits(count: int, tensor: NamedTensor, axis: int, length: int | None) -> Answer:
    """True if a number is a tensor's length on an axis."""
    known = tensor.known_length(length)
    if count == known:
        return HOLDS
    there = Text(
        "{name} has {length} on axis {axis}", name=tensor.name, length=shown(known), axis=axis
    )
    return fails(noted(shown(count), there))
