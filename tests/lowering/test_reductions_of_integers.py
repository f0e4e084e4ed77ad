"""Reductions of integers at the ends of their dtypes, against exact integers and references."""

from math import isqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator

from tests.end_to_end import one_node_model, run_with_onnxruntime
from tests.lowering.precise import compiled

Array = NDArray[Any]

INTEGERS = ["int32", "int64", "uint32", "uint64"]


def ends(dtype: str) -> Array:
    """Return rows of the ends of an integer dtype, and of numbers with squares beyond 64 bits."""
    info = np.iinfo(dtype)
    rows = [
        [info.max] * 4, [info.min] * 4, [info.min, info.max, info.min, info.max],
        [info.max, 0, 0, 0], [info.max // 2] * 4, [info.max - 1, 3, 5, 7], [1, 2, 3, 4],
        [min(info.max, 3 * 10**9), min(info.max, 4 * 10**9), 0, 0],
    ]  # fmt: skip
    return np.array(rows, dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("axes", [[0], [1], [0, 1]])
def test_norm_of_integers_is_exact_and_saturates(dtype: str, axes: list[int]) -> None:
    x = ends(dtype)
    (found,) = compiled(one_node_model("ReduceL2", {"x": x}, 13, axes=axes), {"x": x}).values()
    total = np.sum(x.astype(object) ** 2, axis=tuple(axes), keepdims=True).reshape(-1)
    limit = np.iinfo(dtype).max
    assert found.reshape(-1).tolist() == [min(isqrt(int(n)), limit) for n in total]
    assert found.dtype == dtype


def test_norm_of_int32_is_that_of_onnxruntime() -> None:
    x = ends("int32")
    model = one_node_model("ReduceL2", {"x": x}, 13, axes=[1])
    (expected,) = run_with_onnxruntime(model, {"x": x}).values()
    np.testing.assert_array_equal(compiled(model, {"x": x})["y0"], expected)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op_type", ["ReduceL1", "ReduceProd", "ReduceSumSquare"])
def test_other_reductions_of_integers_wrap_around_as_numpy_does(op_type: str, dtype: str) -> None:
    x = ends(dtype)
    model = one_node_model(op_type, {"x": x}, 13, axes=[1])
    (found,) = compiled(model, {"x": x}).values()
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_array_equal(found, np.asarray(expected).astype(dtype))
