"""Neighbors of the rules on axes, and on parts along an axis."""

from collections.abc import Callable, Iterator, Sequence

from atc_py.diag.codes import (
    ATTR_OUT_OF_RANGE,
    DIM_OUT_OF_RANGE,
    SHAPES_DISAGREE,
    VALUE_OUT_OF_RANGE,
)
from atc_py.spec.rules import (
    AttrPermutation,
    AttrSumIsExtent,
    AxesExtentIsOne,
    AxesInRank,
    AxisExtentIsOne,
    AxisInRank,
    AxisIs,
    LastStepIsOne,
    ValuesSumIsExtent,
)
from tests.check.boundaries import Side, boundary, inside, opened, outside
from tests.check.boundary_ground import NONE, Change, Ground, with_item


@boundary(AttrPermutation, ATTR_OUT_OF_RANGE, "tensor")
def permutation(rule: AttrPermutation, ground: Ground) -> Iterator[Side]:
    """Yield orders of all axes; one axis twice, too few or too many axes, axes that are none."""
    axes = tuple(range(len(ground.shape(rule.tensor))))
    name = rule.attribute
    for items in (axes, axes[::-1], (*axes[1:], axes[0])):
        yield inside(f"{name} {items}", ground.set(name, items))
    for items in (
        with_item(axes, 0, axes[-1]),
        axes[:-1],
        (*axes, len(axes)),
        with_item(axes, len(axes) - 1, len(axes)),
        with_item(axes, len(axes) - 1, -1),
        (),
    ):
        yield outside(f"{name} {items}", ground.set(name, items))


@boundary(AxisInRank, ATTR_OUT_OF_RANGE, "tensor")
def axis_in_rank(rule: AxisInRank, ground: Ground) -> Iterator[Side]:
    """Yield the first and the last axis, counted from either end, and what is past them."""
    start = ground.items(rule.attribute)
    yield from _in_rank(
        rule.attribute, start, ground, lambda axes: ground.set(rule.attribute, axes)
    )


@boundary(AxesInRank, VALUE_OUT_OF_RANGE, "tensor")
def axes_in_rank(rule: AxesInRank, ground: Ground) -> Iterator[Side]:
    """Yield the first and the last axis, counted from either end, and what is past them."""
    start = ground.values(rule.axes) or (0,)
    yield from _in_rank(rule.axes, start, ground, lambda axes: ground.constant(rule.axes, axes))


def _in_rank(
    name: str, start: Sequence[int], ground: Ground, change: Callable[[Sequence[int]], Change]
) -> Iterator[Side]:
    """Yield all four ends in every place of a list of axes, in which none stands twice."""
    dims = ground.dims(str(ground.rule.arguments["tensor"]))
    if dims is None:
        return
    rank = len(dims)
    for position in range(len(start)):
        for axis, make in (
            (-rank, inside),
            (rank - 1, inside),
            (-rank - 1, outside),
            (rank, outside),
        ):
            free = iter(each for each in range(rank) if each != axis % rank)
            axes = [axis if place == position else next(free) for place in range(len(start))]
            yield make(f"{name} {axes}", change(axes))


@boundary(AxisIs, ATTR_OUT_OF_RANGE, "tensor")
def axis_is(rule: AxisIs, ground: Ground) -> Iterator[Side]:
    """Yield the axis, and the others: with dims of 1 before it, one of 2, or an open one."""
    name = rule.tensor
    for shape in (ground.shape(name), (2, 3, 4), (2,)):
        rank = len(shape)
        last = rule.axis % max(rank, 2)
        for first in range(rank):
            way = [*range(first + 1, last + 1), *range(last, first)]
            ones = tuple(1 if axis in way else length for axis, length in enumerate(shape))
            for axis in (first, first - rank):
                axes = ground.set(rule.attribute, (axis,))
                reached = last < rank or rule.axis < 0
                make = inside if reached else outside
                yield make(f"axis {axis} of {ones}", axes.plus(ground.resized(name, ones)))
                for each in way if reached and last < rank else ():
                    other = with_item(ones, each, 2)
                    yield outside(f"axis {axis} of {other}", axes.plus(ground.resized(name, other)))
    away = ground.set(rule.attribute, (0,)).plus(ground.opened(name, rank_too=False))
    yield opened("another axis of open dims", away)


@boundary(LastStepIsOne, VALUE_OUT_OF_RANGE, "tensor")
def last_step(rule: LastStepIsOne, ground: Ground) -> Iterator[Side]:
    """Yield steps on the last axis, however it is named, and on the others."""
    last = len(ground.shape(rule.tensor)) - 1
    for axes, steps, make in (
        ((last,), (1,), inside),
        ((0,), (2,), inside),
        ((-last - 1, -1), (-1, 1), inside),
        ((last,), (2,), outside),
        ((-1,), (2,), outside),
        ((last,), (-1,), outside),
        ((last,), (0,), outside),
        ((0, -1), (1, 2), outside),
        ((last, 0), (2, 1), outside),
    ):
        change = _cut(rule, ground, len(steps)).plus(ground.constant(rule.steps, steps))
        yield make(f"steps {steps} on axes {axes}", change.plus(ground.constant(rule.axes, axes)))
    ones = (1,) * last
    without = Change(shapes={rule.axes: None}, values={rule.axes: None})
    for each, make in (((*ones, 1), inside), ((2, *ones), inside), ((*ones, 2), outside)):
        change = _cut(rule, ground, len(each)).plus(ground.constant(rule.steps, each))
        yield make(f"steps {each} without axes", change.plus(without))


def _cut(rule: LastStepIsOne, ground: Ground, count: int) -> Change:
    """Return the other lists of the node, which have an element for each step."""
    change = NONE
    for name in ground.given:
        if name not in {rule.tensor, rule.axes, rule.steps}:
            change = change.plus(ground.resized(name, (count,)))
    return change


@boundary(AxisExtentIsOne, DIM_OUT_OF_RANGE, "tensor")
def axis_extent(rule: AxisExtentIsOne, ground: Ground) -> Iterator[Side]:
    """Yield dims of 0, 1 and 2 on the axes that an attribute names."""
    yield from _lengths(rule.tensor, ground.items(rule.attribute), ground)


@boundary(AxesExtentIsOne, DIM_OUT_OF_RANGE, "tensor")
def axes_extent(rule: AxesExtentIsOne, ground: Ground) -> Iterator[Side]:
    """Yield dims of 0, 1 and 2 on the axes that an input names."""
    yield from _lengths(rule.tensor, ground.values(rule.axes) or (), ground)


def _lengths(name: str, axes: Sequence[int], ground: Ground) -> Iterator[Side]:
    """Yield dims of 0, 1 and 2 on each axis; 2 on the others."""
    shape = ground.shape(name)
    assert axes
    yield inside("1 on all axes named", NONE)
    for axis in range(len(shape)):
        named = axis in {each % len(shape) for each in axes}
        for length in (0, 2):
            make = outside if named else inside
            change = ground.resized(name, with_item(shape, axis, length))
            yield make(f"{length} on axis {axis}", change)


@boundary(AttrSumIsExtent, SHAPES_DISAGREE, "tensor")
def attribute_sum(rule: AttrSumIsExtent, ground: Ground) -> Iterator[Side]:
    """Yield parts that add up to the dim, to one less and to one more."""
    parts = ground.items(rule.attribute)
    for what, items, make in _sums(parts):
        yield make(what, ground.set(rule.attribute, items))
    yield from _moved(rule.tensor, rule.along, ground)


@boundary(ValuesSumIsExtent, SHAPES_DISAGREE, "other")
def values_sum(rule: ValuesSumIsExtent, ground: Ground) -> Iterator[Side]:
    """Yield parts that add up to the dim, to one less and to one more."""
    for what, items, make in _sums(ground.values(rule.tensor) or ()):
        yield make(what, ground.constant(rule.tensor, items))
    yield from _moved(rule.other, rule.along, ground)


def _sums(parts: Sequence[int]) -> Iterator[tuple[str, Sequence[int], Callable[..., Side]]]:
    """Yield parts that fit, and some that miss the dim by one or lack a part."""
    last = len(parts) - 1
    assert last > 0
    yield "parts that fit", parts, inside
    yield "parts in another order", parts[::-1], inside
    yield "one more in the first", with_item(parts, 0, parts[0] + 1), outside
    yield "one less in the last", with_item(parts, last, parts[-1] - 1), outside
    yield "a part too few", parts[:-1], outside


def _moved(name: str, along: str, ground: Ground) -> Iterator[Side]:
    """Yield fitting parts of a tensor whose dim does not fit, or along the same named axis."""
    (axis,) = ground.items(along)
    shape = ground.shape(name)
    for length in (shape[axis] - 1, shape[axis] + 1):
        change = ground.resized(name, with_item(shape, axis, length))
        yield outside(f"dim {length}", change)
    yield inside("axis from the end", ground.set(along, (axis - len(shape),)))
