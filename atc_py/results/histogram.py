"""Histograms of a layer's magnitudes on both sides."""

from atc_py.system.structs import Result


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
