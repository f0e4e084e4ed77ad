"""NaN among numbers: what looks for the largest or the smallest, and what puts them in order, agrees.

ONNX says nothing of NaN there. The device takes NumPy's rules: NaN is larger than all numbers in an
order, and wins where one element is asked for, the smallest as well as the largest.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.tensor.dtypes import DType
from tests.end_to_end import one_node_model, run_with_onnxruntime
from tests.lowering.precise import MODES, compiled

Array = NDArray[Any]

F16, F32 = DType.FLOAT16, DType.FLOAT32
INF, NAN = np.inf, np.nan

ROWS = np.array(
    [
        [1.0, 2.0, NAN, 3.0, INF],
        [NAN, 1.0, 2.0, 3.0, 0.0],
        [1.0, NAN, -INF, NAN, 2.0],
        [NAN] * 5,
        [3.0, 1.0, 2.0, 0.0, NAN],
        [-INF, 2.0, INF, 2.0, 0.0],
    ]
)


def results(
    op_type: str, dtype: DType, mode: str, shape: Any = None, **options: Any
) -> list[Array]:
    """Return the device's results for `ROWS`."""
    x = ROWS.astype(dtype.numpy).reshape(shape or ROWS.shape)
    model = one_node_model(op_type, {"x": x}, 13, **options)
    return list(compiled(model, {"x": x}, mode).values())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [F32, F16], ids=lambda dtype: dtype.value)
def test_nan_is_the_largest_for_all_that_look_for_the_largest(dtype: DType, mode: str) -> None:
    expected = ROWS.max(axis=1).astype(dtype.numpy)
    (largest,) = results("ReduceMax", dtype, mode, axes=[1], keepdims=0)
    (place,) = results("ArgMax", dtype, mode, axis=1, keepdims=0)
    k = {"constants": {"k": np.array([5])}, "outputs": 2, "axis": 1}
    values, places = results("TopK", dtype, mode, **k)
    (hard,) = results("Hardmax", dtype, mode, axis=1)
    (pooled,) = results("GlobalMaxPool", dtype, mode, (1, 6, 1, 5))
    (slid,) = results("MaxPool", dtype, mode, (1, 6, 1, 5), kernel_shape=[1, 5])
    np.testing.assert_array_equal(largest, expected)
    np.testing.assert_array_equal(pooled.reshape(-1), expected)
    np.testing.assert_array_equal(slid.reshape(-1), expected)
    np.testing.assert_array_equal(values[:, 0], expected)
    np.testing.assert_array_equal(place, ROWS.argmax(axis=1))
    np.testing.assert_array_equal(places[:, 0], place)
    np.testing.assert_array_equal(hard.argmax(axis=1), place)
    columns = {f"x{at}": ROWS[:, at].astype(dtype.numpy) for at in range(ROWS.shape[1])}
    (chosen,) = compiled(one_node_model("Max", columns, 13), columns, mode).values()
    np.testing.assert_array_equal(chosen, expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_top_k_orders_nan_as_onnxruntime_does(axis: int, largest: int, mode: str) -> None:
    """Check that NaN is largest: first of the largest, last of the smallest, each in its turn."""
    x = ROWS.astype(np.float32)
    options: dict[str, Any] = {"axis": axis, "largest": largest, "outputs": 2}
    options["constants"] = {"k": np.array([4])}
    model = one_node_model("TopK", {"x": x}, 13, **options)
    found = compiled(model, {"x": x}, mode)
    for name, wanted in run_with_onnxruntime(model, {"x": x}).items():
        np.testing.assert_array_equal(found[name], wanted)
    constant = one_node_model(
        "TopK", {}, 13, **{**options, "constants": {"x": x, "k": np.array([4])}}
    )
    for name, wanted in compiled(constant, {}, mode).items():
        np.testing.assert_array_equal(found[name], wanted)


@pytest.mark.parametrize("mode", MODES)
def test_nan_wins_where_the_smallest_is_asked_for_but_in_an_order(mode: str) -> None:
    (smallest,) = results("ReduceMin", F32, mode, axes=[1], keepdims=0)
    (place,) = results("ArgMin", F32, mode, axis=1, keepdims=0)
    np.testing.assert_array_equal(smallest, ROWS.min(axis=1))
    np.testing.assert_array_equal(place, ROWS.argmin(axis=1))
    columns = {f"x{at}": ROWS[:, at].astype(np.float32) for at in range(ROWS.shape[1])}
    (chosen,) = compiled(one_node_model("Min", columns, 13), columns, mode).values()
    np.testing.assert_array_equal(chosen, ROWS.min(axis=1))
    k = {"constants": {"k": np.array([1])}, "outputs": 2, "axis": 1, "largest": 0}
    values, _ = results("TopK", F32, mode, **k)
    np.testing.assert_array_equal(values[:, 0], np.sort(ROWS, axis=1)[:, 0])


def test_boxes_whose_score_is_nan_come_last() -> None:
    starts = 10.0 * np.arange(4)[:, None]
    boxes = np.concatenate([starts, starts, starts + 1, starts + 1], axis=1)[None].astype(
        np.float32
    )
    feeds = {"boxes": boxes, "scores": np.array([[[0.5, NAN, INF, -INF]]], np.float32)}
    count = {"count": np.array([9])}
    model = one_node_model("NonMaxSuppression", feeds, 13, constants=count)
    (found,) = compiled(model, feeds).values()
    assert found[:, 2].tolist() == [2, 0, 3, 1]
    bounds = {
        **count,
        "overlap": np.array([0.5], np.float32),
        "least": np.array([-INF], np.float32),
    }
    model = one_node_model("NonMaxSuppression", feeds, 13, constants=bounds)
    (found,) = compiled(model, feeds).values()
    assert found[:, 2].tolist() == [2, 0]
