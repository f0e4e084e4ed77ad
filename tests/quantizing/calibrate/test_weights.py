"""Scales and codes of weights, per channel and per tensor."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto
from onnxruntime.quantization.quant_utils import quantize_data

from atc_py.diag import AtcError, Code
from atc_py.diag.codes import BAD_OPTION, SCALE_OUT_OF_RANGE, VALUES_NOT_FINITE
from atc_py.quantizing.calibrate.value_range import sqnr
from atc_py.quantizing.calibrate.weights import (
    WEIGHT_METHODS,
    dequantized_weights,
    quantized_weights,
    weight_scales,
)
from atc_py.tensor.scale_words import GraphWords, encode_graph
from tests.quantizing.calibrate.distributions import f32

WEIGHTS = f32(
    [[0.5, -1, 0.25, 0.75], [0, 0, 0, 0], [2.54, -1.27, 0.02, 0.01], [-0.3, 0.1, 0.2, -0.15]]
)


def test_arq_scales_are_those_of_amct() -> None:
    scales = weight_scales(WEIGHTS, 0, "arq")
    np.testing.assert_array_equal(scales, f32([0.0078125, 1, 0.02, 0.0023437501]))
    assert quantized_weights(WEIGHTS, scales).tolist() == [
        [64, -128, 32, 96],
        [0, 0, 0, 0],
        [127, -64, 1, 0],
        [-128, 43, 85, -64],
    ]
    whole = weight_scales(WEIGHTS, None, "arq")
    np.testing.assert_array_equal(whole, f32([0.02]))
    assert quantized_weights(WEIGHTS, whole, None).tolist() == [
        [25, -50, 12, 38],
        [0, 0, 0, 0],
        [127, -64, 1, 0],
        [-15, 5, 10, -8],
    ]


def test_words_of_arq_scales() -> None:
    factors = weight_scales(WEIGHTS, 0, "arq") * np.float32(0.02)
    zeros = np.zeros(4, np.int64)
    words = encode_graph(GraphWords(factors, zeros, zeros))
    assert [hex(word) for word in words] == ["0x3923d70a", "0x3ca3d70a", "0x39d1b717", "0x38449ba6"]
    cut = [hex(int(word) & 0xFFFFE000) for word in words]
    assert cut == ["0x3923c000", "0x3ca3c000", "0x39d1a000", "0x38448000"]


@pytest.mark.parametrize("shape", [(8, 3, 3, 3), (64, 1, 5, 5), (32, 48)])
@pytest.mark.parametrize("axis", [0, 1])
def test_min_max_is_that_of_onnxruntime(shape: tuple[int, ...], axis: int) -> None:
    weights = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    scales = weight_scales(weights, axis, "min-max")
    codes = quantized_weights(weights, scales, axis)
    for at in range(shape[axis]):
        row = weights.take(at, axis)
        _zero, scale, expected = quantize_data(row, TensorProto.INT8, symmetric=True)
        assert scales[at] == pytest.approx(float(scale), rel=2e-7)
        taken = codes.take(at, axis)
        assert (taken != np.reshape(expected, row.shape)).mean() < 0.01  # ties, one float32 apart


@pytest.mark.parametrize("seed", range(8))
def test_mse_errs_least_and_channels_less_than_the_tensor(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spread = np.exp(rng.standard_normal((16, 1)))
    weights = (rng.standard_t(4, (16, 40)) * spread).astype(np.float32)
    found: dict[tuple[str, int | None], float] = {}
    for method in WEIGHT_METHODS:
        for axis in (0, None):
            scales = weight_scales(weights, axis, method)
            codes = quantized_weights(weights, scales, axis)
            found[method, axis] = sqnr(weights, dequantized_weights(codes, scales, axis))
    for axis in (0, None):
        best = max(found["arq", axis], found["min-max", axis])
        assert found["mse", axis] >= best - 1e-4
    for method in WEIGHT_METHODS:
        assert found[method, 0] >= found[method, None]


@pytest.mark.parametrize("method", WEIGHT_METHODS)
def test_tiny_weights_and_zeros_have_scale_1(method: str) -> None:
    weights = f32([[0, 0], [1e-45, -1e-6], [127, 0]])
    scales = weight_scales(weights, 0, method)
    assert scales.tolist() == [1, 1, 1]
    assert quantized_weights(weights, scales).tolist() == [[0, 0], [0, 0], [127, 0]]


@pytest.mark.parametrize(
    ("weights", "method", "code"),
    [
        (f32([[1, np.nan]]), "arq", VALUES_NOT_FINITE),
        (f32([[1, np.inf]]), "mse", VALUES_NOT_FINITE),
        (f32([[1, 1e30]]), "min-max", SCALE_OUT_OF_RANGE),
        (f32([[1, -3e38]]), "mse", SCALE_OUT_OF_RANGE),
        (np.zeros((0, 3), np.float32), "mse", BAD_OPTION),
        (f32([[1]]), "least", BAD_OPTION),
        (np.array([["a"]]), "arq", BAD_OPTION),
    ],
)
def test_weights_without_scales_are_refused(weights: NDArray[Any], method: str, code: Code) -> None:
    with pytest.raises(AtcError) as failed:
        weight_scales(weights, 0, method)
    assert failed.value.diagnostics[0].code is code
