"""Normalization, softmax, means and matrix products against onnxruntime."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.package.schema import OmAttribute
from atc_py.tensor.dtypes import DType
from tests.device.models import Attributes, random_array, run_operator
from tests.device.nodes import refusal
from tests.device.onnx_oracle import Onnx, compare
from tests.device.tolerances import assert_close
from tests.sampling import examples

SHAPE = st.lists(st.integers(1, 5), min_size=2, max_size=5)


@given(shape=SHAPE, seed=st.integers(0, 999), epsilon=st.sampled_from([1e-5, 1e-3]))
@examples(60)
def test_batch_norm_agrees_with_onnxruntime(shape: list[int], seed: int, epsilon: float) -> None:
    x = random_array(seed, shape)
    scale, offset, mean = (random_array(seed + index, shape[1:2]) for index in range(3))
    variance = np.abs(random_array(seed + 3, shape[1:2])) + np.float32(0.1)
    arrays = [x, scale, offset, mean, variance]
    node = Onnx("BatchNormalization", {"epsilon": epsilon})
    for op in ("BNInfer", "BatchNorm"):
        compare(node, op, arrays, {"epsilon": epsilon}, [DType.FLOAT32])
        half = x.astype(np.float16)
        (expected,) = node.run([half.astype(np.float32), *arrays[1:]])
        types = [(DType.FLOAT16, shape)]
        (y,) = run_operator(op, [half, *arrays[1:]], types, {"epsilon": epsilon})
        assert_close(y, expected, DType.FLOAT16)


@given(
    shape=st.lists(st.integers(1, 7), min_size=3, max_size=4),
    radius=st.integers(0, 4),
    seed=st.integers(0, 999),
)
@examples(60)
def test_lrn_agrees_with_onnxruntime(shape: list[int], radius: int, seed: int) -> None:
    shape = [*shape, 1][:4]
    size, alpha, beta, bias = 2 * radius + 1, 0.3, 0.75, 1.5
    node = Onnx("LRN", {"size": size, "alpha": alpha, "beta": beta, "bias": bias})
    attributes: dict[str, OmAttribute] = {
        "depth_radius": radius, "alpha": alpha / size, "beta": beta, "bias": bias,
    }  # fmt: skip
    compare(node, "LRN", [random_array(seed, shape)], attributes)


@given(shape=SHAPE, data=st.data(), seed=st.integers(0, 999))
@examples(60)
def test_softmax_agrees_with_onnxruntime(shape: list[int], data: st.DataObject, seed: int) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    compare(
        Onnx("Softmax", {"axis": axis}), "SoftmaxV2", [random_array(seed, shape) * 5],
        {"axes": [axis]}, [DType.FLOAT32, DType.FLOAT16, DType.FLOAT64],
    )  # fmt: skip


def test_softmax_over_several_axes_is_joint() -> None:
    x = random_array(1, (2, 3, 4))
    node = Onnx("Softmax", {"axis": 1}, opset=11)  # until opset 12: all axes from 1 on
    compare(node, "SoftmaxV2", [x], {"axes": [1, -1]})


def test_softmax_does_not_overflow() -> None:
    x = np.array([[60000.0, 60000.0, -60000.0]], np.float16)
    (y,) = run_operator("SoftmaxV2", [x], [(DType.FLOAT16, (1, 3))])
    assert y.tolist() == [[0.5, 0.5, 0.0]]


def test_softmax_can_widen_its_result() -> None:
    x = random_array(2, (2, 5), DType.FLOAT16)
    types = [(DType.FLOAT32, (2, 5))]
    (y,) = run_operator("SoftmaxV2", [x], types, {"half_to_float": True})
    (expected,) = Onnx("Softmax", {"axis": -1}).run([x.astype(np.float32)])
    assert_close(y, expected, DType.FLOAT32)


@given(shape=SHAPE, data=st.data(), keep=st.booleans())
@examples(60)
def test_reduce_mean_agrees_with_onnxruntime(
    shape: list[int], data: st.DataObject, keep: bool
) -> None:
    rank = len(shape)
    axes = data.draw(st.lists(st.integers(0, rank - 1), min_size=1, unique=True))
    axes = [axis - rank if data.draw(st.booleans()) else axis for axis in axes]
    compare(
        Onnx("ReduceMean", {"axes": axes, "keepdims": int(keep)}), "ReduceMeanD",
        [random_array(3, shape)], {"axes": axes, "keep_dims": keep},
    )  # fmt: skip


def test_reduce_mean_of_float16_does_not_overflow() -> None:
    x = np.full((1, 1000), 60000.0, np.float16)
    (y,) = run_operator("ReduceMeanD", [x], [(DType.FLOAT16, (1,))], {"axes": [1]})
    assert y.item() == np.float16(60000.0)


def test_reduce_mean_of_nothing_is_nan() -> None:
    x = np.empty((2, 0), np.float32)
    (y,) = run_operator("ReduceMeanD", [x], [(DType.FLOAT32, (2,))], {"axes": [1]})
    assert np.isnan(y).all()


@pytest.mark.parametrize("transpose_x1", [False, True])
@pytest.mark.parametrize("transpose_x2", [False, True])
@given(extents=st.tuples(*[st.integers(1, 6)] * 3), bias=st.booleans(), seed=st.integers(0, 999))
@examples(60)
def test_matmul_agrees_with_onnxruntime(
    *, transpose_x1: bool, transpose_x2: bool, extents: tuple[int, int, int], bias: bool, seed: int
) -> None:
    rows, inner, columns = extents
    left = random_array(seed, (inner, rows) if transpose_x1 else (rows, inner))
    right = random_array(seed + 1, (columns, inner) if transpose_x2 else (inner, columns))
    added = random_array(seed + 2, (columns,)) if bias else None
    node = Onnx("Gemm", {"transA": int(transpose_x1), "transB": int(transpose_x2)})
    attributes: dict[str, OmAttribute] = {
        "transpose_x1": transpose_x1, "transpose_x2": transpose_x2,
    }  # fmt: skip
    turned = (np.abs(left.T if transpose_x1 else left), np.abs(right.T if transpose_x2 else right))
    reach = float((turned[0] @ turned[1]).max())
    compare(node, "MatMulV2", [left, right, added], attributes, reach=reach)


@pytest.mark.parametrize(
    ("op", "attributes", "reason"),
    [
        ("LogSoftmaxV2", {"axes": [2]}, "axis must be in [-2, 1], found 2"),
        ("LogSoftmaxV2", {"axes": [0, -2]}, "axes must differ"),
        ("MVNV2", {}, "axis must be in [-2, 1], found 2"),
        ("HardMax", {"axis": -3}, "axis must be in [-2, 1], found -3"),
        ("LpNormalize", {"axis": 2}, "axis must be in [-2, 1], found 2"),
        ("LpNormalize", {"p": 3}, "p must be 1 or 2, found 3"),
    ],
)
def test_bad_axes_and_norms_are_refused(op: str, attributes: Attributes, reason: str) -> None:
    types = [(DType.FLOAT32, (2, 3))]
    assert reason in refusal(op, [random_array(1, (2, 3))], types, attributes)
    integers = [np.ones((2, 3), np.int32)]
    assert "computes floats" in refusal(op, integers, [(DType.INT32, (2, 3))])


def test_log_softmax_over_several_axes_is_joint() -> None:
    node = Onnx("LogSoftmax", {"axis": 1}, opset=11)  # until opset 12: all axes from 1 on
    compare(node, "LogSoftmaxV2", [random_array(1, (2, 3, 4))], {"axes": [2, 1]})


def test_log_softmax_of_double_is_double() -> None:
    node = Onnx("LogSoftmax", {"axis": -1})
    compare(node, "LogSoftmaxV2", [random_array(1, (2, 9))], None, [DType.FLOAT64])


def test_log_softmax_of_a_scalar_is_zero() -> None:
    x = np.array(3.5, np.float32)
    (y,) = run_operator("LogSoftmaxV2", [x], [(DType.FLOAT32, ())], {"axes": []})
    assert y.tolist() == 0.0
