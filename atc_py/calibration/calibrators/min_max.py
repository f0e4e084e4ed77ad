"""The calibrator `min-max`: from the lowest value to the highest, as onnxruntime's MinMax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.calibration.calibrators.counted import CountedCalibrator
from atc_py.calibration.value_range import ValueRange, require_values

if TYPE_CHECKING:
    from atc_py.calibration.histogram import Histogram
    from atc_py.calibration.value_range import RangeSettings

__all__ = ["MinMax"]


class MinMax(CountedCalibrator):
    """Nothing is clipped: low is the lowest value, high the highest."""

    def range_of(self, histogram: Histogram, settings: RangeSettings) -> ValueRange:
        """Return the bounds of the values."""
        require_values(histogram.count)
        return ValueRange(histogram.low, histogram.high)
