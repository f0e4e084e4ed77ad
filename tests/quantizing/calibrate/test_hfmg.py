"""The calibrator `hfmg`: results of AMCT's published code."""

from itertools import product

import numpy as np
import pytest

from atc_py.quantizing.calibrate.amct_calibrators import candidate_ranges
from atc_py.quantizing.calibrate.calibrators import CALIBRATORS
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.value_range import RangeOptions, ValueRange, activation_scale
from tests.quantizing.calibrate.amct_arrays import hfmg_of_array
from tests.quantizing.calibrate.distributions import NAMES, values
from tests.sampling import some

HFMG = CALIBRATORS["hfmg"]
EVEN = np.arange(4096, dtype=np.float32) / 4096
SETTINGS = RangeOptions(hfmg_bins=1024)


def test_even_values_lose_one_bin() -> None:
    counts, _ = np.histogram(EVEN, 1024)
    assert len(candidate_ranges(counts)) == 767
    for found in (
        hfmg_of_array(EVEN, SETTINGS),
        HFMG(Histogram.of(EVEN), SETTINGS),
    ):
        assert (found.low, found.high) == pytest.approx((0, 0.99878), abs=1e-6)
        scale = activation_scale(found)
        assert scale.scale == pytest.approx(0.0039167823, rel=1e-7)
        assert scale.offset == -128


def test_outlier_leaves_two_candidates() -> None:
    array = np.append(EVEN, np.float32(8))
    counts, _ = np.histogram(array, 1024)
    assert len(candidate_ranges(counts)) == 2
    for found in (
        hfmg_of_array(array, SETTINGS),
        HFMG(Histogram.of(array), SETTINGS),
    ):
        assert found.high == pytest.approx(7.992188, abs=1e-6)
        assert activation_scale(found).scale == pytest.approx(0.0313419104, rel=1e-7)


def test_candidates_follow_the_pointers() -> None:
    """One bin at a time as AMCT's loop does it, beside the searches in sums."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        counts = rng.integers(0, 3, 64) * rng.integers(1, 70_000)
        counts[10] += 1
        total, step = counts.sum(), max(-(-counts.sum() // 100_000), 1)
        left, right, expected = 0, 63, []
        while right - left > 16:
            after, passed = left, 0
            while passed < step and after <= 63:
                passed += counts[after]
                after += 1
            before, passed = right, 0
            while passed < step and before > min(after, right):
                passed += counts[before]
                before -= 1
            if after - left > right - before:
                left = min(after, right)
            else:
                right = max(before, left)
            expected.append((left, right))
        assert candidate_ranges(counts) == expected
        assert total > 0


def test_upper_pointer_stops_where_the_lower_one_is() -> None:
    """One bin holds all but a few values; the scale is that of AMCT's code."""
    array = np.zeros(400_000, np.float32)
    array[:3] = (1, 0.5, 0.2)
    for found in (
        hfmg_of_array(array, RangeOptions()),
        HFMG(Histogram.of(array), RangeOptions()),
    ):
        assert activation_scale(found).scale == pytest.approx(1.91e-6, rel=0.01)


@pytest.mark.parametrize(("name", "bins"), some([*product(NAMES, [1024, 8192])], 5))
def test_histogram_gives_the_range_of_the_array(name: str, bins: int) -> None:
    array = values(name, 50_000)
    settings = RangeOptions(hfmg_bins=bins)
    ours = activation_scale(HFMG(Histogram.of(array), settings))
    exact = activation_scale(hfmg_of_array(array, settings))
    assert ours.scale == pytest.approx(exact.scale, rel=0.06)


def test_constant_is_its_own_range() -> None:
    array = np.full(9, 2.5, np.float32)
    assert hfmg_of_array(array, SETTINGS) == ValueRange(2.5, 2.5)
    assert HFMG(Histogram.of(array), SETTINGS) == ValueRange(2.5, 2.5)
