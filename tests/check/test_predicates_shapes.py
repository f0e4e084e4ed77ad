"""Predicates on dims and on shapes that must agree or fit, known and open."""

from typing import Any

import pytest

from atc_py.check.rules.shapes import is_prime
from atc_py.onnx_graph.source import SourceAttr, SourceTensor
from atc_py.spec import Rule, library
from atc_py.spec.deviations import (
    IndicesWithinDepth,
    LargeWindowUnpadded,
    OutputShapeFromPads,
    OutputShapePadsEvenly,
    RowsWithinColumns,
)
from atc_py.spec.rules import (
    DimDivisible,
    DimInRange,
    DimProductInRange,
    DimsEqual,
    ElementCountInRange,
    OutputShapeWithinFull,
    PrimeDimBelow,
    SamePaddingEven,
    ShapesEqual,
)
from tests.check.bound_nodes import NO_RANK, answer, bound, constant, said, tensor
from tests.executed_lines import PACKAGE, executed
from tests.failures import in_one_item

WIDTH = DimInRange(tensor="X", dim="W", range=(1, 4096))
TIMES = DimProductInRange(tensor="X", other="W", dim="W", range=(1, 12))
PRIME = PrimeDimBelow(tensor="X", dim="N", limit=65535)
COUNT = ElementCountInRange(tensor="X", range=(1, 8))
GROUP = DimDivisible(tensor="X", dim="C", attribute="group")
EQUAL = DimsEqual(tensor="X", other="W", dims=("H", "W"))
SHAPES = ShapesEqual(tensor="I", other="J")
EVENLY = SamePaddingEven(attribute="axes", tensor="X")
FULL = OutputShapeWithinFull(attribute="axes", tensor="X", other="W")
HALVES = OutputShapePadsEvenly(attribute="output_shape", tensor="X", other="W")
FROM_PADS = OutputShapeFromPads(attribute="output_shape", tensor="X", other="W")
ROWS = RowsWithinColumns(tensor="X")
IN_DEPTH = IndicesWithinDepth(tensor="X", other="W")
LARGE = LargeWindowUnpadded(attribute="kernel_shape")

LARGEST_PRIME = 2**62 - 57


@in_one_item(
    ("rule", "x", "expected"),
    [
        (WIDTH, tensor(1, 3, 224, 4096), "holds"),
        (WIDTH, tensor(None, None, None, 1), "holds"),
        (WIDTH, tensor(1, 3, 224, 4097), "fails: 4097 (1x3x224x4097)"),
        (WIDTH, tensor(None, 3, 224, 0), "fails: 0 (?x3x224x0)"),
        (WIDTH, tensor(1, 3, 224, None), "unknown: X is 1x3x224x?"),
        (WIDTH, NO_RANK, "unknown: the rank of X is not known"),
        (WIDTH, tensor(9999), "holds"),
        (WIDTH, tensor(1, 1, 1, 2**62), f"fails: {2**62} (1x1x1x{2**62})"),
        (PRIME, tensor(65521, 1, 1, 1), "holds"),
        (PRIME, tensor(65536, 1, 1, 1), "holds"),
        (PRIME, tensor(65537, 1, 1, 1), "fails: 65537 (65537x1x1x1)"),
        (PRIME, tensor(LARGEST_PRIME, 1, 1, 1), f"fails: {LARGEST_PRIME} ({LARGEST_PRIME}x1x1x1)"),
        (PRIME, tensor(None, 1, 1, 1), "unknown: X is ?x1x1x1"),
        (PRIME, NO_RANK, "unknown: the rank of X is not known"),
        (PRIME, tensor(65537), "holds"),
        (COUNT, tensor(8), "holds"),
        (COUNT, tensor(), "holds"),
        (COUNT, tensor(9), "fails: 9"),
        (COUNT, tensor(3, 3), "fails: 9 (3x3)"),
        (COUNT, tensor(0, None), "fails: 0 (0x?)"),
        (COUNT, tensor(8, None), "unknown: X is 8x?"),
        (COUNT, tensor(9, None), "fails: 9x?"),
        (ElementCountInRange(tensor="X", range=(0, 8)), tensor(9, None), "unknown: X is 9x?"),
        (COUNT, NO_RANK, "unknown: the rank of X is not known"),
        (COUNT, tensor(2**62, 2**62), f"fails: >= 2^64 ({2**62}x{2**62})"),
        (COUNT, constant([1, 2]), "holds"),
    ],
)
def test_dims_of_one_tensor(rule: Rule, x: SourceTensor, expected: str) -> None:
    assert said(rule, bound(X=x)) == expected


@in_one_item(
    ("value", "channels", "expected"),
    [
        (2, 64, "holds"),
        (3, 64, "fails: 64 (group = 3)"),
        (2, None, "unknown: X is 1x?x1x1"),
        (1, None, "holds"),
        (0, 64, "fails: group = 0"),
        (-2, 64, "fails: group = -2"),
        ("2", 64, 'fails: group = "2"'),
        ((2,), 64, "fails: group = [2]"),
        ((), 64, "fails: group = []"),
        (2.0, 64, "fails: group = 2.0"),
        (2**62, 64, f"fails: 64 (group = {2**62})"),
    ],
)
def test_dim_that_an_attribute_must_divide(value: Any, channels: int | None, expected: str) -> None:
    node = bound(attributes={"group": value}, X=tensor(1, channels, 1, 1))
    assert said(GROUP, node) == expected


def test_dim_of_another_rank_is_not_divided() -> None:
    assert said(GROUP, bound(attributes={"group": 2}, X=tensor(3))) == "holds"
    rule = DimDivisible(tensor="X", dim="C", attribute="bare")
    assert said(rule, bound(X=tensor(1, 3, 1, 1))) == "holds"


@in_one_item(
    ("x", "w", "expected"),
    [
        (tensor(1, 8, 3, 5), tensor(4, 8, 3, 5), "holds"),
        (tensor(1, 8, 3, 5), tensor(4, 8, 3, 7), "fails: W = 5 in X and 7 in W"),
        (tensor(1, 8, None, 5), tensor(4, 8, 3, 7), "fails: W = 5 in X and 7 in W"),
        (tensor(1, 8, None, 5), tensor(4, 8, 3, 5), "unknown: X is 1x8x?x5"),
        (tensor(1, 8, 3, 5), tensor(4, 8, 3, None), "unknown: W is 4x8x3x?"),
        (NO_RANK, tensor(4, 8, 3, 5), "unknown: the rank of X is not known"),
        (tensor(3), tensor(4, 8, 3, 5), "holds"),
    ],
)
def test_dims_that_must_agree(x: SourceTensor, w: SourceTensor, expected: str) -> None:
    assert said(EQUAL, bound(X=x, W=w)) == expected


SAME = tensor(None, 3)


@in_one_item(
    ("one", "two", "expected"),
    [
        (tensor(2, 3), tensor(2, 3), "holds"),
        (tensor(), tensor(), "holds"),
        (tensor(2, 3), tensor(2, 4), "fails: I is 2x3, J is 2x4"),
        (tensor(2, 3), tensor(3), "fails: I is 2x3, J is 3"),
        (tensor(2, 3), tensor(), "fails: I is 2x3, J is a scalar"),
        (tensor(None, 3), tensor(None, 4), "fails: I is ?x3, J is ?x4"),
        (tensor(None, 3), tensor(2, 3), "unknown: I is ?x3, J is 2x3"),
        (tensor(None, 3), tensor(None, 3), "unknown: I is ?x3, J is ?x3"),
        (NO_RANK, tensor(2), "unknown: the rank of I is not known, J is 2"),
        (SAME, SAME, "holds"),
    ],
)
def test_shapes_that_must_agree(one: SourceTensor, two: SourceTensor, expected: str) -> None:
    assert said(SHAPES, bound(I=one, J=two)) == expected


X, W = tensor(1, 8, 5, 5), tensor(8, 4, 3, 3)


@in_one_item(
    ("wanted", "others", "x", "w", "expected"),
    [
        ((7, 7), {}, X, W, "holds"),
        ((7, 8), {}, X, W, "fails: [7, 8] (the span is 7x7)"),
        ((11, 11), {"strides": (2, 2)}, X, W, "holds"),
        ((12, 11), {"strides": (2, 2)}, X, W, "fails: [12, 11] (the span is 11x11)"),
        ((12, 11), {"strides": (2, 2), "output_padding": (1, 0)}, X, W, "holds"),
        ((9, 9), {"dilations": (2, 2)}, X, W, "holds"),
        ((7, 7), {}, tensor(1, 8, None, 5), W, "unknown: X is 1x8x?x5, W is 8x4x3x3"),
        ((7, 8), {}, tensor(1, 8, None, 5), W, "fails: [7, 8] (the span is ?x7)"),
        ((7, 7), {}, X, tensor(8, 4, 3, None), "unknown: X is 1x8x5x5, W is 8x4x3x?"),
        ((7, 7), {}, NO_RANK, W, "unknown: the rank of X is not known"),
        ((7, 7), {}, X, NO_RANK, "unknown: the rank of W is not known"),
        ((7, 7), {}, tensor(1, 8, 5), W, "holds"),
        ((1, 4, 7, 7), {}, X, W, "fails: [1, 4, 7, 7]"),
        ((), {}, X, W, "fails: []"),
        ("7x7", {}, X, W, 'fails: "7x7"'),
        (7, {}, X, W, "fails: 7"),
        ((7, 7), {"strides": "2"}, X, W, 'fails: strides = "2"'),
        ((7, 7), {"dilations": (1,)}, X, W, "fails: dilations = [1]"),
        ((7, 7), {"output_padding": (0.5, 0.5)}, X, W, "fails: output_padding = [0.5, 0.5]"),
    ],
)
def test_output_shape_is_within_what_the_windows_cover(
    wanted: Any, others: dict[str, Any], x: SourceTensor, w: SourceTensor, expected: str
) -> None:
    assert said(FULL, bound(attributes={"axes": wanted, **others}, X=x, W=w)) == expected


@in_one_item(
    ("mode", "wanted", "after", "state"),
    [
        ("SAME_LOWER", 5, 0, "holds"),
        ("SAME_UPPER", 5, 0, "holds"),
        ("SAME_LOWER", 6, 0, "fails"),
        ("SAME_UPPER", 6, 0, "fails"),
        ("SAME_LOWER", 3, 0, "holds"),
        ("SAME_UPPER", 5, 1, "holds"),
        ("SAME_LOWER", 5, 1, "fails"),
        ("SAME_UPPER", 7, 1, "holds"),
        ("SAME_LOWER", 7, 1, "fails"),
        ("SAME_UPPER", 9, 1, "holds"),
        ("SAME_LOWER", 9, 1, "holds"),
    ],
)
def test_halves_of_the_padding_are_alike(mode: str, wanted: int, after: int, state: str) -> None:
    """Windows cover 7 elements and `after` more; CANN halves the padding without those."""
    attributes: dict[str, SourceAttr] = {
        "auto_pad": mode,
        "output_shape": (wanted, 5),
        "output_padding": (after, 0),
    }
    spec = library().find("ConvTranspose")
    assert spec is not None
    node = bound(spec, 11, attributes=attributes, X=X, W=W)
    assert said(HALVES, node).partition(":")[0] == state


@in_one_item(
    ("windows", "strides", "x", "expected"),
    [
        ((3, 3), (1, 1), tensor(1, 1, None, None), "holds"),
        ((2, 2), (2, 2), tensor(1, 1, 8, 6), "holds"),
        ((2, 3), (1, 1), tensor(1, 1, 8, 8), "fails: X is 1x1x8x8, [2, 3]"),
        ((2, 2), (2, 2), tensor(1, 1, 7, 8), "fails: X is 1x1x7x8, [2, 2]"),
        ((2, 2), (2, 2), tensor(1, 1, None, 7), "fails: X is 1x1x?x7, [2, 2]"),
        ((2, 2), (2, 2), tensor(1, 1, None, 8), "unknown: X is 1x1x?x8"),
        ((2, 2), (2, 2), NO_RANK, "unknown: the rank of X is not known"),
        ((2, 2), (2, 2), tensor(1, 1, 7), "holds"),
        ((2, 2), (0, -1), tensor(1, 1, 7, 7), "holds"),
        ((2, 2), (1,), tensor(1, 1, 8, 8), "fails: strides = [1]"),
        ("abc", (1, 1), tensor(1, 1, 8, 8), "holds"),
    ],
)
def test_padding_is_even(windows: Any, strides: Any, x: SourceTensor, expected: str) -> None:
    attributes = {"axes": windows, "strides": strides}
    assert said(EVENLY, bound(attributes=attributes, X=x)) == expected


ALL = [WIDTH, TIMES, PRIME, COUNT, GROUP, EQUAL, SHAPES, EVENLY, FULL]


@in_one_item(
    ("x", "w", "expected"),
    [
        (4, 3, "holds"),
        (5, 3, "fails: 5 (W of W = 3)"),
        (0, 3, "fails: 0 (W of W = 3)"),
        (None, 3, "unknown: X is 1x1x1x?"),
        (4, None, "unknown: W is 1x1x1x?"),
        (2**62, 2**62, f"fails: {2**62} (W of W = {2**62})"),
    ],
)
def test_product_of_dims(x: int | None, w: int | None, expected: str) -> None:
    assert said(TIMES, bound(X=tensor(1, 1, 1, x), W=tensor(1, 1, 1, w))) == expected


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.name)
def test_absent_tensors_keep_every_rule(rule: Rule) -> None:
    attributes: dict[str, Any] = {"group": 7, "axes": (9, 9)}
    assert said(rule, bound(attributes=attributes)) == "holds"
    given = {str(rule.arguments["tensor"]): tensor(1, 1, 1, 1)}
    assert said(rule, bound(tensors=given)) == "holds"


def test_each_tensor_of_a_variadic_operand_keeps_its_dims() -> None:
    rule = DimInRange(tensor="Z", dim="K", range=(4, 4))
    assert said(rule, bound(many=(tensor(9, 4), tensor(None, 4)))) == "holds"
    assert said(rule, bound(many=(tensor(9, None), tensor(9, 5)))) == "fails: 5 (9x5)"


def test_what_is_said_of_shapes_reads_as_well_in_chinese() -> None:
    assert answer(EQUAL, bound(X=X, W=W)).observed.zh == "X 的 H = 5，W 的 H = 3"
    assert answer(WIDTH, bound(X=tensor(1, 1, 1, None))).observed.zh == "X 为 1x1x1x?"
    assert answer(SHAPES, bound(I=tensor(), J=X)).observed.zh == "I 为标量，J 为 1x8x5x5"
    full = answer(FULL, bound(attributes={"axes": (7, 8)}, X=X, W=W))
    assert full.observed.zh == "[7, 8]（覆盖 7x7）"


def test_primes_are_distinguished_from_other_numbers() -> None:
    below = [n for n in range(2000) if n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))]
    assert [n for n in range(2000) if is_prime(n)] == below
    assert not is_prime(-7)
    # Strong pseudoprimes to all bases below 7, 13 and 31, and a product of two large primes.
    for composite in (3215031751, 3474749660383, 3825123056546413051, 4294967291 * 2147483647):
        assert not is_prime(composite)
    for prime in (65537, 2147483647, 2**61 - 1, 18446744073709551557):
        assert is_prime(prime)


def test_huge_prime_is_found_at_once() -> None:
    lines = executed(lambda: is_prime(LARGEST_PRIME), PACKAGE)
    assert is_prime(LARGEST_PRIME)
    assert sum(lines.values()) < 10_000


@in_one_item(
    ("wanted", "pads", "state"),
    [
        (7, None, "holds"),
        (6, None, "fails"),
        (6, (1, 0, 0, 0), "holds"),
        (6, (0, 0, 1, 0), "fails"),
        (5, (1, 0, 1, 0), "holds"),
        (5, (2, 0, 0, 0), "fails"),
    ],
)
def test_output_shape_follows_from_pads(
    wanted: int, pads: tuple[int, ...] | None, state: str
) -> None:
    """Windows cover 7 elements; without pads none goes, and of one the beginning loses it."""
    attributes: dict[str, SourceAttr] = {"auto_pad": "NOTSET", "output_shape": (wanted, 7)}
    spec = library().find("ConvTranspose")
    assert spec is not None
    attributes |= {} if pads is None else {"pads": pads}
    node = bound(spec, 11, attributes=attributes, X=X, W=W)
    assert said(FROM_PADS, node).partition(":")[0] == state


@in_one_item(
    ("rule", "x", "w", "state"),
    [
        (ROWS, tensor(3, 3), NO_RANK, "holds"),
        (ROWS, tensor(4, 3), NO_RANK, "fails"),
        (IN_DEPTH, constant([-3, 2]), constant([3]), "holds"),
        (IN_DEPTH, constant([3]), constant([3]), "fails"),
        (IN_DEPTH, constant([-4]), constant([3]), "fails"),
    ],
)
def test_deviations_begin_just_beyond_the_bound(
    rule: Rule, x: SourceTensor, w: SourceTensor, state: str
) -> None:
    assert said(rule, bound(X=x, W=w)).partition(":")[0] == state


@in_one_item(("pads", "state"), [(None, "holds"), ((0, 0, 0, 1), "fails")])
def test_pool_without_pads_has_none(pads: tuple[int, ...] | None, state: str) -> None:
    attributes: dict[str, SourceAttr] = {"kernel_shape": (16, 16), "auto_pad": "NOTSET"}
    attributes |= {} if pads is None else {"pads": pads}
    spec = library().find("AveragePool")
    assert spec is not None
    node = bound(spec, 11, attributes=attributes, X=tensor(1, 1, 32, 32))
    assert said(LARGE, node).partition(":")[0] == state
