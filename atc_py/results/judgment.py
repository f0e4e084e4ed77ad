"""Values for judging a layer beside plain figures: floors, grids, rankings, histograms, spreads."""

from typing import NamedTuple

import msgspec

from atc_py.system.json_text import json_values
from atc_py.system.structs import Ratio, Result

QUANTILES = (0.01, 0.05, 0.25, 0.5)
"""Shares of the samples that are as bad as a quantile says, or worse."""


class FigureSpread(Result, frozen=True):
    """One figure over samples.

    Attributes:
        mean: over the samples; of an SNR, over those that have an error.
        worst: in the worst sample.
        sample: the name of that sample, the first of several.
        quantiles: for each of QUANTILES the figure that so many samples do not surpass.
    """

    mean: Ratio
    worst: Ratio
    sample: str = msgspec.field(name="worst_sample")
    quantiles: tuple[Ratio, ...]

    def as_json(self) -> dict[str, object]:
        """The fields as JSON values, quantiles by their shares, the sample's name in English."""
        shares = (f"{share:g}" for share in QUANTILES)
        quantiles = json_values(dict(zip(shares, self.quantiles, strict=True)))
        return {**super().as_json(), "worst_sample": str(self.sample), "quantiles": quantiles}


class SampleSpread(Result, frozen=True):
    """The figures that a layer is judged by, over samples.

    Attributes:
        samples: how many were measured.
        exact: True if the quantiles are exact, False if they are within 1 % of the error.
        cosine: as in Judged, and so are the next two.
        distance: infinite in a sample that lost values to NaN or infinity.
        snr: in dB.
    """

    samples: int = msgspec.field(name="count")
    exact: bool
    cosine: FigureSpread
    distance: FigureSpread
    snr: FigureSpread


class MagnitudeHistogram(Result, frozen=True):
    """Shares of values by magnitude, on a logarithmic axis.

    Attributes:
        low: log2 of the smallest magnitude on the axis.
        high: log2 of the largest one.
        original: shares of the original's values from low to high.
        device: shares of the device's.
        zeros: shares of zeros, the original's and the device's.
        lost: shares of NaN and infinities, likewise.
        limits: log2 of the dtype's smallest number, smallest normal one and largest one, by what
            they are called; those within the axis.
        values: how many values were counted.
    """

    low: float
    high: float
    original: tuple[float, ...]
    device: tuple[float, ...]
    zeros: tuple[float, float]
    lost: tuple[float, float]
    limits: dict[str, float]
    values: int


class Judged(NamedTuple):
    """The figures that a layer is judged by."""

    cosine: float
    distance: float
    snr: float


class ErrorsBeyondFloor(Result, frozen=True):
    """Figures of the errors after an absolute floor is subtracted from each.

    Attributes:
        floor: errors up to here carry no information.
        cosine: as in Figures, and so are the next two.
        distance: relative Euclidean distance.
        snr: in dB.
    """

    floor: float
    cosine: float
    distance: float
    snr: float


class QuantizedGrid(Result, frozen=True):
    """The quantized values that a layer holds.

    Attributes:
        step: what one code is worth; None where channels differ or it is not a constant.
        zero: the code that stands for 0, as the device holds it.
        codes: True for the integers themselves, False for the numbers that they stand for.
    """

    step: float | None
    zero: int
    codes: bool


class Ranking(Result, frozen=True):
    """Agreement of device and original on which class they prefer, row by row.

    Attributes:
        rows: rows of scores that were looked at, over all samples.
        top1: share of the rows in which both have the same highest score.
        top5: share of those in which the original's highest is among the device's five highest;
            None if there are at most five classes.
    """

    rows: int
    top1: float
    top5: float | None
