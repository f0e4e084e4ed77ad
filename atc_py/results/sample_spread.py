"""The figures of a layer sample by sample: mean, worst, quantiles, and the worst sample's name."""

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
