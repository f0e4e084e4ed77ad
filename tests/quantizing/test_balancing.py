"""Smoothing factors: AMCT's DMQ balancer and SmoothQuant's example."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.diag import AtcError, Code
from atc_py.diag.codes import BAD_OPTION, SCALE_OUT_OF_RANGE, VALUES_NOT_FINITE
from atc_py.quantizing.balancing import smoothing_factors
from tests.quantizing.calibrate.distributions import f32

DATA, TAPS = f32([8, 0.5, 2, 0, 1]), f32([0.5, 0.5, 0, 0.4, 0.25])


@pytest.mark.parametrize(
    ("strength", "expected"),
    [
        (0.5, [4, 1, 1, 5, 2]),
        (0.2, [2.639016, 1.515717, 0.659754, 3.29877, 3.031433]),
        (0.8, [6.062866, 0.659754, 1.515716, 7.578583, 1.319508]),
    ],
)
def test_factors_of_channels_with_zeros(strength: float, expected: list[float]) -> None:
    np.testing.assert_allclose(smoothing_factors(DATA, TAPS, strength), expected, 1e-6)


def test_zeros_reach_the_largest_magnitude_of_the_others() -> None:
    factors = smoothing_factors(DATA, TAPS)
    np.testing.assert_allclose(DATA / factors, [2, 0.5, 2, 0, 0.5], 1e-6)
    np.testing.assert_allclose(TAPS * factors, [2, 0.5, 0, 2, 0.5], 1e-6)


def test_example_of_smoothquant() -> None:
    x = f32([[1, 16, -2, 6], [-2, 8, -1, -9]])
    w = f32([[2, 1, -2], [1, -1, -1], [2, -1, -2], [-1, -1, 1]])
    factors = smoothing_factors(np.abs(x).max(axis=0), np.abs(w).max(axis=1))
    assert factors.tolist() == [1, 4, 1, 3]
    smooth, moved = x / factors, w * factors[:, None]
    np.testing.assert_allclose(smooth, [[1, 4, -2, 2], [-2, 2, -1, -3]], 1e-6)
    np.testing.assert_allclose(moved, [[2, 1, -2], [4, -4, -4], [2, -1, -2], [-3, -3, 3]], 1e-6)
    np.testing.assert_allclose(smooth @ moved, x @ w, 1e-5)


@pytest.mark.parametrize("strength", [0.0, 0.3, 1.0])
def test_sides_of_zeros_alone_have_factors_of_1(strength: float) -> None:
    for left, right in ((DATA * 0, TAPS), (DATA, TAPS * 0), (DATA * 0, TAPS * 0)):
        assert smoothing_factors(left, right, strength).tolist() == [1] * 5
    apart = smoothing_factors(f32([1, 0]), f32([0, 1]), strength)
    assert apart.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("data", "taps", "strength", "code"),
    [
        (DATA, TAPS, 1.5, BAD_OPTION),
        (DATA, TAPS, float("nan"), BAD_OPTION),
        (DATA, TAPS[1:], 0.5, BAD_OPTION),
        (f32([np.inf]), f32([1]), 0.5, VALUES_NOT_FINITE),
        (f32([1e30]), f32([1e-6]), 0.5, SCALE_OUT_OF_RANGE),
    ],
)
def test_magnitudes_without_factors_are_refused(
    data: NDArray[Any], taps: NDArray[Any], strength: float, code: Code
) -> None:
    with pytest.raises(AtcError) as failed:
        smoothing_factors(data, taps, strength)
    assert failed.value.diagnostics[0].code is code
