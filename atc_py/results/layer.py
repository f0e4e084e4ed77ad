"""One layer of a compiled model compared with its original: figures, faults, error origin."""

import math
from enum import Enum

from atc_py.results.cann_nodes import CannNode
from atc_py.results.judgment import ErrorsBeyondFloor, Judged, QuantizedGrid
from atc_py.system.structs import Result
from atc_py.text import Text, plural

FAILING_DISTANCE = 0.05
"""Largest relative Euclidean distance at which a layer of floats or quantized codes passes."""

FAILING_SHARE = 0.01
"""Largest share of differing elements at which a layer of other integers or bools passes."""

INTRODUCED_FACTOR = 2.0
"""Factor over the largest error of its inputs above which a layer introduced its error."""

NOISE = 2.0**-20
"""Errors up to here are those of float32 additions in another order."""


class ErrorOrigin(Enum):
    """The origin of the error of a layer."""

    NONE = "none"
    INTRODUCED = "born"
    PASSED_ON = "passed on"


class Lost(Result, frozen=True):
    """Values that the dtype could not hold.

    Attributes:
        share: share of the elements.
        value: of the original's values that were lost, the one of the largest magnitude.
    """

    share: float = 0.0
    value: float = 0.0


class Figures(Result, frozen=True):
    """Distances of a result from the original's, over all samples.

    Errors, cosine and distance count the elements that are finite on both sides; where there are
    elements and none is, they are NaN.

    Attributes:
        elements: how many were compared.
        cosine: cosine similarity.
        max_absolute: largest |found - expected|.
        max_relative: largest |found - expected| / |expected| where expected is not 0.
        mean_absolute: mean of the first.
        mean_relative: mean of the second.
        rmse: root of the mean square error.
        distance: |found - expected| / |expected|, as vectors.
        snr: 10 log10 of energy of the original over that of the error, in dB.
        nan: share of elements that are NaN though the original's are finite.
        inf: the same for infinities.
        differing: share of elements that are not equal.
        magnitude: root of the mean square of the original's values.
        lowest: smallest finite value of the original.
        highest: largest finite value of the original.
        limit: largest finite value of the dtype.
        overflow: values beyond the limit, which became infinite, NaN or the limit itself.
        underflow: values below the dtype's smallest normal number that became 0.
        beyond: the figures less an absolute floor; None where the layer has none.
    """

    elements: int
    cosine: float
    max_absolute: float
    max_relative: float
    mean_absolute: float
    mean_relative: float
    rmse: float
    distance: float
    snr: float
    nan: float
    inf: float
    differing: float
    magnitude: float
    lowest: float
    highest: float
    limit: float
    overflow: Lost
    underflow: Lost
    beyond: ErrorsBeyondFloor | None = None

    @property
    def lost_share(self) -> float:
        """Share of elements that are NaN or infinite though the original's are finite."""
        return self.nan + self.inf

    def error_of(self, distance: float) -> float:
        """One figure to judge by: infinite for lost values, else `distance`.

        Where nothing is finite on both sides, it is 0 for equal values and infinite for others.
        """
        if self.lost_share or (math.isnan(distance) and self.differing):
            return math.inf
        return 0.0 if math.isnan(distance) else distance

    @property
    def within_floor(self) -> bool:
        """True if more than half of the error, where there is one, is within the floor."""
        beyond = self.beyond
        return beyond is not None and self.distance > NOISE and beyond.distance < self.distance / 2

    @property
    def judged(self) -> Judged:
        """The figures to judge by: those beyond the floor where the error is within it."""
        plain = (self.beyond if self.within_floor else None) or self
        return Judged(plain.cosine, plain.distance, plain.snr)


class OwnError(Result, frozen=True):
    """An error that the original made itself, where a float64 run of the node shows it.

    Attributes:
        source: name of the original's node.
        source_op: its operator.
        value: name of its result.
        dtype: the dtype in which the original computes.
        original: how far the original is from the float64 run.
        seen: how far the device is from the original.
    """

    source: str
    source_op: str
    value: str
    dtype: str
    original: Figures
    seen: Figures


class Layer(Result, frozen=True):
    """A result of the compiled model and the value of the original that it stands for.

    Attributes:
        index: position of the target node that made it.
        tensor: its position among the compiled model's tensors.
        node: the target node's name.
        op: its operator.
        dtype: its dtype on the device.
        shape: its dims; None for one that is known only at run time.
        source: name of the original node whose value it is; of an input, the input's name.
        source_op: operator of that node, "" for an input.
        source_at: position of that node in the original's file; None for an input.
        value: name of the value in the original.
        is_float: True if it holds floats.
        figures: how far it is from the original.
        origin: where the error comes from.
        root: position, in the list of layers, of the one that introduced the error; its own where
            that is here, None without error.
        start: position of the first of the failing layers in a row that lead here; its own for a failing
            layer that reads from good ones, None for a good layer.
        steps: layers between here and the one that introduced the error, along its path.
        summed: for a sum or mean whose terms may cancel, the magnitude that it would have if none
            did; None for all others and for outputs of the model.
        before: position of the layer that introduced the largest error among its inputs, whatever
            came of it here; None where they have none.
        grid: the quantized values that it holds; None for all others.
        own: the original's own error at this value, which was taken out; None where none was found.
        rolled_back: True if the original quantizes the layer, and the SoC takes it back to float16.
        deviating: the nodes between here and the layers that it reads, its own included, that
            compute what CANN makes of them.
    """

    index: int
    tensor: int
    node: str
    op: str
    dtype: str
    shape: tuple[int | None, ...]
    source: str
    source_op: str
    value: str
    is_float: bool
    figures: Figures
    origin: ErrorOrigin
    root: int | None
    start: int | None = None
    steps: int = 0
    summed: float | None = None
    before: int | None = None
    grid: QuantizedGrid | None = None
    own: OwnError | None = None
    rolled_back: bool = False
    deviating: tuple[CannNode, ...] = ()
    source_at: int | None = None

    @property
    def judged(self) -> Judged:
        """The figures to judge by: those beyond the floor where the error is within it."""
        return self.figures.judged

    @property
    def within_floor(self) -> bool:
        """True if more than half of its error, where it has one, is within its floor."""
        return self.figures.within_floor

    @property
    def holds_codes(self) -> bool:
        """True if it holds quantized codes, which stand for real numbers."""
        return self.grid is not None and self.grid.codes

    @property
    def moved_steps(self) -> int:
        """The most steps of its grid that a value is off by; 0 where it has none."""
        if self.grid is None or not self.grid.step:
            return round(self.figures.max_absolute) if self.holds_codes else 0
        steps = self.figures.max_absolute / (1.0 if self.grid.codes else self.grid.step)
        return round(steps) if math.isfinite(steps) else 0

    @property
    def cancels(self) -> bool:
        """True if its distance is that of a sum whose terms cancel, small beside the terms."""
        distance, summed = self.figures.distance, self.summed
        if not summed or not self.is_float or distance <= FAILING_DISTANCE:
            return False
        return self.figures.rmse / summed <= FAILING_DISTANCE

    @property
    def error(self) -> float:
        """One figure to trace errors by: infinite for lost values."""
        return self._error(self.figures.distance)

    @property
    def judged_error(self) -> float:
        """One figure to order layers by: as `error`, less what is within the floor."""
        return self._error(self.judged.distance)

    def _error(self, distance: float) -> float:
        """The figure, with `distance` as that of real numbers."""
        figures = self.figures
        return figures.error_of(
            distance if self.is_float or self.holds_codes else figures.differing
        )

    @property
    def faults(self) -> tuple[str, ...]:
        """Reasons why the layer is failing, in words; empty if it is not."""
        figures = self.figures
        lines: list[str] = []
        if figures.overflow.share:
            share, limit = f"{figures.overflow.share:.3%}", f"{figures.limit:.6g}"
            most = f"{figures.overflow.value:.6g}"
            text = Text("overflow: {share} of the values, up to {overflow}, beyond {limit}")
            lines.append(text.with_values(share=share, overflow=most, limit=limit))
        if figures.lost_share and not figures.overflow.share:
            share = f"{figures.lost_share:.3%}"
            lines.append(Text("{lost_share} of the values are NaN or infinite", lost_share=share))
        if not self.is_float and not self.holds_codes:
            if figures.differing > FAILING_SHARE:
                lines.append(Text("{share} of the values differ", share=f"{figures.differing:.3%}"))
            return tuple(lines)
        if math.isnan(figures.distance) and figures.differing and not figures.lost_share:
            text = Text("{share} of the values differ from the original's NaN and infinities")
            lines.append(text.with_values(share=f"{figures.differing:.3%}"))
        if self.judged.distance > FAILING_DISTANCE and not self.cancels:
            distance = f"{self.judged.distance:.3g}"
            lines.append(Text("relative distance {distance}", distance=distance))
            lines += self._moved_values()
            if figures.underflow.share:
                share, most = f"{figures.underflow.share:.3%}", f"{figures.underflow.value:.3g}"
                text = Text("underflow: {share} of the values, up to {underflow}, became 0")
                lines.append(text.with_values(share=share, underflow=most))
        return tuple(lines)

    def _moved_values(self) -> tuple[str, ...]:
        steps = self.moved_steps
        if self.holds_codes:
            text = plural(
                steps,
                "{share} of the codes moved, by up to {n} step",
                "{share} of the codes moved, by up to {n} steps",
                share=f"{self.figures.differing:.3%}",
            )
        elif self.grid is None or not steps:
            return ()
        else:
            text = plural(
                steps,
                "codes moved by up to {n} step of {size}",
                "codes moved by up to {n} steps of {size}",
                size=f"{self.grid.step:.4g}",
            )
        return (text,)


def number_json(value: float) -> float | None:
    """`value`, or None for a number that JSON cannot name."""
    return value if math.isfinite(value) else None
