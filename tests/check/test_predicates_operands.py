"""Predicates on operands and ranks, and on the element types of several tensors."""

import math

import pytest

from atc_py.check.condition_words import predicate_of, when_words
from atc_py.check.conditions import ask
from atc_py.onnx_graph.source import SourceTensor
from atc_py.options.compile_options import PrecisionMode
from atc_py.spec import Rule
from atc_py.spec.implied import DtypeListed, DtypeSame, OperandAbsent, OperandPresent, RankIs
from atc_py.spec.rule import OfDtype, When
from atc_py.spec.rules import (
    DtypeExcluded,
    LastDimWithinRank,
    OperandGiven,
    RankInRange,
    RankIsNot,
    RankOfUpdates,
    RanksEqual,
)
from atc_py.tensor.dtypes import DType
from atc_py.text import Words
from tests.check.bound_nodes import NO_RANK, answer, bound, constant, said, tensor
from tests.failures import in_one_item

FOUR = RankIs(tensor="X", rank=4)
NOT_ONE = RankIsNot(tensor="X", rank=1)
BETWEEN = RankInRange(tensor="X", range=(2, 3))
AT_LEAST = RankInRange(tensor="X", range=(2, math.inf))
UPDATES = RankOfUpdates(tensor="X", other="I", indices="J")
ALIKE = RanksEqual(tensor="X", other="I")
TUPLES = LastDimWithinRank(tensor="X", other="I")


def test_required_operand_that_is_absent_fails() -> None:
    rule = OperandPresent(tensor="X")
    assert said(rule, bound(X=tensor(1))) == "holds"
    found = answer(rule, bound())
    assert (found.state.value, found.observed.en, found.observed.zh) == ("fails", "none", "无")
    assert said(OperandPresent(tensor="Z"), bound()) == "fails: none"
    assert said(OperandPresent(tensor="Z"), bound(many=(tensor(1),))) == "holds"


def test_required_operand_of_another_opset_is_not_missed() -> None:
    rule = OperandPresent(tensor="J")
    assert said(rule, bound(opset=10)) == "holds"
    assert said(rule, bound(opset=11)) == "fails: none"


def test_operand_that_is_not_supported_is_named() -> None:
    rule = OperandAbsent(tensor="Y")
    assert said(rule, bound()) == "holds"
    assert said(rule, bound(Y=tensor(1, name="mask"))) == 'fails: "mask"'
    assert said(rule, bound(Y=tensor(1, name=""))) == "fails"
    assert said(rule, bound(Y=tensor(1, name="m" * 99))) == f'fails: "{"m" * 60}..."'


@in_one_item(
    ("rule", "x", "expected"),
    [
        (FOUR, tensor(1, 2, None, 4), "holds"),
        (FOUR, tensor(1, None, 4), "fails: 3 (1x?x4)"),
        (FOUR, tensor(), "fails: 0"),
        (FOUR, tensor(*[1] * 10), "fails: 10 (1x1x1x1x1x1x1x1x...)"),
        (FOUR, NO_RANK, "unknown: the rank of X is not known"),
        (RankIs(tensor="X", rank=1), constant([1, 2]), "holds"),
        (NOT_ONE, tensor(2, 2), "holds"),
        (NOT_ONE, tensor(5), "fails: 1 (5)"),
        (NOT_ONE, NO_RANK, "unknown: the rank of X is not known"),
        (BETWEEN, tensor(1, 2, 3), "holds"),
        (BETWEEN, tensor(5), "fails: 1 (5)"),
        (BETWEEN, tensor(1, 1, 1, 1), "fails: 4 (1x1x1x1)"),
        (BETWEEN, NO_RANK, "unknown: the rank of X is not known"),
        (AT_LEAST, tensor(*[1] * 9), "holds"),
        (AT_LEAST, tensor(None), "fails: 1 (?)"),
    ],
)
def test_rank_of_a_tensor(rule: Rule, x: SourceTensor, expected: str) -> None:
    assert said(rule, bound(X=x)) == expected


def test_operand_that_must_be_given() -> None:
    rule = OperandGiven(tensor="I")
    assert said(rule, bound(I=tensor(2))) == "holds"
    assert said(rule, bound(J=tensor(2))) == "fails: none"


MISSING = When(absent=("J",))
NARROW = When(dtypes=(OfDtype(tensor="I", one_of=(DType.INT8, DType.INT16)),))


@in_one_item(
    ("when", "given", "expected"),
    [
        (MISSING, {}, "fails"),
        (MISSING, {"J": tensor(2)}, "holds"),
        (NARROW, {"I": tensor(2, element="int16")}, "fails"),
        (NARROW, {"I": tensor(2, element="int32")}, "holds"),
        (NARROW, {"I": tensor(2, element="complex64")}, "holds"),
        (NARROW, {"I": tensor(2, element="")}, "unknown"),
        (NARROW, {}, "holds"),
    ],
)
def test_rule_applies_where_operands_are_absent_or_of_a_dtype(
    when: When, given: dict[str, SourceTensor], expected: str
) -> None:
    rule = OperandGiven(tensor="W", when=when)
    assert ask(rule, predicate_of(OperandGiven), bound(tensors=given)).state.value == expected


def test_conditions_on_absence_and_dtype_are_said_in_words() -> None:
    assert when_words(MISSING) == Words("J is not given", "未给出 J")
    both = When(absent=("J",), dtypes=NARROW.dtypes)
    assert when_words(both).en == "J is not given and I has dtype int8 or int16"
    assert when_words(both).zh == "未给出 J，且I 的数据类型为 int8 或 int16"


@pytest.mark.parametrize("rule", [FOUR, NOT_ONE, BETWEEN, AT_LEAST, UPDATES, ALIKE, TUPLES])
def test_rank_of_an_absent_tensor_keeps_the_rule(rule: Rule) -> None:
    assert said(rule, bound()) == "holds"
    assert said(rule, bound(I=tensor(1), J=tensor(1))) == "holds"


def test_shape_of_the_data_counts_where_that_of_the_constant_is_open() -> None:
    data = constant([1, 2])
    view = SourceTensor("c", "int64", None, data.const)
    assert said(RankIs(tensor="X", rank=1), bound(X=view)) == "holds"
    assert said(FOUR, bound(X=view)) == "fails: 1 (2)"


@in_one_item(
    ("updates", "data", "indices", "expected"),
    [
        (tensor(4), tensor(8), tensor(4, 1), "holds"),
        (tensor(2, 4, 4), tensor(4, 4, 4), tensor(2, 1), "holds"),
        (tensor(2, 4), tensor(4, 4, 4), tensor(2, 1), "fails: 2 (q + r - k - 1 = 3)"),
        (NO_RANK, tensor(8), tensor(4, 1), "unknown: the rank of X is not known"),
        (tensor(4), NO_RANK, tensor(4, 1), "unknown: the rank of I is not known"),
        (tensor(4), tensor(8), NO_RANK, "unknown: the rank of J is not known"),
        (tensor(4, 4), tensor(8, 8), tensor(4, None), "unknown: J is 4x?"),
        (tensor(4, 4, 4, 4), tensor(8, 8), tensor(4, None), "fails: 4 (4x4x4x4)"),
        (tensor(4), tensor(8), tensor(), "holds"),
        (tensor(4), tensor(8), tensor(2**62), f"fails: 1 (q + r - k - 1 = {1 - 2**62})"),
    ],
)
def test_rank_of_updates(
    updates: SourceTensor, data: SourceTensor, indices: SourceTensor, expected: str
) -> None:
    assert said(UPDATES, bound(X=updates, I=data, J=indices)) == expected


@in_one_item(
    ("rule", "x", "other", "expected"),
    [
        (ALIKE, tensor(4, None), tensor(8, 8), "holds"),
        (ALIKE, tensor(4), tensor(8, 8), "fails: 1 (4)"),
        (ALIKE, tensor(), tensor(8), "fails: 0"),
        (ALIKE, NO_RANK, tensor(8), "unknown: the rank of X is not known"),
        (ALIKE, tensor(8), NO_RANK, "unknown: the rank of I is not known"),
        (TUPLES, tensor(4, 2), tensor(8, 8), "holds"),
        (TUPLES, tensor(4, 3), tensor(8, 8), "fails: 3 (4x3)"),
        (TUPLES, tensor(4, None), tensor(8, 8), "unknown: X is 4x?"),
        (TUPLES, NO_RANK, tensor(8), "unknown: the rank of X is not known"),
        (TUPLES, tensor(4, 2), NO_RANK, "unknown: the rank of I is not known"),
        (TUPLES, tensor(), tensor(8), "holds"),
    ],
)
def test_rank_beside_that_of_another_tensor(
    rule: Rule, x: SourceTensor, other: SourceTensor, expected: str
) -> None:
    assert said(rule, bound(X=x, I=other)) == expected


def test_each_tensor_of_a_variadic_operand_keeps_the_rules() -> None:
    rank, dtype = (
        RankIs(tensor="Z", rank=2),
        DtypeListed(tensor="Z", dtypes=(DType.INT8, DType.FLOAT16)),
    )
    good, open_one = tensor(2, 2, element="int8"), tensor(2, 2, element="")
    assert said(rank, bound(many=(good, tensor(2)))) == "fails: 1 (2)"
    assert said(rank, bound(many=(NO_RANK, tensor(2)))) == "fails: 1 (2)"
    assert said(dtype, bound(many=(good, good))) == "holds"
    assert said(dtype, bound(many=(open_one, good))) == "unknown: its dtype is not known"
    int32 = tensor(2, 2, element="int32")
    assert said(dtype, bound(many=(open_one, int32))) == "fails: int32"
    excluded = DtypeExcluded(tensor="Z", dtypes=(DType.INT32,))
    assert said(excluded, bound(many=(open_one, int32))) == "fails: int32"
    assert said(excluded, bound(many=(good, open_one))) == "unknown: its dtype is not known"
    assert said(excluded, bound(many=(good,))) == "holds"


def test_dtype_that_the_mode_keeps_is_named_with_the_mode() -> None:
    rule = DtypeListed(tensor="X", dtypes=(DType.FLOAT16,))
    keep = PrecisionMode.MUST_KEEP_ORIGIN_DTYPE
    assert said(rule, bound(X=tensor(1))) == "holds"
    found = answer(rule, bound(X=tensor(1), mode=keep))
    assert found.observed.en == "float32"
    assert found.when.en == "precision mode is must_keep_origin_dtype"
    assert found.when.zh == "精度模式为 must_keep_origin_dtype"
    assert said(rule, bound(X=tensor(1, element="string"))) == "fails: string"
    assert said(rule, bound(X=tensor(1, element="float64"))) == "fails: float64"


@in_one_item(
    ("x", "y", "expected"),
    [
        ("float32", "float32", "holds"),
        ("float16", "float32", "holds"),
        ("int32", "int32", "holds"),
        ("float32", "int32", "fails: int32 and float32"),
        ("int32", "float16", "fails: float16 and int32"),
        ("float64", "float32", "fails: float32 and float64"),
        ("", "int32", "holds"),
        ("string", "int32", "holds"),
    ],
)
def test_modes_bring_only_floats_together(x: str, y: str, expected: str) -> None:
    rule = DtypeSame(tensor="Y", other="X")
    node = bound(X=tensor(2, element=x), Y=tensor(2, element=y))
    assert said(rule, node) == expected
