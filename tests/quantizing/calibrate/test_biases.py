"""Biases as int32, raised scales, and corrections by mean errors."""

import numpy as np
import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import SCALE_OUT_OF_RANGE
from atc_py.quantizing.calibrate.weights import (
    bias_correction,
    deq_scales,
    quantized_bias,
    quantized_weights,
    scales_that_hold_bias,
    weight_scales,
)
from tests.quantizing.calibrate.distributions import f32
from tests.quantizing.calibrate.test_weights import WEIGHTS


def test_bias_has_no_term_of_the_offset() -> None:
    scales = weight_scales(WEIGHTS, 0, "arq")
    bias = quantized_bias(f32([0.1, -0.2, 3, 0.001]), 0.02, scales)
    assert bias.tolist() == [640, -10, 7500, 21]
    sums = quantized_weights(WEIGHTS, scales).astype(np.int64).sum(axis=1)
    assert sums.tolist() == [64, 0, 64, -64]
    assert (bias + 20 * sums).tolist() == [1920, -10, 8780, -1259]


def test_offset_and_sum_of_weights_give_the_float_result() -> None:
    """The compiler's term -z * S is what an unfolded layer lacks."""
    weights = f32([[0.5, 0.25]])
    scales = weight_scales(weights, 0, "min-max")
    codes = quantized_weights(weights, scales).astype(np.int64)
    data = np.rint(f32([1, -0.5]) / np.float32(0.02)) + -20
    factor = deq_scales(0.02, scales)
    assert codes.tolist() == [[127, 64]]
    assert data.tolist() == [30, -45]
    assert data @ codes[0] * factor == pytest.approx(0.07323, abs=1e-5)
    assert (data @ codes[0] + 20 * codes.sum()) * factor == pytest.approx(0.37402, abs=1e-5)


def test_bias_beyond_int32_is_refused_or_its_scale_raised() -> None:
    bias, scales = f32([1e-3, 100]), f32([1e-6, 1e-6])
    with pytest.raises(AtcError) as failed:
        quantized_bias(bias, 1e-4, scales)
    assert failed.value.diagnostics[0].code is SCALE_OUT_OF_RANGE
    assert "channel 1" in failed.value.diagnostics[0].message
    raised = scales_that_hold_bias(bias, 1e-4, scales)
    ratio = 1.0001 * 1e12 / 2147483647
    np.testing.assert_allclose(raised, [1e-6, 1e-6 * ratio], rtol=1e-6)
    assert np.abs(quantized_bias(bias, 1e-4, raised)).max() < 2**31
    one = scales_that_hold_bias(bias, 1e-4, f32([1e-6]))
    np.testing.assert_allclose(one, [1e-6 * ratio], rtol=1e-6)
    assert np.array_equal(scales_that_hold_bias(bias, 1.0, scales), scales)


def test_correction_is_the_mean_error_of_each_channel() -> None:
    rng = np.random.default_rng(0)
    original = rng.standard_normal((2, 3, 4, 5)).astype(np.float32)
    shift = f32([0.5, -1, 0]).reshape(1, 3, 1, 1)
    noise = rng.standard_normal((2, 1, 4, 5)).astype(np.float32)
    noise -= noise.mean()
    found = bias_correction(original, original - shift + noise)
    np.testing.assert_allclose(found, [0.5, -1, 0], atol=1e-6)
    rows = original.reshape(-1, 5)
    np.testing.assert_allclose(bias_correction(rows, rows - 2, axis=-1), [2] * 5, rtol=1e-6)
