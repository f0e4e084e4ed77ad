"""Pooling against onnxruntime over random windows, ceil_mode and padding included."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from atc_py.device.sim.kernels import pooling
from atc_py.package.schema import OmAttribute
from atc_py.tensor.dtypes import DType
from tests.device.models import random_array, run_operator
from tests.device.onnx_oracle import Onnx, compare
from tests.device.tolerances import assert_close
from tests.sampling import examples


@dataclass(frozen=True)
class Pool:
    """Shapes and attributes of a pooling node."""

    extents: tuple[int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    pads: tuple[int, int, int, int]
    ceil: bool
    seed: int

    def fitted(self) -> Pool:
        """Return a copy with pads smaller than the window, as onnxruntime wants, and room for one."""
        pads = [pad % self.kernel[index // 2] for index, pad in enumerate(self.pads)]
        reaches = [d * (k - 1) + 1 for d, k in zip(self.dilations, self.kernel, strict=True)]
        height = max(self.extents[0], reaches[0] - pads[0] - pads[1])
        width = max(self.extents[1], reaches[1] - pads[2] - pads[3])
        return replace(self, pads=(pads[0], pads[1], pads[2], pads[3]), extents=(height, width))

    def sees_data(self) -> bool:
        """Return True if no window is in the padding alone; onnxruntime gives -FLT_MAX there."""
        return all(
            any(0 <= start + tap * dilation < extent for tap in range(size))
            for extent, size, stride, dilation, before, after in zip(
                self.extents, self.kernel, self.strides, self.dilations, self.pads[::2],
                self.pads[1::2], strict=True,
            )
            for start in range(-before, extent + after - dilation * (size - 1), stride)
        )  # fmt: skip

    @property
    def attributes(self) -> dict[str, OmAttribute]:
        """CANN's spelling."""
        return {
            "ksize": [1, 1, *self.kernel],
            "strides": [1, 1, *self.strides],
            "pads": list(self.pads),
            "ceil_mode": self.ceil,
        }

    @property
    def onnx_attributes(self) -> dict[str, object]:
        """ONNX's spelling."""
        top, bottom, left, right = self.pads
        return {
            "kernel_shape": list(self.kernel),
            "strides": list(self.strides),
            "pads": [top, left, bottom, right],
            "ceil_mode": int(self.ceil),
        }


PAIR = st.tuples(st.integers(1, 3), st.integers(1, 3))
POOLS = st.builds(
    Pool,
    extents=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    strides=PAIR,
    dilations=PAIR,
    pads=st.tuples(*[st.integers(0, 3)] * 4),
    ceil=st.booleans(),
    seed=st.integers(0, 999),
)


@given(pool=POOLS)
@examples(100)
def test_max_pool_agrees_with_onnxruntime(pool: Pool) -> None:
    pool = pool.fitted()
    assume(pool.sees_data())
    node = Onnx("MaxPool", {**pool.onnx_attributes, "dilations": list(pool.dilations)}, opset=12)
    attributes = {**pool.attributes, "dilations": [1, 1, *pool.dilations]}
    compare(node, "MaxPoolV3", [random_array(pool.seed, (2, 3, *pool.extents))], attributes)


@given(
    pool=st.builds(
        Pool,
        extents=st.tuples(st.integers(1, 16), st.integers(1, 16)),
        kernel=st.tuples(st.integers(1, 13), st.integers(1, 13)),
        strides=st.just((1, 1)),
        dilations=st.just((1, 1)),
        pads=st.tuples(*[st.integers(0, 12)] * 4),
        ceil=st.booleans(),
        seed=st.integers(0, 999),
    )
)
@examples(60)
def test_max_pool_of_long_windows_agrees_with_onnxruntime(pool: Pool) -> None:
    pool = pool.fitted()
    assume(pool.sees_data())
    node, x = (
        Onnx("MaxPool", pool.onnx_attributes, opset=12),
        random_array(pool.seed, (2, 3, *pool.extents)),
    )
    compare(node, "MaxPoolV3", [x], {**pool.attributes, "dilations": [1, 1, 1, 1]})


@given(pool=POOLS, include=st.booleans(), opset=st.sampled_from([10, 11, 19]))
@examples(100)
def test_avg_pool_agrees_with_onnxruntime(pool: Pool, include: bool, opset: int) -> None:
    pool = pool.fitted()
    node = Onnx("AveragePool", {**pool.onnx_attributes, "count_include_pad": int(include)}, opset)
    attributes = {**pool.attributes, "exclusive": not include}
    compare(node, "AvgPoolV2", [random_array(pool.seed, (2, 3, *pool.extents))], attributes)


def test_ceil_mode_drops_a_window_that_starts_in_the_padding() -> None:
    x = random_array(3, (1, 1, 5, 5))
    attributes: dict[str, OmAttribute] = {
        "ksize": [1, 1, 1, 1], "strides": [1, 1, 3, 3], "pads": [0, 1, 0, 1], "ceil_mode": True,
    }  # fmt: skip
    (y,) = run_operator("MaxPoolV3", [x], [(DType.FLOAT32, (1, 1, 2, 2))], attributes)
    np.testing.assert_array_equal(y, x[:, :, ::3, ::3])


def test_avg_pool_counts_padding_but_not_what_overhangs_it() -> None:
    x = np.full((1, 1, 1, 4), 6.0, np.float32)
    attributes: dict[str, OmAttribute] = {
        "ksize": [1, 1, 1, 3], "strides": [1, 1, 1, 2], "pads": [0, 0, 1, 0], "ceil_mode": True,
        "exclusive": False,
    }  # fmt: skip
    (y,) = run_operator("AvgPoolV2", [x], [(DType.FLOAT32, (1, 1, 1, 2))], attributes)
    np.testing.assert_array_equal(y.reshape(-1), [4.0, 6.0])
    attributes["pads"] = [0, 0, 0, 1]
    attributes["strides"] = [1, 1, 1, 3]
    (y,) = run_operator("AvgPoolV2", [x], [(DType.FLOAT32, (1, 1, 1, 2))], attributes)
    np.testing.assert_array_equal(y.reshape(-1), [6.0, 3.0])  # one of two counted, third overhangs


@pytest.mark.parametrize(
    ("op", "onnx_op"), [("MaxPoolV3", "MaxPool"), ("AvgPoolV2", "AveragePool")]
)
@pytest.mark.parametrize("mode", ["SAME", "VALID"])
def test_padding_modes_are_those_of_onnx(op: str, onnx_op: str, mode: str) -> None:
    x = random_array(7, (1, 2, 8, 7))
    auto_pad = {"SAME": "SAME_UPPER", "VALID": "VALID"}[mode]
    node = Onnx(onnx_op, {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": auto_pad}, 11)
    attributes: dict[str, OmAttribute] = {
        "ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 2], "padding_mode": mode, "pads": [9, 9, 9, 9],
    }  # fmt: skip
    compare(node, op, [x], attributes)


@pytest.mark.parametrize(
    ("op", "onnx_op"), [("MaxPoolV3", "GlobalMaxPool"), ("AvgPoolV2", "GlobalAveragePool")]
)
def test_global_pooling_ignores_the_window(op: str, onnx_op: str) -> None:
    attributes: dict[str, OmAttribute] = {
        "ksize": [1, 1, 1, 1], "strides": [1, 1, 1, 1], "global_pooling": True,
    }  # fmt: skip
    compare(Onnx(onnx_op), op, [random_array(8, (2, 3, 5, 6))], attributes)


def test_avg_pool_divides_by_the_override() -> None:
    x = np.ones((1, 1, 2, 2), np.float32)
    attributes: dict[str, OmAttribute] = {
        "ksize": [1, 1, 2, 2], "strides": [1, 1, 1, 1], "divisor_override": 8,
    }  # fmt: skip
    (y,) = run_operator("AvgPoolV2", [x], [(DType.FLOAT32, (1, 1, 1, 1))], attributes)
    assert y.item() == 0.5


def test_pooling_in_pieces_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooling, "_BLOCK", 60)
    node = Onnx("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]})
    attributes: dict[str, OmAttribute] = {
        "ksize": [1, 1, 3, 3], "strides": [1, 1, 2, 2], "pads": [1, 1, 1, 1],
    }  # fmt: skip
    compare(node, "MaxPoolV3", [random_array(9, (3, 5, 6, 5))], attributes)


def test_max_pool_keeps_infinities_and_nan() -> None:
    x = np.array([-np.inf, -np.inf, 1.0, np.nan], np.float16).reshape(1, 1, 2, 2)
    attributes: dict[str, OmAttribute] = {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 1]}
    (y,) = run_operator("MaxPoolV3", [x], [(DType.FLOAT16, (1, 1, 2, 1))], attributes)
    np.testing.assert_array_equal(y.reshape(-1), np.array([-np.inf, np.nan], np.float16))


def test_max_pool_of_padding_alone_is_minus_infinity() -> None:
    x = np.ones((1, 1, 1, 1), np.float32)
    attributes: dict[str, OmAttribute] = {
        "ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 1], "pads": [0, 0, 1, 1],
        "dilations": [1, 1, 1, 2],
    }  # fmt: skip
    (y,) = run_operator("MaxPoolV3", [x], [(DType.FLOAT32, (1, 1, 1, 1))], attributes)
    assert y.item() == -np.inf


@pytest.mark.parametrize(("op", "nothing"), [("MaxPoolV3", -np.inf), ("AvgPoolV2", np.nan)])
@pytest.mark.parametrize("shape", [(1, 2, 0, 4), (1, 2, 4, 0)])
def test_pools_of_a_map_without_elements_see_padding_alone(
    op: str, nothing: float, shape: tuple[int, ...]
) -> None:
    attributes: dict[str, OmAttribute] = {
        "ksize": [1, 1, 3, 3], "strides": [1, 1, 1, 1], "pads": [2, 2, 2, 2],
    }  # fmt: skip
    result = (1, 2, shape[2] + 2, shape[3] + 2)
    (y,) = run_operator(op, [np.ones(shape, np.float16)], [(DType.FLOAT16, result)], attributes)
    np.testing.assert_array_equal(y, np.full(result, nothing, np.float16))


def test_avg_pool_takes_float64() -> None:
    x = random_array(10, (1, 1, 4, 4), DType.FLOAT64)
    attributes: dict[str, OmAttribute] = {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2]}
    (y,) = run_operator("AvgPoolV2", [x], [(DType.FLOAT64, (1, 1, 2, 2))], attributes)
    assert_close(y, x.reshape(1, 1, 2, 2, 2, 2).mean(axis=(3, 5)), DType.FLOAT64)
