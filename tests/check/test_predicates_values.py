"""Predicates on values: constants, tensors that are not, and data of a wrong type."""

import ml_dtypes
import numpy as np
import pytest

from atc_py.check.reading import array_at_fault
from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec import Rule
from atc_py.spec.rules import (
    KnownValuesAre,
    KnownValuesAtLeast,
    ValuesAtLeast,
    ValuesEqual,
    ValuesKnown,
)
from tests.check.bound_nodes import NO_RANK, Data, answer, bound, constant, said, tensor
from tests.failures import in_one_item

LEAST = ValuesAtLeast(tensor="I", least=1)
KNOWN_LEAST = KnownValuesAtLeast(tensor="I", least=0)
PAIR = KnownValuesAre(tensor="I", values=(0, 1))
EQUAL = ValuesEqual(tensor="I", value=0)
TENTH = ValuesEqual(tensor="I", value=0.1)
KNOWN = ValuesKnown(tensor="I")
BIG = constant(np.broadcast_to(np.int64(5), (1025, 1024)))
TOO_BIG = "unknown: I has more than 1048576 elements, which are not read"
GRID = np.arange(20).reshape(4, 5) - 13


@in_one_item(
    ("rule", "tested", "expected"),
    [
        (LEAST, constant([1, 2**62]), "holds"),
        (LEAST, constant([3, 0]), "fails: [3, 0]"),
        (LEAST, constant(0), "fails: 0"),
        (LEAST, constant([0], np.uint64), "fails: [0]"),
        (LEAST, constant([]), "holds"),
        (LEAST, constant([], np.str_), "holds"),
        (LEAST, tensor(0), "holds"),
        (LEAST, tensor(3), "fails: not constant"),
        (LEAST, NO_RANK, "fails: not constant"),
        (LEAST, constant([1.5, np.nan], np.float16), "fails: [1.5, nan]"),
        (LEAST, constant([True], np.bool_), "fails: [true]"),
        (LEAST, constant(["1"], np.str_), 'fails: ["1"]'),
        (LEAST, constant(b"one", np.object_), "fails: b'one'"),
        (LEAST, constant([1 + 2j], np.complex64), "fails: [(1+2j)]"),
        (LEAST, constant([2, 0.5], ml_dtypes.bfloat16), "fails: [2.0, 0.5]"),
        (LEAST, constant([2, 3], ml_dtypes.bfloat16), "holds"),
        (LEAST, BIG, TOO_BIG),
        (KNOWN_LEAST, constant([0, 1]), "holds"),
        (KNOWN_LEAST, constant(GRID), "fails: [0, 0] = -13"),
        (KNOWN_LEAST, constant(-GRID), "fails: [2, 4] = -1"),
        (KNOWN_LEAST, tensor(3), "holds"),
        (KNOWN_LEAST, NO_RANK, "holds"),
        (KNOWN_LEAST, constant([-1], np.int8), "fails: [-1]"),
        (KNOWN_LEAST, constant([False], np.bool_), "fails: [false]"),
        (KNOWN_LEAST, BIG, TOO_BIG),
        (PAIR, constant([0, 1]), "holds"),
        (PAIR, constant([0, 1], np.float16), "holds"),
        (PAIR, tensor(2), "holds"),
        (PAIR, constant([1, 0]), "fails: [1, 0]"),
        (PAIR, constant([0, 1, 0]), "fails: [0, 1, 0]"),
        (PAIR, constant([0]), "fails: [0]"),
        (PAIR, constant([False, True], np.bool_), "fails: [false, true]"),
        (EQUAL, constant(0.0, np.float32), "holds"),
        (EQUAL, constant(-0.0, np.float16), "holds"),
        (EQUAL, constant([0, 0], np.int32), "holds"),
        (EQUAL, constant(0.2, np.float32), "fails: 0.2"),
        (EQUAL, constant(np.nan, np.float16), "fails: nan"),
        (EQUAL, constant("", np.str_), 'fails: ""'),
        (EQUAL, tensor(), "fails: not constant"),
        (EQUAL, BIG, TOO_BIG),
        (TENTH, constant(0.1, np.float64), "holds"),
        (TENTH, constant(0.1, np.float32), "holds"),
        (TENTH, constant(0.1, np.float16), "holds"),
        (TENTH, constant(0.1, ml_dtypes.bfloat16), "holds"),
        (TENTH, constant(0.11, np.float16), "fails: 0.10998535"),
        (TENTH, constant(0, np.int32), "fails: 0"),
        (KNOWN, constant([1]), "holds"),
        (KNOWN, constant(["a"], np.str_), "holds"),
        (KNOWN, BIG, "holds"),
        (KNOWN, tensor(0), "holds"),
        (KNOWN, tensor(4), "fails: not constant"),
        (KNOWN, tensor(None), "fails: not constant"),
        (KNOWN, NO_RANK, "fails: not constant"),
    ],
)
def test_values_of_a_tensor(rule: Rule, tested: SourceTensor, expected: str) -> None:
    assert said(rule, bound(I=tested)) == expected


@pytest.mark.parametrize("rule", [LEAST, KNOWN_LEAST, EQUAL, KNOWN])
def test_values_of_an_absent_tensor_keep_every_rule(rule: Rule) -> None:
    assert said(rule, bound()) == "holds"


def test_value_that_is_a_signalling_nan_fails_without_a_warning() -> None:
    bits = np.array([0x7FA00000], np.uint32).view(np.float32)
    assert said(EQUAL, bound(I=constant(bits, np.float32))) == "fails: [nan]"


def test_bytes_in_another_order_are_read_as_numbers() -> None:
    data = np.array([1, 2], ">i8")
    view = constant([1, 2])
    swapped = type(view)("c", "int64", (2,), Data(data))
    assert said(LEAST, bound(I=swapped)) == "holds"


def test_each_tensor_of_a_variadic_operand_keeps_the_rules() -> None:
    rule = ValuesAtLeast(tensor="Z", least=1)
    assert said(rule, bound(many=(constant([1]), constant([0])))) == "fails: [0]"
    assert said(ValuesKnown(tensor="Z"), bound(many=(constant([1]), tensor(1)))).startswith("fails")


def test_what_is_said_of_values_reads_as_well_in_chinese() -> None:
    assert answer(LEAST, bound(I=tensor(3))).observed.zh == "不是常量"
    assert answer(LEAST, bound(I=BIG)).observed.zh == "I 的元素超过 1048576 个，不逐一检查"


def test_long_data_are_said_by_the_element_at_fault() -> None:
    assert array_at_fault(np.arange(99) + 7) == "[0] = 7"
    assert array_at_fault(np.arange(99).reshape(9, 11), 13) == "[1, 2] = 13"
