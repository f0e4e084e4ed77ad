"""The calibrator `ifmr`: results of AMCT's published code."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.quantizing.calibrate.calibrators import CALIBRATORS
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.value_range import (
    RangeOptions,
    activation_scale,
    sqnr,
)
from tests.quantizing.calibrate.amct_arrays import ifmr_of_array
from tests.quantizing.calibrate.distributions import NAMES, fake_quantized, values

IFMR = CALIBRATORS["ifmr"]
EVEN = np.arange(1001) * 0.001
OUTLIER = np.append(np.arange(-100, 101) * 0.01, 4.0)
TENTHS = np.append(np.tile(np.arange(11) * 0.1, 1000), 2.0)
GAUSS = np.random.default_rng(0).standard_normal(100_000)

CASES = [
    (EVEN, 0.999999, (0.0039215689, -128), 0.0078740157),
    (OUTLIER, 0.999999, (0.0196078438, -77), 0.0314960629),
    (TENTHS, 0.999999, (0.0090980390, -128), 0.02),
    (TENTHS, 0.999, (0.0050980388, -128), 0.01),
    (np.full(8, 3.0), 0.999999, (0.0117647061, -128), None),
    (np.zeros(8), 0.999999, (1.0, -128), 1.0),
    (np.array([-1, -0.5, -0.25, -4]), 0.999999, (0.0156862754, 127), 0.03125),
    (GAUSS, 0.999999, (0.0332116149, 7), 0.0305527989),
]


@pytest.mark.parametrize(("array", "percentile", "expected", "symmetric"), CASES)
def test_scale_is_that_of_amct(
    array: NDArray[Any], percentile: float, expected: tuple[float, int], symmetric: float | None
) -> None:
    settings = RangeOptions(max_percentile=percentile, min_percentile=percentile)
    found = activation_scale(ifmr_of_array(array.astype(np.float32), settings))
    assert found.scale == pytest.approx(expected[0], rel=1e-7)
    assert found.offset == expected[1]
    if symmetric is None:
        return
    settings = RangeOptions(symmetric=True, max_percentile=percentile, min_percentile=percentile)
    even = activation_scale(ifmr_of_array(array.astype(np.float32), settings), symmetric=True)
    assert even.scale == pytest.approx(symmetric, rel=1e-7)
    assert even.offset == 0


@pytest.mark.parametrize(("array", "percentile", "expected", "_symmetric"), CASES)
def test_scale_of_a_histogram_is_near(
    array: NDArray[Any], percentile: float, expected: tuple[float, int], _symmetric: float | None
) -> None:
    settings = RangeOptions(max_percentile=percentile, min_percentile=percentile)
    found = activation_scale(IFMR(Histogram.of(array.astype(np.float32)), settings))
    assert found.scale == pytest.approx(expected[0], rel=5e-4)
    assert found.offset == expected[1]


@pytest.mark.parametrize("name", NAMES)
def test_histogram_errs_as_the_array(name: str) -> None:
    array = values(name, 50_000)
    for symmetric in (False, True):
        settings = RangeOptions(symmetric=symmetric)
        found = [
            sqnr(array, fake_quantized(array, activation_scale(chosen, symmetric=symmetric)))
            for chosen in (
                IFMR(Histogram.of(array), settings),
                ifmr_of_array(array, settings),
            )
        ]
        assert found[0] == pytest.approx(found[1], abs=0.02)


@pytest.mark.parametrize(
    ("count", "percentile", "rank"), [(1000, 0.99, 10), (1000, 1.0, 1), (9_999, 0.999999, 1)]
)
def test_percentile_chooses_the_rank(count: int, percentile: float, rank: int) -> None:
    array = np.arange(1, count + 1, dtype=np.float32)
    settings = RangeOptions(
        max_percentile=percentile, search_start=1.0, search_end=1.00001, search_step=0.00001
    )
    found = ifmr_of_array(array, settings)
    assert found.high == pytest.approx(count + 1 - rank, rel=2e-5)
    counted = IFMR(Histogram.of(array), settings)
    assert counted.high == pytest.approx(found.high, rel=3e-4)
