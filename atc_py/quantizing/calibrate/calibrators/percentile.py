"""The calibrator `percentile`: a share of the values is kept, the rest is clipped.

With an offset, (100 - p) / 200 of the values are cut off at each side; if symmetric, (100 - p) / 100
of the magnitudes. Within a bin, values are taken as evenly spread, where onnxruntime takes the lower
edge of a bin that is 4 to 8 times as wide; the two agree to one of its bins.
"""

import numpy as np

from atc_py.quantizing.calibrate.calibrators.counted import CountedCalibrator
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.pieces import Pieces, pieces_of
from atc_py.quantizing.calibrate.value_range import (
    RangeOptions,
    ValueRange,
    require_values,
)


class Percentile(CountedCalibrator):
    """Range of the given share of the values."""

    def range_of(self, histogram: Histogram, settings: RangeOptions) -> ValueRange:
        """The range that keeps the share."""
        require_values(histogram.count)
        pieces = pieces_of(histogram).with_zeros(histogram.zeros)
        cut = (1 - settings.percentile / 100) * histogram.count
        if settings.symmetric:
            bound = _value_at(pieces.magnitudes(), histogram.count - cut)
            bound = min(bound, max(abs(histogram.low), abs(histogram.high)))
            return ValueRange(-bound, bound)
        low = _value_at(pieces, cut / 2)
        high = _value_at(pieces, histogram.count - cut / 2)
        bounds = histogram.low, histogram.high
        return ValueRange(*(min(max(found, bounds[0]), bounds[1]) for found in (low, high)))


def _value_at(pieces: Pieces, rank: float) -> float:
    """The value that `rank` of the values are not above."""
    total = np.cumsum(pieces.counts)
    at = min(int(np.searchsorted(total, rank)), total.size - 1)
    share = 1 - (total[at] - rank) / pieces.counts[at]
    return float(pieces.starts[at] + min(share, 1.0) * (pieces.ends[at] - pieces.starts[at]))
