"""Smoothing factors: AMCT's DMQ balancer and SmoothQuant's example."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.diag import AtcError, Code
from atc_py.diag.codes import BAD_OPTION, SCALE_OUT_OF_RANGE, VALUES_NOT_FINITE
from atc_py.quantizing.balancing import (
    ChannelStatistics,
    _check_factors,
    _weight_noise,
    balances,
    smoothing_factors,
)
from atc_py.quantizing.calibrate.value_range import EPSILON
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


def test_noise_of_weights_is_that_of_the_steps_of_each_output() -> None:
    """An output's step times the root of what its inputs have, for each tap."""
    rng = np.random.default_rng(2)
    groups, outputs, channels, taps = 2, 5, 3, 4
    weights = rng.standard_normal((groups, outputs, channels, taps))
    squares = rng.random((groups, channels))
    steps = np.abs(weights).max(axis=(2, 3)) / 127
    expected = taps * (steps**2 * squares.sum(axis=1)[:, None]).sum()
    rows = weights.transpose(0, 2, 1, 3).reshape(groups * channels, outputs * taps)
    layer: Any = SimpleNamespace(kind="Conv", groups=groups, axis=0, shape=(groups * outputs,))
    assert _weight_noise(layer, rows, squares.reshape(-1)) == pytest.approx(expected)


def test_factors_are_at_most_two_to_the_power_of_ten_either_way() -> None:
    peaks = np.array([2e-7, 2e-7, 1.0, 1.0], np.float32)
    layer: Any = SimpleNamespace(
        kind="MatMul", node=None, groups=1, axis=1, shape=(4, 2), channels=4
    )
    constants: Any = SimpleNamespace(read=lambda *_: np.ones((4, 2), np.float32))
    statistics: Any = SimpleNamespace(low=-peaks, high=peaks, mean_squares=peaks**2)
    site: Any = SimpleNamespace(readers=[layer])
    (made,) = balances(constants, site, statistics, [1.0])
    assert (made.factors.min(), made.factors.max()) == (2.0**-10, 2.0**10)


def test_statistics_are_those_of_all_values_and_empty_arrays_add_nothing() -> None:
    statistics = ChannelStatistics(1)
    for array in ([], [[1, -2], [3, -4]], [], [[2, 0]]):
        statistics.add(f32(array).reshape(-1, 2))
    assert (statistics.low.tolist(), statistics.high.tolist()) == ([1, -4], [3, 0])
    assert statistics.mean_squares.tolist() == pytest.approx([14 / 3, 20 / 3])


@pytest.mark.parametrize("end", [EPSILON, 1 / EPSILON])
def test_ends_of_the_range_of_factors_are_outside(end: float) -> None:
    _check_factors(np.array([np.nextafter(end, 1)]))
    with pytest.raises(AtcError) as caught:
        _check_factors(np.array([1.0, end]))
    assert caught.value.diagnostics[0].code is SCALE_OUT_OF_RANGE
