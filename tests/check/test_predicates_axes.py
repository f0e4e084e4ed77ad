"""Predicates on axes: of known and open ranks, by attribute and by input."""

from typing import Any

import numpy as np
import pytest

from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec import Rule
from atc_py.spec.rules import (
    AttrPermutation,
    AxesExtentIsOne,
    AxesInRank,
    AxisExtentIsOne,
    AxisInRank,
    AxisIs,
    LastStepIsOne,
)
from tests.check.bound_nodes import NO_RANK, Data, answer, bound, constant, said, tensor
from tests.failures import in_one_item

PERM = AttrPermutation(attribute="axes", tensor="X")
AXIS = AxisInRank(attribute="axis", tensor="X")
AXES = AxisInRank(attribute="axes", tensor="X")
ONE = AxisExtentIsOne(attribute="axes", tensor="X")
IN_RANK = AxesInRank(axes="I", tensor="X")
INPUT_ONE = AxesExtentIsOne(axes="I", tensor="X")
FIRST = AxisIs(attribute="axis", tensor="X", axis=1)
LAST = AxisIs(attribute="axis", tensor="X", axis=-1)
STEP = LastStepIsOne(tensor="X", axes="I", steps="J")

CUBE = tensor(2, 3, 4)
OPEN = tensor(2, None, 4)
FLAT = tensor(1, 3, 1, None)


@in_one_item(
    ("rule", "value", "x", "expected"),
    [
        (PERM, (2, 0, 1), CUBE, "holds"),
        (PERM, (2, 0, 1), OPEN, "holds"),
        (PERM, (0, 1), CUBE, "fails: [0, 1] (X has rank 3)"),
        (PERM, (0, 1, 1), CUBE, "fails: [0, 1, 1]"),
        (PERM, (0, 1, 1), NO_RANK, "fails: [0, 1, 1]"),
        (PERM, (0, 1, -1), CUBE, "fails: [0, 1, -1]"),
        (PERM, (0, 1, 2), NO_RANK, "unknown: the rank of X is not known"),
        (PERM, (), tensor(), "holds"),
        (PERM, (), CUBE, "fails: [] (X has rank 3)"),
        (PERM, "abc", CUBE, "fails: abc"),
        (PERM, 0, tensor(5), "fails: 0"),
        (PERM, (0.0, 1.0, 2.0), CUBE, "fails: [0.0, 1.0, 2.0]"),
        (FIRST, 1, NO_RANK, "holds"),
        (FIRST, 0, NO_RANK, "unknown: the rank of X is not known"),
        (FIRST, -2, CUBE, "holds"),
        (FIRST, 0, CUBE, "fails: 0 (X is 2x3x4)"),
        (FIRST, 2, OPEN, "unknown: X is 2x?x4"),
        (FIRST, 2, FLAT, "fails: 2 (X is 1x3x1x?)"),
        (FIRST, 0, tensor(5), "fails: 0 (X is 5)"),
        (FIRST, 9, CUBE, "holds"),
        (FIRST, 0, tensor(), "holds"),
        (FIRST, "0", CUBE, 'fails: "0"'),
        (LAST, 2, CUBE, "holds"),
        (LAST, 0, tensor(5), "holds"),
        (LAST, 1, tensor(2, 3, 1, 1), "holds"),
        (LAST, 1, tensor(2, 3, 1, 2), "fails: 1 (X is 2x3x1x2)"),
        (LAST, 1, FLAT, "unknown: X is 1x3x1x?"),
        (LAST, 0, OPEN, "fails: 0 (X is 2x?x4)"),
        (AXIS, 2, CUBE, "holds"),
        (AXIS, -3, CUBE, "holds"),
        (AXIS, 3, CUBE, "fails: 3 (X has rank 3)"),
        (AXIS, -4, OPEN, "fails: -4 (X has rank 3)"),
        (AXIS, 0, tensor(), "fails: 0 (X has rank 0)"),
        (AXIS, 2**62, CUBE, f"fails: {2**62} (X has rank 3)"),
        (AXIS, 0, NO_RANK, "unknown: the rank of X is not known"),
        (AXIS, "0", CUBE, 'fails: "0"'),
        (AXIS, 1.0, CUBE, "fails: 1.0"),
        (AXES, (0, -1), CUBE, "holds"),
        (AXES, (0, 5), CUBE, "fails: [0, 5] (X has rank 3)"),
        (AXES, (*[0] * 9, 5), CUBE, "fails: [9] = 5 (X has rank 3)"),
        (AXES, (), NO_RANK, "holds"),
        (AXES, Data(np.zeros(1)), CUBE, "fails: <tensor 1>"),
        (ONE, (0, -2), FLAT, "holds"),
        (ONE, (0, 1), FLAT, "fails: 3 on axis 1 (1x3x1x?)"),
        (ONE, (3, -3), FLAT, "fails: 3 on axis -3 (1x3x1x?)"),
        (ONE, (0, 3), FLAT, "unknown: X is 1x3x1x?"),
        (ONE, (0,), NO_RANK, "unknown: the rank of X is not known"),
        (ONE, (9,), FLAT, "holds"),
        (ONE, ("0",), FLAT, 'fails: ["0"]'),
    ],
)
def test_axes_in_an_attribute(rule: Rule, value: Any, x: SourceTensor, expected: str) -> None:
    name = str(rule.arguments["attribute"])
    assert said(rule, bound(attributes={name: value}, X=x)) == expected


@in_one_item(
    ("rule", "axes", "x", "expected"),
    [
        (IN_RANK, constant([0, -3, 2]), CUBE, "holds"),
        (IN_RANK, constant(-3), CUBE, "holds"),
        (IN_RANK, constant(3), CUBE, "fails: 3 (X has rank 3)"),
        (IN_RANK, constant([0, 3]), OPEN, "fails: [0, 3] (X has rank 3)"),
        (IN_RANK, constant([0, 3]), NO_RANK, "unknown: the rank of X is not known"),
        (IN_RANK, constant([]), NO_RANK, "holds"),
        (IN_RANK, tensor(0), NO_RANK, "holds"),
        (IN_RANK, tensor(2), CUBE, "unknown: I is not constant"),
        (IN_RANK, NO_RANK, CUBE, "unknown: I is not constant"),
        (IN_RANK, constant([0.5], np.float32), CUBE, "fails: [0.5]"),
        (IN_RANK, constant([True], np.bool_), CUBE, "fails: [true]"),
        (IN_RANK, constant(["0"], np.str_), CUBE, 'fails: ["0"]'),
        (IN_RANK, constant([b"0"], np.object_), CUBE, "fails: [b'0']"),
        (IN_RANK, constant([2**64 - 1], np.uint64), CUBE, f"fails: [{2**64 - 1}] (X has rank 3)"),
        (
            IN_RANK,
            constant(np.zeros((1025, 1024))),
            CUBE,
            "unknown: I has more than 1048576 elements, which are not read",
        ),
        (INPUT_ONE, constant([0, -2]), FLAT, "holds"),
        (INPUT_ONE, constant([1]), FLAT, "fails: 3 on axis 1 (1x3x1x?)"),
        (INPUT_ONE, constant([3]), FLAT, "unknown: X is 1x3x1x?"),
        (INPUT_ONE, constant([9]), FLAT, "holds"),
        (INPUT_ONE, tensor(1), FLAT, "unknown: I is not constant"),
        (INPUT_ONE, constant([np.nan], np.float16), FLAT, "fails: [nan]"),
    ],
)
def test_axes_in_an_input(rule: Rule, axes: SourceTensor, x: SourceTensor, expected: str) -> None:
    assert said(rule, bound(X=x, I=axes)) == expected


@in_one_item(
    ("steps", "axes", "x", "expected"),
    [
        (constant([2, 1]), constant([0, 2]), CUBE, "holds"),
        (constant([1, 2]), constant([0, 2]), CUBE, "fails: [1, 2]"),
        (constant([-1]), constant([2]), CUBE, "fails: [-1]"),
        (constant([1, 2]), constant([0, -1]), NO_RANK, "fails: [1, 2]"),
        (constant([1, 2]), constant([-1, -2]), NO_RANK, "holds"),
        (constant([2]), constant([1]), NO_RANK, "unknown: the rank of X is not known"),
        (constant([2, 2]), None, CUBE, "holds"),
        (constant([2, 2, 2]), None, CUBE, "fails: [2, 2, 2]"),
        (constant([2]), None, NO_RANK, "unknown: the rank of X is not known"),
        (constant([1, 1, 1]), None, NO_RANK, "holds"),
        (constant([1, 1]), tensor(2), CUBE, "holds"),
        (constant([1, 2]), tensor(2), CUBE, "unknown: I is not constant"),
        (tensor(2), constant([0, 1]), CUBE, "unknown: J is not constant"),
        (constant([2, 2]), constant([0]), CUBE, "fails: J = [2, 2], I = [0]"),
        (constant([0.5], np.float32), constant([0]), CUBE, "fails: [0.5]"),
        (constant([2]), constant(["a"], np.str_), CUBE, "fails: [a]"),
        (constant(2), constant(2), CUBE, "fails: 2"),
        (None, constant([2]), CUBE, "holds"),
    ],
)
def test_step_of_the_last_axis(
    steps: SourceTensor | None, axes: SourceTensor | None, x: SourceTensor, expected: str
) -> None:
    assert said(STEP, bound(tensors={"X": x, "I": axes, "J": steps})) == expected


@pytest.mark.parametrize("rule", [PERM, AXES, ONE, IN_RANK, INPUT_ONE, STEP])
def test_axes_that_are_absent_or_of_an_absent_tensor_keep_the_rule(rule: Rule) -> None:
    assert said(rule, bound(X=CUBE)) == "holds"
    node = bound(attributes={"axes": (0, 1, 2)}, I=constant([7]), J=constant([7]))
    assert said(rule, node) == "holds"


def test_each_tensor_of_a_variadic_operand_must_have_the_axis() -> None:
    rule = AxisInRank(attribute="axis", tensor="Z")
    assert said(rule, bound(many=(CUBE, CUBE))) == "holds"
    assert said(rule, bound(many=(CUBE, tensor(5)))) == "fails: 1 (Z has rank 1)"
    assert said(rule, bound(many=(NO_RANK, CUBE))) == "unknown: the rank of Z is not known"
    assert said(rule, bound(many=(NO_RANK, tensor(5)))) == "fails: 1 (Z has rank 1)"


def test_what_is_said_of_axes_reads_as_well_in_chinese() -> None:
    assert answer(AXIS, bound(X=tensor(5))).observed.zh == "1（X 的秩为 1）"
    assert answer(AXIS, bound(X=NO_RANK)).observed.zh == "X 的秩未知"
    one = answer(ONE, bound(attributes={"axes": (1,)}, X=FLAT))
    assert one.observed.zh == "轴 1 的长度 3（1x3x1x?）"
