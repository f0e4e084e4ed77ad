"""Scales of weights, raised where a bias would leave int32."""

import numpy as np

from atc_py.quantizing.calibrate.weights import scales_that_hold_bias
from tests.quantizing.calibrate.distributions import f32


def test_scale_of_a_bias_beyond_int32_is_raised() -> None:
    bias, scales = f32([1e-3, 100]), f32([1e-6, 1e-6])
    raised = scales_that_hold_bias(bias, 1e-4, scales)
    ratio = 1.0001 * 1e12 / 2147483647
    np.testing.assert_allclose(raised, [1e-6, 1e-6 * ratio], rtol=1e-6)
    assert np.abs(bias / (1e-4 * raised.astype(np.float64))).max() < 2**31
    one = scales_that_hold_bias(bias, 1e-4, f32([1e-6]))
    np.testing.assert_allclose(one, [1e-6 * ratio], rtol=1e-6)
    assert np.array_equal(scales_that_hold_bias(bias, 1.0, scales), scales)
