"""Neighbors of the rules on attributes."""

import math
from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from atc_py.diag.codes import ATTR_MISSING, ATTR_NOT_SUPPORTED, ATTR_OUT_OF_RANGE
from atc_py.spec import AttributeType
from atc_py.spec.implied import AttrAtDefault, AttrInRange, AttrPresent
from atc_py.spec.rules import (
    AttrDistinct,
    AttrEachInRange,
    AttrElementsAre,
    AttrExcludes,
    AttrGiven,
    AttrLength,
    AttrLengthsEqual,
    AttrMultiple,
    AttrOdd,
    AttrOneOf,
    AttrPositive,
    EquationOneOf,
    EquationWrittenOut,
    ProductAtMost,
)
from tests.check.boundaries import Side, boundary, inside, outside
from tests.check.boundary_ground import NONE, Change, Ground, with_item

_FAR = 2**31
"""A number within every bound that is infinite."""


@boundary(AttrPresent, ATTR_MISSING)
def present(rule: AttrPresent, _ground: Ground) -> Iterator[Side]:
    """Set, and not."""
    yield inside(f"{rule.attribute} set", NONE)
    yield outside(f"no {rule.attribute}", Change(attributes={rule.attribute: None}))


@boundary(AttrGiven, ATTR_MISSING)
def given(rule: AttrGiven, ground: Ground) -> Iterator[Side]:
    """Yield set, not set, and empty."""
    (row,) = ground.attributes
    yield inside(f"{rule.attribute} set", NONE)
    yield outside(f"no {rule.attribute}", Change(attributes={rule.attribute: None}))
    if row.type.is_list:
        yield outside(f"{rule.attribute} empty", Change(attributes={rule.attribute: ()}))


@boundary(AttrExcludes, ATTR_OUT_OF_RANGE)
def excludes(rule: AttrExcludes, ground: Ground) -> Iterator[Side]:
    """Yield the value in every place, and the nearest float32 numbers beside it."""
    start = ground.items(rule.attribute)
    value = np.float32(rule.value)
    near = [float(np.nextafter(value, np.float32(toward))) for toward in (-np.inf, np.inf)]
    for position in range(len(start)):
        for each in (rule.value, *near):
            make = outside if each == rule.value else inside
            yield make(f"{each}", ground.set(rule.attribute, with_item(start, position, each)))


@boundary(AttrAtDefault, ATTR_NOT_SUPPORTED)
def at_default(_rule: AttrAtDefault, ground: Ground) -> Iterator[Side]:
    """Yield not set, at the default, and at other values."""
    (row,) = ground.attributes
    default = row.default_at(ground.opset)
    yield inside(f"no {row.name}", Change(attributes={row.name: None}))
    if default is not None:
        yield inside(f"{row.name} = {default}", Change(attributes={row.name: default}))
    for value in _unusual(row.type):
        if value != default:
            yield outside(f"{row.name} set", Change(attributes={row.name: value}))


def _unusual(kind: AttributeType) -> tuple[Any, ...]:
    """Return values of a type; at most one of them is a default."""
    if kind is AttributeType.SPARSE_TENSOR:
        values = helper.make_tensor("values", TensorProto.FLOAT, [1], [1.0])
        indices = helper.make_tensor("indices", TensorProto.INT64, [1], [2])
        return (helper.make_sparse_tensor(values, indices, [3]),)
    element: tuple[Any, ...] = {
        AttributeType.INT: (-1, 0, 1),
        AttributeType.FLOAT: (0.0, 0.5, 1.0, -1.0),
        AttributeType.STRING: ("a",),
    }[kind.element]
    return tuple((value,) for value in element) if kind.is_list else element


@boundary(AttrOneOf, ATTR_OUT_OF_RANGE)
def one_of(rule: AttrOneOf, ground: Ground) -> Iterator[Side]:
    """Yield every value that is listed, and some beside and between them."""
    (row,) = ground.attributes
    start = ground.items(row.name)
    for position in range(len(start)):
        for value in rule.one_of:
            change = ground.set(row.name, with_item(start, position, value))
            yield inside(f"{row.name} {value}", change)
        for value in _beside(rule.one_of):
            change = ground.set(row.name, with_item(start, position, value))
            yield outside(f"{row.name} {value}", change)


def _beside(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return values that are not listed, as near as they can be."""
    first = values[0]
    if isinstance(first, str):
        near: list[Any] = [first.swapcase(), f"{first}2", first[:-1], ""]
    elif isinstance(first, float):
        near = [first - 0.5, first + 0.5]
    else:
        near = [*range(min(values) - 1, max(values) + 2)]
    return tuple(value for value in near if value not in values)


@boundary(AttrPositive, ATTR_OUT_OF_RANGE)
def positive(rule: AttrPositive, ground: Ground) -> Iterator[Side]:
    """Yield the least float32 above 0, and 0; a negative number, infinity and NaN."""
    start = ground.items(rule.attribute)
    for value in (2.0**-149, 1.0, 3e38):
        yield inside(f"{value}", ground.set(rule.attribute, with_item(start, 0, value)))
    for value in (0.0, -1.0, math.inf, math.nan):
        yield outside(f"{value}", ground.set(rule.attribute, with_item(start, 0, value)))


@boundary(AttrInRange, ATTR_OUT_OF_RANGE)
def in_range(rule: AttrInRange, ground: Ground) -> Iterator[Side]:
    """Yield the bounds, and what is just past them."""
    yield from _bounds(rule.attribute, rule.range, ground)


@boundary(AttrEachInRange, ATTR_OUT_OF_RANGE)
def each_in_range(rule: AttrEachInRange, ground: Ground) -> Iterator[Side]:
    """Yield the bounds, and what is just past them, in every place."""
    yield from _bounds(rule.attribute, rule.range, ground)


def _bounds(name: str, bounds: tuple[float, float], ground: Ground) -> Iterator[Side]:
    """Yield both bounds in every place of an attribute."""
    least, most = bounds
    start = ground.items(name)
    row = ground.spec.attribute(name)
    if row is not None and row.type is AttributeType.FLOAT:
        yield from _float_bounds(row.name, bounds, ground)
        return
    for position in range(len(start)):
        for bound, past in ((least, -1), (most, 1)):
            finite = not math.isinf(bound)
            value = int(bound) if finite else past * _FAR
            change = ground.set(name, with_item(start, position, value))
            yield inside(f"{name} {value}", change)
            if finite:
                change = ground.set(name, with_item(start, position, value + past))
                yield outside(f"{name} {value + past}", change)


def _float_bounds(name: str, bounds: tuple[float, float], ground: Ground) -> Iterator[Side]:
    """Yield the last float32 within each bound, and the first one past it."""
    for bound, past in zip(bounds, (-np.inf, np.inf), strict=True):
        value = np.float32(bound)
        if not bounds[0] <= float(value) <= bounds[1]:
            value = np.nextafter(value, np.float32(-past))
        beyond = np.nextafter(value, np.float32(past))
        for each, make in ((value, inside), (beyond, outside)):
            yield make(f"{name} {each!r}", ground.set(name, (float(each),)))


@boundary(AttrOdd, ATTR_OUT_OF_RANGE)
def odd(rule: AttrOdd, ground: Ground) -> Iterator[Side]:
    """Yield odd numbers, and their neighbors."""
    for value in (1, 3, 5):
        yield inside(f"{rule.attribute} {value}", ground.set(rule.attribute, (value,)))
        yield outside(f"{rule.attribute} {value - 1}", ground.set(rule.attribute, (value - 1,)))


@boundary(AttrMultiple, ATTR_OUT_OF_RANGE)
def multiple(rule: AttrMultiple, ground: Ground) -> Iterator[Side]:
    """Yield multiples, and what is next to them."""
    for value in (rule.factor, 3 * rule.factor):
        yield inside(f"{rule.attribute} {value}", ground.set(rule.attribute, (value,)))
        yield outside(f"{rule.attribute} {value + 1}", ground.set(rule.attribute, (value + 1,)))


@boundary(AttrDistinct, ATTR_OUT_OF_RANGE)
def distinct(rule: AttrDistinct, ground: Ground) -> Iterator[Side]:
    """Yield different elements, and one of them twice, in any two places."""
    name = rule.attribute
    for items in ((0,), (0, 1), (0, 2, 1)):
        yield inside(f"{name} {items}", ground.set(name, items))
    for items in ((0, 0), (1, 1), (0, 1, 0), (0, 1, 1), (1, 1, 0)):
        yield outside(f"{name} {items}", ground.set(name, items))


@boundary(AttrLength, ATTR_OUT_OF_RANGE)
def length(rule: AttrLength, ground: Ground) -> Iterator[Side]:
    """Yield one element less, just enough, one more, and none."""
    items = ground.items(rule.attribute)
    for count in {0, rule.length - 1, rule.length, rule.length + 1}:
        change = ground.set(rule.attribute, tuple(islice(cycle(items), count)))
        make = inside if count == rule.length else outside
        yield make(f"{count} elements of {rule.attribute}", change)


@boundary(AttrLengthsEqual, ATTR_OUT_OF_RANGE)
def lengths_equal(rule: AttrLengthsEqual, ground: Ground) -> Iterator[Side]:
    """Yield just as many elements, one less and one more."""
    items, wanted = ground.items(rule.attribute), len(ground.items(rule.along))
    for count in (wanted - 1, wanted, wanted + 1):
        change = ground.set(rule.attribute, tuple(islice(cycle(items), count)))
        make = inside if count == wanted else outside
        yield make(f"{count} elements of {rule.attribute}", change)


@boundary(AttrElementsAre, ATTR_OUT_OF_RANGE)
def elements_are(rule: AttrElementsAre, ground: Ground) -> Iterator[Side]:
    """Yield the value in every place named, then one more and one less in each of them."""
    items = ground.items(rule.attribute)
    for position in rule.positions:
        items = with_item(items, position, rule.value)
    yield inside(f"{rule.attribute} {items}", ground.set(rule.attribute, items))
    for position in rule.positions:
        for beside in (rule.value - 1, rule.value + 1):
            wrong = with_item(items, position, beside)
            yield outside(f"{rule.attribute} {wrong}", ground.set(rule.attribute, wrong))


@boundary(ProductAtMost, ATTR_OUT_OF_RANGE)
def product(rule: ProductAtMost, ground: Ground) -> Iterator[Side]:
    """Yield products at the limit and one more, in every place; and the nearest square."""
    ones = (1,) * len(ground.items(rule.attribute))
    for position in range(len(ones)):
        for value, make in ((rule.limit, inside), (rule.limit + 1, outside)):
            items = with_item(ones, position, value)
            yield make(f"{rule.attribute} {items}", ground.set(rule.attribute, items))
    root = math.isqrt(rule.limit)
    for value, make in ((root, inside), (root + 1, outside)):
        items = with_item(with_item(ones, 0, value), len(ones) - 1, value)
        yield make(f"{rule.attribute} {items}", ground.set(rule.attribute, items))


@boundary(EquationOneOf, ATTR_OUT_OF_RANGE)
def equation_one_of(rule: EquationOneOf, ground: Ground) -> Iterator[Side]:
    """Yield every equation, in its letters and in others, with blanks; and some that are others."""
    name, first = rule.attribute, rule.one_of[0]
    renamed = first.translate({ord("a") + place: "zYxWv"[place] for place in range(5)})
    for text in (*rule.one_of, renamed, first.replace(",", " , ")):
        yield inside(f"{name} {text}", ground.set(name, (text,)))
    operands, _, result = first.partition("->")
    for text in (f"{operands}->{result[::-1]}", f"{first}f", f"...{first}", operands[1:], "", "->"):
        yield outside(f"{name} {text}", ground.set(name, (text,)))


@boundary(EquationWrittenOut, ATTR_OUT_OF_RANGE)
def equation_written_out(rule: EquationWrittenOut, ground: Ground) -> Iterator[Side]:
    """Yield the equation of the example; with a blank in each place, and without its result."""
    name = rule.attribute
    (text,) = ground.items(name)
    yield inside(f"{name} {text}", ground.set(name, (text,)))
    for place in (0, 1, len(text)):
        blank = f"{text[:place]} {text[place:]}"
        yield outside(f"{name} {blank}", ground.set(name, (blank,)))
    yield outside(f"{name} implicit", ground.set(name, (text.partition("->")[0],)))
