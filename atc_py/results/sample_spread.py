"""The figures of a layer sample by sample: mean, worst, quantiles, and the worst sample's name."""

from typing import NamedTuple

QUANTILES = (0.01, 0.05, 0.25, 0.5)
"""Shares of the samples that are as bad as a quantile says, or worse."""


class FigureSpread(NamedTuple):
    """One figure over samples.

    Attributes:
        mean: over the samples; of an SNR, over those that have an error.
        worst: in the worst sample.
        sample: the name of that sample, the first of several.
        quantiles: for each of QUANTILES the figure that so many samples do not surpass.
    """

    mean: float
    worst: float
    sample: str
    quantiles: tuple[float, ...]


class SampleSpread(NamedTuple):
    """The figures that a layer is judged by, over samples.

    Attributes:
        samples: how many were measured.
        exact: True if the quantiles are exact, False if they are within 1 % of the error.
        cosine: as in Judged, and so are the next two.
        distance: infinite in a sample that lost values to NaN or infinity.
        snr: in dB.
    """

    samples: int
    exact: bool
    cosine: FigureSpread
    distance: FigureSpread
    snr: FigureSpread
