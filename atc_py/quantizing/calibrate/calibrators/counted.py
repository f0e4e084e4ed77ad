"""The base of calibrators for which counts of values are enough."""

from abc import ABC, abstractmethod
from typing import Any

from numpy.typing import NDArray

from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.value_range import RangeOptions, ValueRange


class CountedCalibrator(ABC):
    """A calibrator that counts the values of an array first."""

    @abstractmethod
    def range_of(self, histogram: Histogram, settings: RangeOptions) -> ValueRange:
        """The range for values that were counted."""

    def range_of_array(self, array: NDArray[Any], settings: RangeOptions) -> ValueRange:
        """The range for the values of an array."""
        return self.range_of(Histogram.of(array), settings)
