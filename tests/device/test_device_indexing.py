"""Kernels that index, count and resize: what they compute by themselves, and what they refuse."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from atc_py.diag import AtcError
from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, run_operator
from tests.failures import in_one_item

F32, F16, I32, I64 = DType.FLOAT32, DType.FLOAT16, DType.INT32, DType.INT64
X = np.arange(6, dtype=np.float32).reshape(2, 3)
MAP = np.zeros((1, 4, 2, 3), np.float32)


def longs(*numbers: int) -> Array:
    """Return an int64 vector."""
    return np.array(numbers, np.int64).reshape(len(numbers))


# What no model reaches yet, because its shape depends on values -------------------------------


@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16, DType.BOOL, DType.UINT64])
@pytest.mark.parametrize("shape", [(7,), (2, 3), (2, 1, 4)])
def test_non_zero_gives_a_row_for_each_axis(dtype: DType, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).integers(0, 2, shape).astype(dtype.numpy)
    x.reshape(-1)[0] = 1
    expected = np.array(np.nonzero(x))
    attributes: Attributes = {"transpose": True}
    (y,) = run_operator("NonZero", [x], [(I64, expected.shape)], attributes)
    np.testing.assert_array_equal(y, expected)


def test_non_zero_stops_where_the_count_is_another_one() -> None:
    with pytest.raises(AtcError, match="5 are not zero, the model says 4"):
        run_operator("NonZero", [X], [(I64, (2, 4))], {"transpose": True})


def test_where_gives_a_row_for_each_element() -> None:
    x = np.array([[0, 1, 0], [2, 0, -1]], np.int32)
    (y,) = run_operator("Where", [x], [(I64, (3, 2))])
    np.testing.assert_array_equal(y, np.argwhere(x))
    with pytest.raises(AtcError, match="3 are not zero, the model says 2"):
        run_operator("Where", [x], [(I64, (2, 2))])


def test_words_are_counted_without_an_order_of_weights() -> None:
    attributes: Attributes = {
        "max_gram_length": 2,
        "max_skip_count": 9,
        "min_gram_length": 1,
        "mode": "IDF",
        "ngram_counts": [0, 2],
        "ngram_indexes": [2, 0, 1],
        "pool_int64s": [5, -7, 5, 5],
        "weights": [np.inf, 2.0, 3.0],
    }
    words = longs(5, 5, 4, 5).reshape(2, 2)
    (y,) = run_operator("TfIdfVectorizer", [words], [(F32, (2, 3))], attributes)
    np.testing.assert_array_equal(y, np.array([[0, 3, np.inf], [0, 0, np.inf]], np.float32))


@pytest.mark.parametrize(
    ("dtype", "bounds", "expected"),
    [
        ("int64", (0, 5, 1), [0, 1, 2, 3, 4]),
        ("int32", (10, 0, -3), [10, 7, 4, 1]),
        ("int16", (5, 0, 1), []),
        ("float32", (0.5, 1.5, 0.25), [0.5, 0.75, 1.0, 1.25]),
        ("float64", (1.0, -0.5, -0.75), [1.0, 0.25]),
        ("int64", (2**62, 2**62 + 5, 2), [2**62, 2**62 + 2, 2**62 + 4]),
    ],
)
def test_range_counts_to_its_limit(
    dtype: str, bounds: tuple[float, float, float], expected: list[float]
) -> None:
    operands = [np.array(number, dtype) for number in bounds]
    (y,) = run_operator("Range", operands, [(DType(dtype), (len(expected),))])
    np.testing.assert_array_equal(y, np.array(expected, dtype))


@pytest.mark.parametrize(("delta", "message"), [(2, "has 3 elements"), (0, "must not be 0")])
def test_range_stops_where_the_count_is_another_one(delta: int, message: str) -> None:
    operands = [np.array(number, np.int32) for number in (0, 5, delta)]
    with pytest.raises(AtcError, match=message):
        run_operator("Range", operands, [(I32, (5,))])


# Indices that only the run knows ---------------------------------------------------------------


@pytest.mark.parametrize("index", [-3, 3])
def test_gather_takes_negative_indices_where_its_attribute_says_so(index: int) -> None:
    attributes: Attributes = {"axis": 1, "negative_index_support": True}
    if index == 3:
        with pytest.raises(AtcError, match="index 3 is outside an axis of 3"):
            run_operator("GatherV2D", [X, longs(index)], [(F32, (2, 1))], attributes)
        return
    (y,) = run_operator("GatherV2D", [X, longs(index)], [(F32, (2, 1))], attributes)
    np.testing.assert_array_equal(y, X[:, :1])
    with pytest.raises(AtcError, match="index -3 is outside"):
        run_operator("GatherV2D", [X, longs(index)], [(F32, (2, 1))], {"axis": 1})


def test_gather_nd_says_which_axis_an_index_leaves() -> None:
    with pytest.raises(AtcError, match="index 2 is outside an axis of 2"):
        run_operator("GatherNd", [X, longs(2, 2)], [(F32, ())])


@pytest.mark.parametrize("lengths", [(1, 3, 0), (1, -1, 2)])
def test_reverse_sequence_holds_lengths_to_the_axis(lengths: tuple[int, ...]) -> None:
    attributes: Attributes = {"seq_dim": 0, "batch_dim": 1}
    with pytest.raises(AtcError, match=r"must be in \[0, 2\]"):
        run_operator("ReverseSequence", [X, longs(*lengths)], [(F32, (2, 3))], attributes)


def test_nothing_to_scatter_is_a_copy() -> None:
    operands: list[Array] = [X, np.zeros((0, 1), np.int64), np.zeros((0, 3), np.float32)]
    (y,) = run_operator("TensorScatterUpdate", operands, [(F32, (2, 3))])
    np.testing.assert_array_equal(y, X)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_hot_marks_nothing_outside_its_depth(axis: int) -> None:
    indices = np.array([-4, -3, 0, 2, 3, 2**40], np.int64)
    on, off = np.array(7, np.int16), np.array(-1, np.int16)
    expected = np.full((6, 3), -1, np.int16)
    expected[[1, 2, 3], [0, 0, 2]] = 7
    expected = expected.T if axis == 0 else expected
    attributes: Attributes = {"depth": 3, "axis": axis}
    (y,) = run_operator("OneHotD", [indices, on, off], [(DType.INT16, expected.shape)], attributes)
    np.testing.assert_array_equal(y, expected)


# Nodes that make no sense ----------------------------------------------------------------------

ONE = np.array(1, np.float32)
GATHER = [X, longs(0)]
HERE = np.zeros((1, 1), np.int64)
RESIZE: dict[str, Any] = {"mode": "nearest"}
WORDS: dict[str, Any] = {
    "max_gram_length": 1,
    "max_skip_count": 0,
    "min_gram_length": 1,
    "mode": "TF",
    "ngram_counts": [0],
    "ngram_indexes": [0],
    "pool_int64s": [1],
}


@in_one_item(
    ("op", "inputs", "shape", "attributes", "message"),
    [
        ("GatherV2D", [X, ONE], (3,), {"axis": 0}, "indices must be int32 or int64"),
        ("GatherV2D", GATHER, (1, 3), {"axis": 2}, r"axis must be in \[-2, 1\]"),
        ("GatherV2D", GATHER, (2, 3), {"axis": 0}, "the result is float32 1x3"),
        ("GatherElements", GATHER, (1,), {}, "index must have 2 axes like x"),
        ("GatherElements", [X, np.zeros((1, 4), np.int64)], (1, 4), {}, "beyond x .* along axis 1"),
        ("GatherNd", [X, np.array(0)], (3,), {}, "must have an axis of tuples"),
        ("GatherNd", [X, longs(0, 0, 0)], (), {}, "tuples of 3 indices are too long"),
        ("GatherNd", [X, longs(0)], (3,), {"batch_dims": 1}, "batch_dims 1 does not fit"),
        (
            "GatherNd",
            [X, np.zeros((3, 1), np.int64)],
            (3,),
            {"batch_dims": 1},
            "differ in their 1 batch axes",
        ),
        ("TensorScatterUpdate", [X, longs(0), ONE], (2, 3), {}, r"shape \[3\], found float32 scal"),
        (
            "TensorScatterUpdate",
            [X, longs(0), np.zeros(3, np.int32)],
            (2, 3),
            {},
            "inputs must have the same dtype",
        ),
        ("ScatterElements", [X, longs(0), ONE], (2, 3), {}, "indices must have 2 axes like data"),
        ("ScatterElements", [X, HERE, ONE], (2, 3), {}, r"shape \[1, 1\], found float32 scalar"),
        ("ScatterElements", [X, HERE, HERE], (2, 3), {}, "inputs must have the same dtype"),
        ("ScatterElements", [X, X, X], (2, 3), {}, "indices must be int32 or int64"),
        (
            "ScatterElements",
            [X, np.zeros((3, 1), np.int64), X[:, :1]],
            (2, 3),
            {"axis": 1},
            "reaches beyond data .* along axis 0",
        ),
        ("ScatterElements", [X, HERE, X[:1, :1]], (2, 3), {"reduction": "add"}, "must be 'none'"),
        ("Where", [X], (4, 3), {}, "must have 2 columns"),
        ("TfIdfVectorizer", [X], (2, 1), WORDS, "sequences of int32 or int64"),
        ("TfIdfVectorizer", [longs(1)], (1,), {**WORDS, "mode": "tf"}, "mode must be TF, IDF or"),
        ("TfIdfVectorizer", [longs(1)], (1,), {**WORDS, "ngram_counts": [1]}, "count up from 0"),
        ("TfIdfVectorizer", [longs(1)], (1,), {**WORDS, "ngram_indexes": []}, "have 1 places"),
        ("TfIdfVectorizer", [longs(1)], (1,), {**WORDS, "weights": [1.0, 2.0]}, "one place each"),
        ("OneHotD", [X, ONE, ONE], (2, 3, 4), {"depth": 4}, "indices must be integers"),
        ("OneHotD", [longs(0), ONE, X], (1, 4), {"depth": 4}, "off_value must be one element"),
        ("OneHotD", [longs(0), ONE, ONE], (1, 4), {"depth": -4}, "depth at least 0"),
        ("OneHotD", [longs(0), ONE, ONE], (1, 4), {"depth": 4, "axis": 2}, "axis must be in"),
        ("ReverseSequence", [X, longs(1, 1)], (2, 3), {"seq_dim": 0}, "must differ, found 0"),
        (
            "ReverseSequence",
            [X, longs(1, 1)],
            (2, 3),
            {"seq_dim": 0, "batch_dim": 1},
            "must have 3 elements",
        ),
        ("NonZero", [X], (3, 4), {"transpose": True}, "must have 2 rows"),
        ("NonZero", [X], (2, 4), {}, "transpose must be True"),
        ("Range", [ONE, ONE, X], (4,), {}, "delta must be one element"),
        ("Range", [ONE, ONE, ONE], (4, 1), {}, "must be a vector"),
        ("Squeeze", [X], (2, 3), {"axis": [0]}, r"axes \[0\] of .* are not of size 1"),
        ("TileD", [X], (2, 3), {"multiples": [1]}, "must have 2 elements"),
        ("TileD", [X], (2, 3), {"multiples": [1, -1]}, "must be at least 0"),
        ("DepthToSpace", [X], (2, 3), {"block_size": 1}, "must have 4 axes"),
        ("DepthToSpace", [MAP], MAP.shape, {"block_size": 0}, "block_size must be at least 1"),
        (
            "DepthToSpace",
            [MAP],
            MAP.shape,
            {"block_size": 3},
            "4 channels cannot form blocks of 3 x 3",
        ),
        ("DepthToSpace", [MAP], MAP.shape, {"block_size": 2, "mode": "XYZ"}, "DCR or CRD"),
        ("SpaceToDepth", [MAP], MAP.shape, {"block_size": 2}, "2 x 3 cannot form blocks of 2 x 2"),
        (
            "SpaceToDepth",
            [MAP],
            MAP.shape,
            {"block_size": 1, "data_format": "NHWC"},
            "data_format must be 'NCHW'",
        ),
    ],
)
def test_a_node_that_makes_no_sense_is_refused(
    op: str, inputs: Sequence[Array], shape: Sequence[int], attributes: Attributes, message: str
) -> None:
    dtype = {"NonZero": I64, "Where": I64}.get(op, F32)
    with pytest.raises(AtcError, match=message):
        run_operator(op, inputs, [(dtype, shape)], attributes)


TWICE = np.array([2, 2], np.float32)


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([X, None, TWICE], {"mode": "cubic"}, "mode must be linear, nearest, found 'cubic'"),
        ([X, None, TWICE], {"nearest_mode": "near"}, "nearest_mode must be ceil"),
        (
            [X, None, TWICE],
            {"coordinate_transformation_mode": "middle"},
            "coordinate_transformation_mode must be align_corners",
        ),
        ([X, None, None], {}, "either scales or sizes"),
        ([X, None, TWICE, longs(4, 6)], {}, "either scales or sizes"),
        ([X, None, TWICE[:1]], {}, "scales must be a constant with 2 numbers"),
        ([X, None, -TWICE], {}, "scales must be positive"),
        ([X, None, TWICE * np.inf], {}, "scales must be positive"),
        ([X, None, None, longs(-4, 6)], {}, "sizes must be positive"),
        (
            [X, TWICE, TWICE],
            {"coordinate_transformation_mode": "tf_crop_and_resize"},
            "needs a roi of 4 numbers",
        ),
        ([X.astype(np.bool_), None, TWICE], {}, "computes numbers"),
    ],
)
def test_resize_that_makes_no_sense_is_refused(
    inputs: Sequence[Array | None], attributes: Attributes, message: str
) -> None:
    assert inputs[0] is not None
    dtype = DType.from_numpy(inputs[0].dtype)
    with pytest.raises(AtcError, match=message):
        run_operator("Resize", inputs, [(dtype, (4, 6))], attributes, constants=(2, 3))


def test_resize_rounds_what_it_extrapolates_to_the_dtype() -> None:
    x, roi = X.astype(np.float16), np.array([0, -1, 1, 2], np.float32)
    attributes: Attributes = {
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 0.1,
    }
    sizes = longs(2, 3)
    (y,) = run_operator("Resize", [x, roi, None, sizes], [(F16, (2, 3))], attributes, (3,))
    tenth = np.float16(0.1)
    np.testing.assert_array_equal(y, np.array([[tenth, 1, tenth], [tenth, 4, tenth]], np.float16))
