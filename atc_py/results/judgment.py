"""Values for judging a layer in addition to plain figures: floors, quantized grids, rankings."""

from typing import NamedTuple

from atc_py.system.structs import Result


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
