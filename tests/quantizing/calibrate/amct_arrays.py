"""The ranges that AMCT's calibrators choose for the values of an array, not of a histogram."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.quantizing.calibrate.amct_calibrators import search_clips, search_high
from atc_py.quantizing.calibrate.value_range import RangeOptions, ValueRange


def ifmr_of_array(array: NDArray[Any], settings: RangeOptions) -> ValueRange:
    values = np.sort(array.astype(np.float32).ravel())
    largest, least = (
        max(values.size - math.floor(share * values.size), 1)
        for share in (settings.max_percentile, settings.min_percentile)
    )
    bounds = float(values[least - 1]), float(values[-largest])
    return search_high(bounds, values, np.ones(values.size), settings)


def hfmg_of_array(array: NDArray[Any], settings: RangeOptions) -> ValueRange:
    low, high = float(array.min()), float(array.max())
    if low == high:
        return ValueRange(low, high)
    wide = array.astype(np.float64)  # of float32, bins can be too narrow to tell apart
    counts, _ = np.histogram(wide, settings.hfmg_bins, (low, high))
    return search_clips(low, high, counts.astype(np.int64))
