"""Predicates on numbers of elements and sums that must fit a shape, known and open."""

from typing import Any

import numpy as np
import pytest

from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec import Rule
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
from tests.check.bound_nodes import NO_RANK, answer, bound, constant, said, tensor
from tests.failures import in_one_item

RANK = CountIsRank(tensor="J", other="I")
PER_AXIS = CountPerAxis(tensor="J", other="I", count=2)
SCALE = CountIsLength(tensor="J", other="I", axis=1)
ROWS = KnownSumIsDim(tensor="I", other="W", dim="O")
BIAS = CountIsProduct(tensor="J", other="W", dim="I", attribute="group")
SLOPE = CountIsOneOrExtent(tensor="J", other="I", axis=1)
PARTS = AttrSumIsExtent(attribute="axes", tensor="I", along="axis")
INPUT_PARTS = ValuesSumIsExtent(tensor="J", other="I", along="axis")


@in_one_item(
    ("rule", "counted", "other", "expected"),
    [
        (RANK, tensor(3), tensor(1, None, 3), "holds"),
        (RANK, constant([2, 2]), tensor(1, 2, 3), "fails: 2 (I has rank 3)"),
        (RANK, constant(2), tensor(1, 2, 3), "fails: 1 (I has rank 3)"),
        (RANK, tensor(None), tensor(1, 2, 3), "unknown: J is ?"),
        (RANK, tensor(3), NO_RANK, "unknown: the rank of I is not known"),
        (PER_AXIS, tensor(6), tensor(1, 2, 3), "holds"),
        (PER_AXIS, tensor(0), tensor(1, 2, 3), "holds"),
        (PER_AXIS, tensor(0), NO_RANK, "holds"),
        (PER_AXIS, tensor(3), tensor(1, 2, 3), "fails: 3 (I has rank 3)"),
        (PER_AXIS, tensor(3), NO_RANK, "fails: 3"),
        (PER_AXIS, tensor(4), NO_RANK, "unknown: the rank of I is not known"),
        (PER_AXIS, tensor(None), tensor(1, 2, 3), "unknown: J is ?"),
        (SCALE, tensor(64), tensor(1, 64, None), "holds"),
        (SCALE, tensor(1), tensor(1, 64), "fails: 1 (I has 64 on axis 1)"),
        (SCALE, tensor(8), tensor(8), "holds"),
        (SCALE, tensor(8), tensor(1, None), "unknown: I is 1x?"),
        (SCALE, tensor(8), NO_RANK, "unknown: the rank of I is not known"),
        (SCALE, tensor(None), tensor(1, 64), "unknown: J is ?"),
        (SLOPE, tensor(1), NO_RANK, "holds"),
        (SLOPE, tensor(), tensor(8), "holds"),
        (SLOPE, tensor(64), tensor(1, 64, None), "holds"),
        (SLOPE, tensor(64, 1, 1), tensor(1, 64, 7, 7), "holds"),
        (SLOPE, tensor(7), tensor(1, 64, 7), "fails: 7 (I has 64 on axis 1)"),
        (SLOPE, tensor(8), tensor(8), "fails: 8 (I has rank 1)"),
        (SLOPE, tensor(8), tensor(1, None), "unknown: I is 1x?"),
        (SLOPE, tensor(8), NO_RANK, "unknown: the rank of I is not known"),
        (SLOPE, tensor(None), tensor(1, 64), "unknown: J is ?"),
    ],
)
def test_number_of_elements_that_another_shape_asks_for(
    rule: Rule, counted: SourceTensor, other: SourceTensor, expected: str
) -> None:
    assert said(rule, bound(J=counted, I=other)) == expected


@in_one_item(
    ("parts", "whole", "expected"),
    [
        (constant([2, 3]), tensor(5, 1, 1, 1), "holds"),
        (constant([2, 4]), tensor(5, 1, 1, 1), "fails: 6 (O of W is 5)"),
        (constant([2.5], np.float32), tensor(5, 1, 1, 1), "fails: [2.5]"),
        (tensor(2), tensor(5, 1, 1, 1), "holds"),
        (constant([2, 3]), tensor(None, 1, 1, 1), "unknown: W is ?x1x1x1"),
        (constant([2, 3]), tensor(5), "holds"),
    ],
)
def test_values_that_add_up_to_a_dim_where_known(
    parts: SourceTensor, whole: SourceTensor, expected: str
) -> None:
    assert said(ROWS, bound(I=parts, W=whole)) == expected


@in_one_item(
    ("group", "counted", "weights", "expected"),
    [
        (1, tensor(5), tensor(9, 5, 3, 3), "holds"),
        (4, tensor(20), tensor(None, 5, 3, 3), "holds"),
        (4, tensor(5), tensor(9, 5, 3, 3), "fails: 5 (5 * 4 = 20)"),
        (4, tensor(None), tensor(9, 5, 3, 3), "unknown: J is ?"),
        (4, tensor(20), tensor(9, None, 3, 3), "unknown: W is 9x?x3x3"),
        (4, tensor(20), tensor(9, 5), "holds"),
        ("4", tensor(5), tensor(9, 5, 3, 3), "holds"),
    ],
)
def test_number_of_elements_that_a_dim_times_an_attribute_asks_for(
    group: Any, counted: SourceTensor, weights: SourceTensor, expected: str
) -> None:
    assert said(BIAS, bound(attributes={"group": group}, J=counted, W=weights)) == expected


@in_one_item(
    ("parts", "along", "other", "expected"),
    [
        ((2, 4), 1, tensor(1, 6), "holds"),
        ((2, 4), -1, tensor(None, 6), "holds"),
        ((2, 4), 1, tensor(1, 7), "fails: 6 (I has 7 on axis 1)"),
        ((2**62, 2**62, 2**62), 0, tensor(7), f"fails: {3 * 2**62} (I has 7 on axis 0)"),
        ((), 0, tensor(7), "fails: 0 (I has 7 on axis 0)"),
        ((2, 4), 1, tensor(6, None), "unknown: I is 6x?"),
        ((2, 4), 1, NO_RANK, "unknown: the rank of I is not known"),
        ((2, 4), 5, tensor(1, 7), "holds"),
        ((2, 4), "1", tensor(1, 7), "holds"),
        ("24", 1, tensor(1, 7), 'fails: "24"'),
        (6, 1, tensor(1, 6), "fails: 6"),
        ((2.5, 3.5), 1, tensor(1, 6), "fails: [2.5, 3.5]"),
    ],
)
def test_elements_that_add_up_to_a_dim(
    parts: Any, along: Any, other: SourceTensor, expected: str
) -> None:
    node = bound(attributes={"axes": parts, "axis": along}, I=other)
    assert said(PARTS, node) == expected


@in_one_item(
    ("parts", "other", "expected"),
    [
        (constant([2, 4]), tensor(1, 6), "holds"),
        (constant([2, 4]), tensor(1, 7), "fails: 6 (I has 7 on axis 1)"),
        (constant([200, 200], np.uint8), tensor(1, 400), "holds"),
        (constant([2, 4]), tensor(1, None), "unknown: I is 1x?"),
        (tensor(2), tensor(1, 6), "unknown: J is not constant"),
        (constant([2.0, 4.0], np.float32), tensor(1, 6), "fails: [2.0, 4.0]"),
        (constant([True], np.bool_), tensor(1, 1), "fails: [true]"),
        (constant(6), tensor(1, 6), "holds"),
    ],
)
def test_values_that_add_up_to_a_dim(
    parts: SourceTensor, other: SourceTensor, expected: str
) -> None:
    assert said(INPUT_PARTS, bound(J=parts, I=other)) == expected


@pytest.mark.parametrize("rule", [RANK, PER_AXIS, SLOPE, PARTS, INPUT_PARTS], ids=lambda r: r.name)
def test_counts_and_sums_of_absent_tensors_keep_every_rule(rule: Rule) -> None:
    attributes: dict[str, Any] = {"axes": (9, 9)}
    assert said(rule, bound(attributes=attributes)) == "holds"
    given = {str(rule.arguments["tensor"]): tensor(1, 1, 1, 1)}
    assert said(rule, bound(tensors=given)) == "holds"


def test_what_is_said_of_counts_reads_as_well_in_chinese() -> None:
    other = tensor(1, 8, 5)
    assert answer(SLOPE, bound(J=tensor(7), I=other)).observed.zh == "7（I 在轴 1 上的长度为 8）"
    assert answer(RANK, bound(J=tensor(7), I=other)).observed.zh == "7（I 的秩为 3）"
