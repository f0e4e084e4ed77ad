"""Elementwise kernels and casts against onnxruntime; integers against numpy, exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.tensor.dtypes import DType
from tests.device.models import INTEGERS, Array, random_array, run_operator
from tests.device.onnx_oracle import Onnx, compare
from tests.device.tolerances import assert_close
from tests.failures import in_one_item
from tests.sampling import examples

ALL_FLOATS = [DType.FLOAT32, DType.FLOAT16, DType.FLOAT64]

SHAPE = st.lists(st.integers(1, 4), min_size=0, max_size=4)
LARGE = (3, 4099)
"""More elements than the block in which bounds are applied, and no multiple of it."""


@st.composite
def broadcast_pairs(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Return two shapes that broadcast against each other, of ranks that may differ."""
    whole = draw(SHAPE)
    shapes = []
    for _ in range(2):
        start = draw(st.integers(0, len(whole)))
        shapes.append([draw(st.sampled_from([1, extent])) for extent in whole[start:]])
    return shapes[0], shapes[1]


@pytest.mark.parametrize("op", ["Add", "Mul"])
@given(shapes=broadcast_pairs(), seed=st.integers(0, 999))
@examples(60)
def test_binary_broadcasts_like_onnxruntime(
    op: str, shapes: tuple[list[int], list[int]], seed: int
) -> None:
    left, right = random_array(seed, shapes[0]), random_array(seed + 1, shapes[1])
    compare(Onnx(op), op, [left, right], dtypes=[*ALL_FLOATS, DType.INT32, DType.INT64])


@pytest.mark.parametrize("dtype", [pytest.param(d, id=d.value) for d in INTEGERS])
def test_integer_arithmetic_wraps_around(dtype: DType) -> None:
    limits = np.iinfo(dtype.numpy)
    x = np.array([limits.max, limits.min, 7], dtype.numpy)
    y = np.array([1, limits.max, 9], dtype.numpy)
    shape = [(dtype, (3,))]
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(run_operator("Add", [x, y], shape)[0], x + y)
        np.testing.assert_array_equal(run_operator("Mul", [x, y], shape)[0], x * y)
        summed = run_operator("AccumulateNV2", [x, y, x], shape, {"N": 3})[0]
        np.testing.assert_array_equal(summed, x + y + x)


@given(shape=SHAPE, count=st.integers(1, 4), seed=st.integers(0, 999))
@examples(60)
def test_accumulate_agrees_with_onnxruntime(shape: list[int], count: int, seed: int) -> None:
    arrays = [random_array(seed + index, shape) for index in range(count)]
    compare(Onnx("Sum"), "AccumulateNV2", arrays, {"N": count})


def test_accumulate_rounds_once() -> None:
    parts = [np.array([value], np.float16) for value in (2048.0, 1.0, 1.0)]
    (y,) = run_operator("AccumulateNV2", parts, [(DType.FLOAT16, (1,))], {"N": 3})
    assert y.item() == 2050.0  # 2048 + 1 alone would round back to 2048


@pytest.mark.parametrize("value", [0.0, -1.5, 0.1, 3e5])
def test_muls_agrees_with_onnxruntime(value: float) -> None:
    x = random_array(3, (2, 50))
    node = Onnx("Mul", extra_inputs=[np.float32(value).reshape(())])
    compare(node, "Muls", [x], {"value": value})


@pytest.mark.parametrize("shape", [(), (5,), LARGE])
def test_relu_agrees_with_onnxruntime(shape: tuple[int, ...]) -> None:
    compare(Onnx("Relu", opset=14), "Relu", [random_array(4, shape)], dtypes=ALL_FLOATS)
    for dtype in (DType.INT8, DType.INT32, DType.INT16, DType.INT64):
        x = random_array(4, shape, dtype)
        (y,) = run_operator("Relu", [x], [(dtype, shape)])
        np.testing.assert_array_equal(y, np.maximum(x, 0))


@pytest.mark.parametrize("shape", [(), (5,), LARGE])
@pytest.mark.parametrize(("low", "high"), [(0.0, 6.0), (-0.5, 0.1), (1.0, -1.0), (-np.inf, 0.25)])
def test_clip_agrees_with_onnxruntime(shape: tuple[int, ...], low: float, high: float) -> None:
    arrays: list[Array] = [random_array(5, shape) * 4, np.float32(low).reshape(())]
    compare(Onnx("Clip"), "ClipByValue", [*arrays, np.float32(high).reshape(())])


def test_clip_takes_integers() -> None:
    x = np.arange(-5, 6, dtype=np.int32)
    bounds = [np.array([-2], np.int32), np.array(3, np.int32)]
    (y,) = run_operator("ClipByValue", [x, *bounds], [(DType.INT32, (11,))])
    np.testing.assert_array_equal(y, x.clip(-2, 3))


@pytest.mark.parametrize("op", ["Relu", "ClipByValue", "Add", "Mul", "Muls"])
def test_nan_and_infinity_pass_quietly(op: str) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 60000.0], np.float16)
    bound = [np.array(-1, np.float16), np.array(np.inf, np.float16)]
    others: dict[str, list[Array]] = {"ClipByValue": bound, "Add": [x], "Mul": [x]}
    attributes = {"Muls": {"value": 2.0}}.get(op, {})
    (y,) = run_operator(op, [x, *others.get(op, [])], [(DType.FLOAT16, (4,))], attributes)
    assert np.isnan(y[0])
    assert y[1] == np.inf
    grows = op in {"Add", "Mul", "Muls"}
    assert y[3] == (np.inf if grows else np.float16(60000.0))


CASTS = [
    (DType.FLOAT32, DType.FLOAT16),
    (DType.FLOAT16, DType.FLOAT32),
    (DType.FLOAT16, DType.FLOAT16),
    (DType.FLOAT64, DType.FLOAT16),
    (DType.FLOAT64, DType.FLOAT32),
    (DType.FLOAT32, DType.FLOAT64),
    (DType.FLOAT32, DType.INT8),
    (DType.FLOAT16, DType.INT32),
    (DType.FLOAT32, DType.INT64),
    (DType.FLOAT32, DType.UINT8),
    (DType.FLOAT64, DType.INT64),
    (DType.INT32, DType.FLOAT16),
    (DType.INT64, DType.FLOAT32),
    (DType.INT64, DType.INT8),
    (DType.UINT8, DType.INT32),
    (DType.INT32, DType.BOOL),
    (DType.FLOAT16, DType.BOOL),
    (DType.BOOL, DType.FLOAT16),
    (DType.BOOL, DType.INT32),
]


@in_one_item(
    ("source", "target"), [pytest.param(a, b, id=f"{a.value}-{b.value}") for a, b in CASTS]
)
def test_cast_agrees_with_onnxruntime_within_the_range(source: DType, target: DType) -> None:
    values = np.array([0.0, 1.0, 2.5, 3.5, 99.9, 0.3, 17.0])
    if not target.value.startswith("u") and not source.value.startswith("u"):
        values = np.concatenate([values, -values])
    x = values.astype(source.numpy)
    from onnx import helper

    node = Onnx("Cast", {"to": helper.np_dtype_to_tensor_dtype(target.numpy)})
    (expected,) = node.run([x])
    (y,) = run_operator("Cast", [x], [(target, x.shape)], {"dst_type": target.value})
    np.testing.assert_array_equal(y, expected)
    assert y.dtype == target.numpy


@pytest.mark.parametrize("target", [pytest.param(d, id=d.value) for d in INTEGERS])
@pytest.mark.parametrize("source", [DType.FLOAT32, DType.FLOAT64])
def test_cast_beyond_the_range_gives_the_nearest_integer(source: DType, target: DType) -> None:
    limits = np.iinfo(target.numpy)
    x = np.array([np.inf, 1e30, -np.inf, -1e30, np.nan, -0.75, 2.0**limits.bits], source.numpy)
    (y,) = run_operator("Cast", [x], [(target, x.shape)], {"dst_type": target.value})
    top, bottom = limits.max, limits.min
    assert y.tolist() == [top, top, bottom, bottom, 0, 0, top]


def test_cast_rounds_float64_to_float16_in_one_step() -> None:
    x = np.array([1 + 2.0**-11 + 2.0**-40, 65519.9999999], np.float64)
    (y,) = run_operator("Cast", [x], [(DType.FLOAT16, (2,))], {"dst_type": "float16"})
    assert y.tolist() == [1 + 2.0**-10, 65504.0]  # by way of float32: 1.0 and infinity


def test_bfloat16_is_rounded_at_the_boundary() -> None:
    x = random_array(6, (100,), DType.BFLOAT16)
    (y,) = run_operator("Muls", [x], [(DType.BFLOAT16, (100,))], {"value": 1.1})
    assert_close(y, x.astype(np.float32) * np.float32(1.1), DType.BFLOAT16)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8], np.float64), [1 + 2.0**-7, 1.0]),
        (np.array([-1 - 2.0**-8 - 2.0**-40, 3.3961775e38], np.float64), [-1 - 2.0**-7, 3.3895e38]),
        (np.array([np.inf, 1e300], np.float64), [np.inf, np.inf]),
        (np.array([2**30 + 2**22 + 1, 2**30 + 2**22], np.int32), [2**30 + 2**23, 2**30]),
        (np.array([2**62 + 2**54 + 2**10, -7], np.int64), [2**62 + 2**55, -7]),
    ],
)
def test_cast_rounds_to_bfloat16_in_one_step(x: Array, expected: list[float]) -> None:
    (y,) = run_operator("Cast", [x], [(DType.BFLOAT16, x.shape)], {"dst_type": "bfloat16"})
    np.testing.assert_allclose(y.astype(np.float64), expected, rtol=1e-4)
