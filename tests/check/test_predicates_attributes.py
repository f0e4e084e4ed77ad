"""Predicates on attributes: what they say of values, of nothing, and of values of a wrong type."""

import math
from typing import Any

import numpy as np
import pytest

from atc_py.spec import Rule, library
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
    EquationOneOf,
    EquationWrittenOut,
    ProductAtMost,
)
from tests.check.bound_nodes import Data, answer, bound, said
from tests.failures import in_one_item

MODE = AttrOneOf(attribute="mode", one_of=("fast", "slow"))
STRIDES = AttrEachInRange(attribute="strides", range=(1, 63))
BARE = AttrInRange(attribute="bare", range=(0, math.inf))
LENGTHS = AttrLengthsEqual(attribute="axes", along="strides")
PRODUCT = ProductAtMost(attribute="strides", limit=256)
ENDS = AttrElementsAre(attribute="axes", positions=(0, 3), value=1)
SUMS = EquationOneOf(attribute="mode", one_of=("ab,cb->ac", "ba,b->a"))
WRITTEN_OUT = EquationWrittenOut(attribute="mode")
LONG = (1,) * 12

CASES: list[tuple[Rule, Any, str]] = [
    (MODE, "fast", "holds"),
    (MODE, "FAST", "fails: FAST"),
    (MODE, "", 'fails: ""'),
    (MODE, 1, "fails: 1"),
    (MODE, ("fast",), "fails: [fast]"),
    (MODE, "a\x1b[2J", 'fails: "a\\x1b[2J"'),
    (AttrOneOf(attribute="axis", one_of=(0, 1)), 2, "fails: 2"),
    (AttrOneOf(attribute="axis", one_of=(0, 1)), True, "fails: true"),
    (AttrOneOf(attribute="axis", one_of=(0, 1)), 1.0, "fails: 1.0"),
    (AttrOneOf(attribute="axes", one_of=(0, 1)), (0, 1, 0), "holds"),
    (AttrOneOf(attribute="axes", one_of=(0, 1)), (0, 2), "fails: [0, 2]"),
    (AttrOneOf(attribute="alpha", one_of=(0.2,)), float(np.float32(0.2)), "holds"),
    (AttrOneOf(attribute="alpha", one_of=(0.2,)), 0.2001, "fails: 0.2001"),
    (AttrOneOf(attribute="alpha", one_of=(0.2,)), math.nan, "fails: nan"),
    (AttrOneOf(attribute="flag", one_of=(True,)), 1, "holds"),
    (AttrOneOf(attribute="flag", one_of=(True,)), 0, "fails: false"),
    (AttrOneOf(attribute="flag", one_of=(True,)), 2, "fails: 2"),
    (BARE, 0, "holds"),
    (BARE, -1, "fails: -1"),
    (BARE, 2**62, "holds"),
    (BARE, "3", 'fails: "3"'),
    (BARE, math.nan, "fails: nan"),
    (BARE, (3,), "fails: [3]"),
    (AttrInRange(attribute="alpha", range=(0, 1)), 1, "holds"),
    (AttrInRange(attribute="alpha", range=(0, 1)), math.nan, "fails: nan"),
    (AttrInRange(attribute="alpha", range=(0, 1)), math.inf, "fails: inf"),
    (STRIDES, (1, 63), "holds"),
    (STRIDES, (1, 64), "fails: [1, 64]"),
    (STRIDES, (0, 1), "fails: [0, 1]"),
    (STRIDES, (*LONG, 64), "fails: [12] = 64"),
    (STRIDES, (), "fails: []"),
    (STRIDES, 1, "fails: 1"),
    (STRIDES, ("a", "b"), "fails: [a, b]"),
    (STRIDES, (1.0, 1.0), "fails: [1.0, 1.0]"),
    (STRIDES, Data(np.zeros((2, 3))), "fails: <tensor 2x3>"),
    (STRIDES, (-(2**63), 2**63 - 1), "fails: [-9223372036854775808, 9223372036854775807]"),
    (AttrEachInRange(attribute="factors", range=(0, 1)), (0.5, math.nan), "fails: [0.5, nan]"),
    (AttrOdd(attribute="bare"), 5, "holds"),
    (AttrOdd(attribute="bare"), -5, "holds"),
    (AttrOdd(attribute="bare"), 4, "fails: 4"),
    (AttrOdd(attribute="bare"), "five", "fails: five"),
    (AttrOdd(attribute="bare"), 5.0, "fails: 5.0"),
    (AttrGiven(attribute="axes"), (0,), "holds"),
    (AttrGiven(attribute="axes"), (), "fails: []"),
    (AttrGiven(attribute="bare"), 0, "holds"),
    (AttrExcludes(attribute="alpha", value=0.0), 0.5, "holds"),
    (AttrExcludes(attribute="alpha", value=0.0), 1e-38, "holds"),
    (AttrExcludes(attribute="alpha", value=0.0), -0.0, "fails: -0.0"),
    (AttrExcludes(attribute="alpha", value=0.2), float(np.float32(0.2)), "fails: 0.2"),
    (AttrExcludes(attribute="alpha", value=0.0), "zero", "fails: zero"),
    (AttrMultiple(attribute="bare", factor=2), 4, "holds"),
    (AttrMultiple(attribute="bare", factor=3), -6, "holds"),
    (AttrMultiple(attribute="bare", factor=2), 5, "fails: 5"),
    (AttrMultiple(attribute="bare", factor=2), 4.0, "fails: 4.0"),
    (AttrDistinct(attribute="axes"), (0, 1), "holds"),
    (AttrDistinct(attribute="axes"), (), "holds"),
    (AttrDistinct(attribute="axes"), (2, 1, 2), "fails: [2, 1, 2]"),
    (AttrDistinct(attribute="axes"), (*range(12), 3), "fails: [12] = 3"),
    (AttrDistinct(attribute="axes"), "aa", "fails: aa"),
    (AttrLength(attribute="axes", length=2), (7, 7), "holds"),
    (AttrLength(attribute="axes", length=2), (7,), "fails: 1 (axes = [7])"),
    (AttrLength(attribute="axes", length=2), (), "fails: 0 (axes = [])"),
    (AttrLength(attribute="axes", length=2), "ab", "fails: ab"),
    (
        AttrLength(attribute="axes", length=2),
        (0,) * 10,
        "fails: 10 (axes = [0, 0, 0, 0, 0, 0, 0, 0, ...])",
    ),
    (LENGTHS, (7, 7), "holds"),
    (LENGTHS, (7,), "fails: 1 (strides = [1, 1])"),
    (LENGTHS, (), "fails: 0 (strides = [1, 1])"),
    (LENGTHS, "ab", "fails: ab"),
    (AttrLengthsEqual(attribute="axes", along="factors"), (7,), "holds"),
    (PRODUCT, (16, 16), "holds"),
    (PRODUCT, (17, 16), "fails: 272 ([17, 16])"),
    (PRODUCT, (2**62, 2**62), "fails: >= 2^124 ([4611686018427387904, 4611686018427387904])"),
    (PRODUCT, (2**62,) * 9999, f"fails: [{', '.join([str(2**62)] * 8)}, ...]"),
    (PRODUCT, (0, 999), "holds"),
    (PRODUCT, (), "fails: []"),
    (PRODUCT, "wide", "fails: wide"),
    (PRODUCT, 999, "fails: 999"),
    (ProductAtMost(attribute="factors", limit=2), (math.nan, 1.0), "fails: [nan, 1.0]"),
    (AttrAtDefault(attribute="alpha", default=0.2), float(np.float32(0.2)), "holds"),
    (AttrAtDefault(attribute="alpha", default=0.2), 0.20000002, "holds"),
    (AttrAtDefault(attribute="alpha", default=0.2), 0.2001, "fails: 0.2001"),
    (AttrAtDefault(attribute="alpha", default=0.2), "0.2", 'fails: "0.2"'),
    (AttrAtDefault(attribute="flag", default=False), 0, "holds"),
    (AttrAtDefault(attribute="flag", default=False), 1, "fails: true"),
    (AttrAtDefault(attribute="axis", default=1), True, "fails: true"),
    (AttrAtDefault(attribute="strides", default=(1, 1)), (1, 1), "holds"),
    (AttrAtDefault(attribute="strides", default=(1, 1)), (1, 2), "fails: [1, 2]"),
    (AttrAtDefault(attribute="strides", default=(1, 1)), (1, 1, 1), "fails: [1, 1, 1]"),
    (AttrAtDefault(attribute="bare", default=None), 0, "fails: 0"),
    (AttrAtDefault(attribute="bare", default=None), "<graph>", "fails: <graph>"),
    (AttrPresent(attribute="bare"), 0, "holds"),
    (ENDS, (1, 9, 9, 1), "holds"),
    (ENDS, (1, 9, 9, 2), "fails: [1, 9, 9, 2]"),
    (ENDS, (2, 9), "fails: [2, 9]"),
    (ENDS, (1,), "holds"),
    (ENDS, (), "holds"),
    (ENDS, 1, "fails: 1"),
    (SUMS, "ab,cb->ac", "holds"),
    (SUMS, "zY,AY->zA", "holds"),
    (SUMS, " i j , k j -> i k ", "holds"),
    (SUMS, "ab,cb", "holds"),
    (SUMS, "ab,a->b", "holds"),
    (SUMS, "ab,cb->ca", 'fails: "ab,cb->ca"'),
    (SUMS, "aB,cb->ac", 'fails: "aB,cb->ac"'),
    (SUMS, "...ab,cb->...ac", 'fails: "...ab,cb->...ac"'),
    (SUMS, "ab,cb->ac->", 'fails: "ab,cb->ac->"'),
    (SUMS, "", 'fails: ""'),
    (SUMS, 3, "fails: 3"),
    (WRITTEN_OUT, "ab,cb->ac", "holds"),
    (WRITTEN_OUT, "ab,cb->a\tc", 'fails: "ab,cb->a\\tc"'),
    (WRITTEN_OUT, "ab,cb", 'fails: "ab,cb"'),
    (WRITTEN_OUT, "... ab", "holds"),
    (WRITTEN_OUT, 3, "holds"),
]


@in_one_item(("rule", "value", "expected"), CASES)
def test_predicate_on_an_attribute_says_what_it_saw(rule: Any, value: Any, expected: str) -> None:
    assert said(rule, bound(attributes={rule.attribute: value})) == expected


@pytest.mark.parametrize(
    "rule",
    [
        AttrOneOf(attribute="bare", one_of=(7,)),
        AttrInRange(attribute="bare", range=(7, 8)),
        AttrEachInRange(attribute="axes", range=(7, 8)),
        AttrMultiple(attribute="bare", factor=2),
        AttrOdd(attribute="bare"),
        AttrDistinct(attribute="axes"),
        AttrLength(attribute="axes", length=2),
        AttrLengthsEqual(attribute="axes", along="strides"),
        ProductAtMost(attribute="factors", limit=0),
        AttrAtDefault(attribute="bare", default=None),
    ],
)
def test_attribute_without_value_or_default_keeps_every_rule(rule: Rule) -> None:
    assert said(rule, bound()) == "holds"


def test_default_of_an_attribute_that_is_not_set_is_compared_with_the_rule() -> None:
    assert said(AttrOneOf(attribute="flag", one_of=(True,)), bound()) == "fails: false"
    assert said(AttrInRange(attribute="axis", range=(2, 3)), bound()) == "fails: 1"
    assert said(AttrEachInRange(attribute="strides", range=(2, 3)), bound()) == "fails: [1, 1]"


@pytest.mark.parametrize(
    "rule",
    [
        AttrOneOf(attribute="old", one_of=(0,)),
        AttrEachInRange(attribute="old", range=(0, 1)),
        AttrDistinct(attribute="old"),
        AttrLength(attribute="old", length=7),
        ProductAtMost(attribute="old", limit=1),
        EquationOneOf(attribute="old", one_of=("a->a",)),
        AttrAtDefault(attribute="old", default=None),
        AttrPresent(attribute="old"),
    ],
)
def test_attribute_that_its_opset_does_not_have_keeps_every_rule(rule: Rule) -> None:
    values = {} if type(rule) is AttrPresent else {"old": (5, 5)}
    assert said(rule, bound(opset=11, attributes=values)) == "holds"
    assert said(rule, bound(opset=10, attributes=values)).startswith("fails: ")


def test_attribute_that_must_be_set_and_is_not_fails() -> None:
    found = answer(AttrPresent(attribute="axis"), bound())
    assert (found.state.value, found.observed.en, found.observed.zh) == (
        "fails",
        "not set",
        "未设置",
    )


def test_default_of_the_opset_is_the_one_that_counts() -> None:
    rule = AttrAtDefault(attribute="alpha", default=0.2)
    assert said(rule, bound(opset=10, attributes={"alpha": 0.5})) == "holds"
    assert said(rule, bound(opset=11, attributes={"alpha": 0.5})) == "fails: 0.5"


def test_next_float32_beside_the_default_is_not_the_default() -> None:
    spec = library().find("Gemm")
    assert spec is not None
    beside = float(np.nextafter(np.float32(1), np.float32(2)))
    rule = AttrAtDefault(attribute="alpha", default=1.0)
    assert said(rule, bound(spec, attributes={"alpha": 1.0})) == "holds"
    assert said(rule, bound(spec, attributes={"alpha": beside})) == "fails: 1.0000001"
