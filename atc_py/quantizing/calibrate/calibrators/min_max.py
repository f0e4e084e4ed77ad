"""The calibrator `min-max`: from the lowest value to the highest, as onnxruntime's MinMax."""

from atc_py.quantizing.calibrate.calibrators.counted import CountedCalibrator
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.value_range import (
    RangeOptions,
    ValueRange,
    require_values,
)


class MinMax(CountedCalibrator):
    """Nothing is clipped: low is the lowest value, high the highest."""

    def range_of(self, histogram: Histogram, settings: RangeOptions) -> ValueRange:
        """The bounds of the values."""
        require_values(histogram.count)
        return ValueRange(histogram.low, histogram.high)
