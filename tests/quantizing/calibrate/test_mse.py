"""The calibrator `mse` errs least of all."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.quantizing.calibrate.calibrators import CALIBRATORS, range_error
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.pieces import pieces_of
from atc_py.quantizing.calibrate.value_range import (
    RangeOptions,
    ValueRange,
    activation_scale,
    sqnr,
)
from tests.quantizing.calibrate.distributions import NAMES, f32, fake_quantized, values
from tests.quantizing.calibrate.onnxruntime_ranges import collected_range
from tests.sampling import alternating, sampled

MSE = CALIBRATORS["mse"]


ALWAYS, OTHERS = NAMES[::6], [name for name in NAMES if name not in NAMES[::6]]


@pytest.mark.parametrize(
    ("name", "symmetric"),
    [
        *alternating(ALWAYS, [False, True]),
        *sampled([], product(OTHERS, [False, True])),
    ],
)
def test_error_is_the_least_of_all_calibrators(name: str, *, symmetric: bool) -> None:
    array = values(name)
    histogram = Histogram.of(array)

    def decibels(chosen: ValueRange) -> float:
        return sqnr(array, fake_quantized(array, activation_scale(chosen, symmetric=symmetric)))

    others = [
        calibrator(histogram, RangeOptions(symmetric=symmetric, percentile=percentile))
        for calibrator in CALIBRATORS.values()
        for percentile in (99.9, 99.99, 99.999)
    ]
    others += [
        collected_range("percentile", [array], percentile=percentile, symmetric=symmetric)
        for percentile in (99.9, 99.99, 99.999)
    ]
    others += [collected_range("entropy", [array], bins=bins) for bins in (128, 512)]
    best = max(decibels(chosen) for chosen in others)
    assert decibels(MSE(histogram, RangeOptions(symmetric=symmetric))) >= best - 0.005


@pytest.mark.parametrize("name", NAMES)
def test_error_of_a_range_is_that_of_its_values(name: str) -> None:
    """What bins know of values suffices, for narrow and for wide ranges."""
    array = values(name)
    pieces = pieces_of(Histogram.of(array))
    low, high = float(array.min()), float(array.max())
    for share in (0.05, 0.3, 1.0, 1.2):
        found = ValueRange(low * share, high * share)
        codes = fake_quantized(array, activation_scale(found)).astype(np.float64)
        exact = float(((codes - array) ** 2).sum())
        assert range_error(pieces, found) == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(256, dtype=np.float32) / 255,
        (np.arange(256, dtype=np.float32) - 100) * 0.25,
        np.repeat(f32([-1, 0, 1]), 50),
    ],
)
def test_values_on_a_grid_of_codes_have_no_error(array: NDArray[np.float32]) -> None:
    found = activation_scale(MSE(Histogram.of(array), RangeOptions()))
    assert sqnr(array, fake_quantized(array, found)) > 80


def test_tenths_are_on_the_grid_of_a_wider_range() -> None:
    array = np.append(np.tile(np.arange(11) * 0.1, 1000), 2.0).astype(np.float32)
    found = activation_scale(MSE(Histogram.of(array), RangeOptions()))
    whole = activation_scale(ValueRange(0.0, 2.0))
    assert (
        sqnr(array, fake_quantized(array, found)) > sqnr(array, fake_quantized(array, whole)) + 10
    )


def test_whole_range_wins_where_nothing_is_gained() -> None:
    array = f32([0, 255])
    assert MSE(Histogram.of(array), RangeOptions()) == ValueRange(0, 255)


def test_one_sided_values_are_clipped_alike_on_either_side() -> None:
    array = np.append(np.random.default_rng(1).exponential(1.0, 40_000), 40).astype(np.float32)
    decibels = []
    for side in (array, -array):
        found = MSE(Histogram.of(side), RangeOptions())
        assert max(abs(found.low), abs(found.high)) < 39
        decibels.append(sqnr(side, fake_quantized(side, activation_scale(found))))
    assert decibels[0] == pytest.approx(decibels[1], abs=0.1)
