"""What the layers of a comparison are judged by beside plain figures, and what is said of outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from atc_py.results.layers import Figures, Layer, LayerComparison

__all__ = [
    "Beyond",
    "Grid",
    "Judged",
    "Miss",
    "OwnError",
    "Ranking",
    "least_text",
    "missed_figures",
    "misses_of",
    "passes",
]


class Judged(NamedTuple):
    """The figures that a layer is judged by."""

    cosine: float
    distance: float
    snr: float


@dataclass(frozen=True, slots=True)
class Beyond:
    """Figures of what is left of the errors when an absolute floor is taken off each.

    Attributes:
        floor: errors up to here say nothing.
        cosine: as in Figures, and so are the next two.
        distance: relative Euclidean distance.
        snr: in dB.
    """

    floor: float
    cosine: float
    distance: float
    snr: float


@dataclass(frozen=True, slots=True)
class Grid:
    """The quantized values that a layer holds.

    Attributes:
        step: what one code is worth; None where channels differ or it is not a constant.
        zero: the code that stands for 0, as the device holds it.
        codes: True for the integers themselves, False for the numbers that they stand for.
    """

    step: float | None
    zero: int
    codes: bool


@dataclass(frozen=True, slots=True)
class OwnError:
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


@dataclass(frozen=True, slots=True)
class Ranking:
    """How often the device and the original prefer the same class, row by row.

    Attributes:
        rows: rows of scores that were looked at, over all samples.
        top1: share of the rows in which both have the same highest score.
        top5: share of those in which the original's highest is among the device's five highest;
            None where there are no more than five classes.
    """

    rows: int
    top1: float
    top5: float | None


@dataclass(frozen=True, slots=True)
class Miss:
    """An output that misses a target.

    Attributes:
        output: its name.
        figure: `cosine` or `snr`; empty where the output was not compared.
        value: the figure; None where there is none.
        least: what would pass; None where there is no figure.
        lost: share of values that are NaN or infinite though the original's are finite.
        reason: why it was not compared; empty where it was.
    """

    output: str
    figure: str
    value: float | None
    least: float | None
    lost: float = 0.0
    reason: str = ""

    @property
    def sentence(self) -> str:
        """The miss in words."""
        if self.value is None:
            return f"{self.output} was not compared: {self.reason}"
        lost = f" with {self.lost:.3%} of the values NaN or infinite" if self.lost else ""
        shown, least = f"{self.value:.6g}", self.least or 0.0
        if self.value < least <= float(shown):
            shown = repr(self.value)  # exact enough to read as below the target
        return (
            f"{self.figure} of {self.output} is {shown}{lost}, at least {least_text(least)} passes"
        )


def least_text(value: float) -> str:
    """Return a target in as few digits as tell it from others."""
    return repr(float(value)).removesuffix(".0")


def missed_figures(layer: Layer, targets: Mapping[str, float]) -> dict[str, float]:
    """The figures of an output that are below their targets, by name.

    Values that are NaN or infinite, though the original's are finite, miss every target.
    """
    found = {"cosine": layer.judged.cosine, "snr": layer.judged.snr}
    return {
        name: found[name]
        for name, least in targets.items()
        if not found[name] >= least or layer.figures.lost_share
    }


def misses_of(done: LayerComparison, targets: Mapping[str, float]) -> list[Miss]:
    """What misses a target, output by output; without targets, nothing."""
    if not targets:
        return []
    found = [Miss(name, "", None, None, reason=why) for name, why in done.uncompared.items()]
    for name, at in done.outputs.items():
        if name in done.uncompared:
            continue
        layer = done.layers[at]
        found += [
            Miss(name, figure, value, targets[figure], layer.figures.lost_share)
            for figure, value in missed_figures(layer, targets).items()
        ]
    return found


def passes(done: LayerComparison) -> bool | None:
    """Whether the outputs meet the comparison's own targets; None where it has none."""
    if not done.targets:
        return None
    return not done.stopped and not misses_of(done, done.targets)
