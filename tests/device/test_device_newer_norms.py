"""Norms of channels and windows, logarithms of sums, losses: what kernels do alone, and refuse."""

from typing import Any

import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from tests.device.models import Array, Attributes, random_array, run_operator
from tests.device.nodes import refusal
from tests.failures import in_one_item

F16, F32, I64 = DType.FLOAT16, DType.FLOAT32, DType.INT64
X = random_array(1, (2, 3, 4))
THREE, FOUR = np.ones(3, np.float32), np.ones(4, np.float32)
NCHW: dict[str, Any] = {"data_format": "NCHW"}
LABELS = np.zeros((2, 4), np.int64)

REFUSED: list[tuple[str, list[Array], Attributes, str]] = [
    ("InstanceNorm", [X, THREE, THREE], {}, "data_format must be 'NCHW'"),
    ("InstanceNorm", [X, FOUR, THREE], NCHW, "gamma must have shape 3, found float32 4"),
    ("InstanceNorm", [X, THREE, FOUR], NCHW, "beta must have shape 3, found float32 4"),
    ("InstanceNorm", [X, THREE, THREE.astype(np.float16)], NCHW, "inputs must have the same dtype"),
    ("GroupNorm", [X, THREE, THREE], {"num_groups": 2}, "must divide 3 channels, found 2"),
    ("GroupNorm", [X, FOUR, THREE], {"num_groups": 3}, "gamma must have shape 3, found float32 4"),
    ("InstanceNorm", [THREE, THREE, THREE], NCHW, "x must have a channel axis, found float32 3"),
    ("GlobalLpPool", [THREE], {}, "a channel axis and a positive p are needed"),
    ("GlobalLpPool", [X], {"p": 0.0}, "a channel axis and a positive p are needed"),
    ("GlobalLpPool", [LABELS], {}, "computes floats, found int64"),
    ("ReduceLogSumExp", [X, np.array([3])], {}, "axis must be in [-3, 2], found 3"),
    ("ReduceLogSumExp", [LABELS, np.array([1])], {}, "computes floats, found int64"),
]


@in_one_item(("op", "arrays", "attributes", "reason"), REFUSED)
def test_bad_node_is_refused(
    op: str, arrays: list[Array], attributes: Attributes, reason: str
) -> None:
    types = [(DType.from_numpy(arrays[0].dtype), (2,))]
    assert reason in refusal(op, arrays, types, attributes, [1] if "Reduce" in op else [])


LOSSES: list[tuple[list[Array], str, str]] = [
    ([X, LABELS[:1]], "mean", "labels must be integers of shape [2, 4], found int64 1x4"),
    ([X, X[:, 0]], "mean", "labels must be integers of shape [2, 4], found float32 2x4"),
    ([X, LABELS, FOUR], "mean", "weights must be like scores of shape [3], found float32 4"),
    ([X, LABELS, THREE.astype(np.float16)], "mean", "weights must be like scores of shape [3]"),
    ([X, LABELS], "most", "reduction must be one of none, sum, mean, found 'most'"),
    ([THREE, LABELS[0, 0]], "mean", "scores must have an axis of classes, found float32 3"),
]


@pytest.mark.parametrize(("arrays", "reduction", "reason"), LOSSES)
def test_bad_loss_is_refused(arrays: list[Array], reduction: str, reason: str) -> None:
    types = [(F32, ()), (F32, arrays[0].shape)]
    found = refusal("SoftmaxCrossEntropyLoss", arrays, types, {"reduction": reduction})
    assert reason in found


def test_nothing_to_normalize_or_to_add_up() -> None:
    for shape in ((0, 3, 4), (2, 3, 0)):
        x = np.zeros(shape, np.float32)
        (y,) = run_operator("InstanceNorm", [x, THREE, THREE], [(F32, shape)], NCHW)
        assert y.shape == shape
    x = np.zeros((2, 3, 0, 1), np.float32)
    (y,) = run_operator("GlobalLpPool", [x], [(F32, (2, 3, 1, 1))])
    assert not y.any()
    axes = np.array([1])
    (y,) = run_operator("ReduceLogSumExp", [x[:, :, :, 0], axes + 1], [(F32, (2, 3))], {}, [1])
    assert np.isneginf(y).all()
    scores, labels = np.zeros((0, 3), np.float32), np.zeros(0, np.int64)
    types = [(F32, ()), (F32, (0, 3))]
    for reduction, expected in (("sum", 0), ("mean", np.nan)):
        options: dict[str, Any] = {"reduction": reduction}
        loss, _ = run_operator("SoftmaxCrossEntropyLoss", [scores, labels], types, options)
        np.testing.assert_array_equal(loss, expected)


def test_statistics_of_float16_rows_are_as_exact_as_their_dtype() -> None:
    x = (random_array(2, (3, 64)) * 2**-6 + 1).astype(np.float16)
    wide = x.astype(np.float64)
    mean, variance = wide.mean(1, keepdims=True), wide.var(1, keepdims=True)
    place: dict[str, Any] = {"begin_norm_axis": 1, "begin_params_axis": 1}
    for dtype, kind, bound in ((np.float16, F16, 2**-11), (np.float32, F32, 2**-17)):
        ones, zeros = np.ones(64, dtype), np.zeros(64, dtype)
        types = [(F16, (3, 64)), (kind, (3, 1)), (kind, (3, 1))]
        found = run_operator("LayerNorm", [x, ones, zeros], types, place)
        np.testing.assert_allclose(found[1], mean, rtol=bound)
        np.testing.assert_allclose(found[2], variance, rtol=bound)


def test_power_of_what_is_negative_is_nan_unless_it_is_whole() -> None:
    x = np.array([-2, 0, 3, np.inf], np.float32)
    for attributes, expected in (
        ({"power": 3.0}, [-8, 0, 27, np.inf]),
        ({"power": 0.5, "scale": 2.0, "shift": 3.0}, [np.nan, 3**0.5, 3, np.inf]),
        ({"power": -1.0}, [-0.5, np.inf, 1 / 3, 0]),
    ):
        (y,) = run_operator("Power", [x], [(F32, (4,))], attributes)
        np.testing.assert_allclose(y, expected, rtol=2**-22)


def test_sum_with_a_number_and_root_in_float16_are_rounded_once() -> None:
    x = np.array([1, 2, 65504, 0], np.float16)
    (y,) = run_operator("Adds", [x], [(F16, (4,))], {"value": 0.1})
    np.testing.assert_array_equal(y, (x + np.float32(0.1)).astype(np.float16))
    (y,) = run_operator("Rsqrt", [x], [(F16, (4,))])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(y, (1 / np.sqrt(x.astype(np.float32))).astype(np.float16))
