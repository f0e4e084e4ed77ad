"""Neighbors of the rules on dims and numbers of elements."""

import math
from collections.abc import Iterator

from atc_py.diag.codes import DIM_OUT_OF_RANGE, SHAPES_DISAGREE
from atc_py.spec.rules import (
    CountIsLength,
    CountIsOneOrExtent,
    CountIsProduct,
    CountIsRank,
    CountPerAxis,
    DimDivisible,
    DimInRange,
    DimProductInRange,
    DimsEqual,
    ElementCountInRange,
    KnownSumIsDim,
    OutputShapeWithinFull,
    PrimeDimBelow,
    SamePaddingEven,
    ShapesEqual,
)
from tests.check.boundaries import Side, boundary, inside, opened, outside
from tests.check.boundary_ground import NONE, Change, Ground, with_item


@boundary(DimInRange, DIM_OUT_OF_RANGE, "tensor")
def dim_in_range(rule: DimInRange, ground: Ground) -> Iterator[Side]:
    """Yield the bounds, and what is just past them."""
    for bound, past in zip(rule.range, (-1, 1), strict=True):
        if math.isinf(bound):
            continue
        for length, make in ((int(bound), inside), (int(bound) + past, outside)):
            change = ground.with_length(rule.tensor, rule.dim, length)
            if change is not None:
                yield make(f"{rule.dim} = {length}", change)


@boundary(DimProductInRange, DIM_OUT_OF_RANGE, "tensor", "other")
def dim_product_in_range(rule: DimProductInRange, ground: Ground) -> Iterator[Side]:
    """Yield the longest dim for a few of the other tensor, and one more."""
    for factor in (1, 2, 3):
        other = ground.with_length(rule.other, rule.dim, factor)
        for length, make in ((int(rule.range[1] // factor), inside), (None, outside)):
            long = int(rule.range[1] // factor) + 1 if length is None else length
            change = ground.with_length(rule.tensor, rule.dim, long)
            assert change is not None
            assert other is not None
            yield make(f"{rule.dim} = {long} and {factor}", change.plus(other))


@boundary(PrimeDimBelow, DIM_OUT_OF_RANGE, "tensor")
def prime_dim_below(rule: PrimeDimBelow, ground: Ground) -> Iterator[Side]:
    """Yield the primes next to the limit, and composite numbers on both sides and between."""
    below = next(number for number in range(rule.limit - 1, 1, -1) if _is_prime(number))
    above = next(number for number in range(rule.limit, 2 * rule.limit) if _is_prime(number))
    for length in (below, above - 1, above + 1):
        assert _is_prime(length) is (length == below)
        yield inside(f"{rule.dim} = {length}", _with_length(rule, ground, length))
    yield outside(f"{rule.dim} = {above}", _with_length(rule, ground, above))


def _is_prime(number: int) -> bool:
    """Return True if no smaller number but 1 divides it."""
    return number > 1 and all(number % each for each in range(2, math.isqrt(number) + 1))


def _with_length(rule: PrimeDimBelow | DimDivisible, ground: Ground, length: int) -> Change:
    """Return the node with that dim."""
    change = ground.with_length(rule.tensor, rule.dim, length)
    assert change is not None
    return change


@boundary(DimDivisible, DIM_OUT_OF_RANGE)
def dim_divisible(rule: DimDivisible, ground: Ground) -> Iterator[Side]:
    """Yield multiples of a few numbers, and their neighbors; numbers that divide nothing."""
    for divisor in (1, 2, 3):
        set_ = ground.set(rule.attribute, (divisor,))
        for length in (2 * divisor - 1, 2 * divisor, 2 * divisor + 1):
            make = outside if length % divisor else inside
            change = _with_length(rule, ground, length).plus(set_)
            yield make(f"{rule.attribute} = {divisor}, {rule.dim} = {length}", change)
        change = ground.opened(rule.tensor, rank_too=False).plus(set_)
        yield opened(f"{rule.attribute} = {divisor}, {rule.tensor} open", change)
    for divisor in (0, -1):
        yield outside(f"{rule.attribute} = {divisor}", ground.set(rule.attribute, (divisor,)))


@boundary(DimsEqual, SHAPES_DISAGREE, "tensor", "other")
def dims_equal(rule: DimsEqual, ground: Ground) -> Iterator[Side]:
    """Yield equal dims, and some of one or two more."""
    yield inside("dims as in the example", NONE)
    for dim in rule.dims:
        axis = ground.axis(rule.tensor, dim)
        shape = ground.shape(rule.tensor)
        for more in (1, 2):
            change = ground.resized(rule.tensor, with_item(shape, axis, shape[axis] + more))
            yield outside(f"{dim} = {shape[axis] + more}", change)


@boundary(ShapesEqual, SHAPES_DISAGREE, "tensor", "other")
def shapes_equal(rule: ShapesEqual, ground: Ground) -> Iterator[Side]:
    """Yield one shape, another length on each axis, another rank."""
    shape = ground.shape(rule.tensor)
    same = ground.resized(rule.other, shape)
    yield inside("one shape", same)
    for axis, length in enumerate(shape):
        for other in (1, length + 1):
            change = ground.resized(rule.other, with_item(shape, axis, other))
            yield outside(f"{other} on axis {axis}", change)
    for other_shape in (shape[1:], (1, *shape), ()):
        yield outside(f"shape {other_shape}", ground.resized(rule.other, other_shape))


@boundary(CountIsRank, SHAPES_DISAGREE, "tensor", "other")
def count_is_rank(rule: CountIsRank, ground: Ground) -> Iterator[Side]:
    """Yield one element for each axis, one less and one more."""
    yield from _counts(rule.tensor, len(ground.shape(rule.other)), ground, 1)


@boundary(CountPerAxis, SHAPES_DISAGREE, "tensor", "other")
def count_per_axis(rule: CountPerAxis, ground: Ground) -> Iterator[Side]:
    """Yield the elements for each axis, one less, one more, those of an axis too few; and none."""
    rank = len(ground.shape(rule.other))
    yield from _counts(rule.tensor, rule.count * rank, ground, rule.count)
    yield inside("no element", ground.resized(rule.tensor, (0,)))


def _counts(name: str, count: int, ground: Ground, per_axis: int) -> Iterator[Side]:
    """Yield just enough elements, and some more or less."""
    yield inside(f"{count} elements", ground.resized(name, (count,)))
    for other in (count - per_axis, count - 1, count + 1, count + per_axis):
        yield outside(f"{other} elements", ground.resized(name, (other,)))


@boundary(CountIsLength, SHAPES_DISAGREE, "tensor", "other")
def count_is_length(rule: CountIsLength, ground: Ground) -> Iterator[Side]:
    """Yield the axis's dim, and numbers beside it."""
    length = ground.shape(rule.other)[rule.axis]
    yield inside(f"{length} elements", ground.resized(rule.tensor, (length,)))
    for count in (length - 1, length + 1):
        yield outside(f"{count} elements", ground.resized(rule.tensor, (count,)))


@boundary(CountIsProduct, SHAPES_DISAGREE, "tensor", "other")
def count_is_product(rule: CountIsProduct, ground: Ground) -> Iterator[Side]:
    """Yield the product, and numbers beside it."""
    (factor,) = ground.items(rule.attribute)
    product = ground.shape(rule.other)[ground.axis(rule.other, rule.dim)] * factor
    yield inside(f"{product} elements", ground.resized(rule.tensor, (product,)))
    for count in (product - 1, product + 1):
        yield outside(f"{count} elements", ground.resized(rule.tensor, (count,)))


@boundary(KnownSumIsDim, SHAPES_DISAGREE, "other")
def known_sum_is_dim(rule: KnownSumIsDim, ground: Ground) -> Iterator[Side]:
    """Yield the sum, one more in every place, and values of run time."""
    parts = ground.values(rule.tensor)
    assert parts
    yield inside(f"{parts}", NONE)
    for position, part in enumerate(parts):
        items = with_item(parts, position, part + 1)
        yield outside(f"{items}", ground.constant(rule.tensor, items))
    yield inside(f"{rule.tensor} fed", Change(values={rule.tensor: None}))


@boundary(CountIsOneOrExtent, SHAPES_DISAGREE, "tensor", "other")
def count_is_one_or_extent(rule: CountIsOneOrExtent, ground: Ground) -> Iterator[Side]:
    """Yield one element, the axis's dim, numbers beside that; a tensor without the axis."""
    other = ground.shape(rule.other)
    length = other[rule.axis]
    for count in (1, length):
        yield inside(f"{count} elements", ground.resized(rule.tensor, (count,)))
    for count in (0, length - 1, length + 1):
        yield outside(f"{count} elements", ground.resized(rule.tensor, (count,)))
    cut = ground.resized(rule.other, other[: rule.axis])
    yield inside("one element, no axis", cut.plus(ground.resized(rule.tensor, (1,))))
    yield outside("two elements, no axis", cut.plus(ground.resized(rule.tensor, (2,))))


@boundary(ElementCountInRange, DIM_OUT_OF_RANGE, "tensor")
def element_count(rule: ElementCountInRange, ground: Ground) -> Iterator[Side]:
    """Yield the bounds, and what is just past them."""
    for bound, past in zip(rule.range, (-1, 1), strict=True):
        counts = () if math.isinf(bound) else ((bound, inside), (bound + past, outside))
        for count, make in counts:
            yield make(f"{count} elements", ground.resized(rule.tensor, (int(count),)))


@boundary(OutputShapeWithinFull, SHAPES_DISAGREE, "tensor", "other")
def output_shape(rule: OutputShapeWithinFull, ground: Ground) -> Iterator[Side]:
    """Yield the dims that all windows cover, without padding; one more on each axis."""
    name = rule.attribute
    for steps in ({}, {"strides": (3, 1)}, {"strides": (2, 3), "output_padding": (1, 2)}):
        free = Change(attributes={**steps, name: None, "pads": None})
        result = ground.dims(ground.spec.outputs[0].name, free)
        assert result is not None
        full = tuple(int(length or 0) for length in result[2:])
        yield inside(f"{name} {full}", free.plus(ground.set(name, full)))
        for axis, length in enumerate(full):
            larger = with_item(full, axis, length + 1)
            yield outside(f"{name} {larger}", free.plus(ground.set(name, larger)))
    for wrong in ((1,), (1, 1, 1)):
        yield outside(f"{name} {wrong}", ground.set(name, wrong))


@boundary(SamePaddingEven, SHAPES_DISAGREE, "tensor")
def same_padding(rule: SamePaddingEven, ground: Ground) -> Iterator[Side]:
    """Yield windows on dims of 8: padding of 0, 1 and 2, and windows that leave some out."""
    assert ground.shape(rule.tensor)[2:] == (8, 8)
    for window, stride, make in (
        (2, 2, inside),
        (3, 1, inside),
        (1, 3, inside),
        (4, 3, inside),
        (2, 1, outside),
        (3, 3, outside),
    ):
        steps = Change(attributes={"strides": (stride, stride)})
        yield make(f"{window} by {stride}", steps.plus(ground.set(rule.attribute, [window] * 2)))
        for axis in (0, 1):
            strides = with_item((1, 1), axis, stride)
            steps = Change(attributes={"strides": strides})
            windows = with_item((3, 3), axis, window)
            what = f"{windows} by {strides}"
            yield make(what, steps.plus(ground.set(rule.attribute, windows)))
