"""The calibrator `percentile` beside onnxruntime's, which has wider bins and takes their edges."""

import numpy as np
import pytest

from atc_py.quantizing.calibrate.calibrators import CALIBRATORS
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.value_range import RangeOptions, ValueRange
from tests.quantizing.calibrate.distributions import NAMES, values
from tests.quantizing.calibrate.onnxruntime_ranges import collected_range

PERCENTILE = CALIBRATORS["percentile"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("percentile", [99, 99.9, 99.99])
@pytest.mark.parametrize("symmetric", [False, True])
def test_range_is_that_of_onnxruntime_to_one_of_its_bins(
    name: str, percentile: float, *, symmetric: bool
) -> None:
    """Where values are rare, any number between two of them cuts off the same share."""
    array = values(name, 50_000)
    settings = RangeOptions(percentile=percentile, symmetric=symmetric)
    ours = PERCENTILE(Histogram.of(array), settings)
    theirs = collected_range("percentile", [array], percentile=percentile, symmetric=symmetric)
    width = 2 * np.abs(array).max() / 2048
    data = np.abs(array) if symmetric else array
    pairs = [(ours.low, theirs.low), (ours.high, theirs.high)]
    for mine, other in pairs[symmetric:]:  # theirs is cut off at the lowest value
        between = (np.abs(data) > min(abs(mine), abs(other))) & (
            np.abs(data) < max(abs(mine), abs(other))
        )
        assert abs(mine - other) <= 1.01 * width or between.sum() <= 2, (mine, other)


@pytest.mark.parametrize("name", NAMES)
def test_share_that_is_cut_off_is_the_one_asked_for(name: str) -> None:
    array = values(name, 50_000)
    width = Histogram.of(array).width
    found = PERCENTILE(Histogram.of(array), RangeOptions(percentile=99))
    for data, bound in ((-array, -found.low), (array, found.high)):
        if bound < data.max():
            fewest, most = ((data > bound + by).sum() for by in (width, -width))
            assert fewest - 1 <= 250 <= most + 1


def test_range_keeps_all_and_follows_even_values() -> None:
    array = np.arange(1, 10_001, dtype=np.float32) / 1000
    assert PERCENTILE(Histogram.of(array), RangeOptions(percentile=100)) == ValueRange(
        float(array[0]), 10.0
    )
    for name in NAMES:
        other = values(name, 1000)
        whole = PERCENTILE(Histogram.of(other), RangeOptions(percentile=100))
        both = PERCENTILE(Histogram.of(other), RangeOptions(percentile=100, symmetric=True))
        assert whole == ValueRange(float(other.min()), float(other.max())), name
        assert both.high == -both.low == np.abs(other).max(), name
    for percentile, theirs in ((99.9, (0.001, 9.990234)), (99, (0.048828, 9.941406))):
        found = PERCENTILE(Histogram.of(array), RangeOptions(percentile=percentile))
        cut = (100 - percentile) / 200 * 10
        assert (found.low, found.high) == pytest.approx((cut, 10 - cut), abs=0.002)
        assert (found.low, found.high) == pytest.approx(theirs, abs=10 / 1024)
