"""Histograms of a layer's magnitudes, drawn as marks of an SVG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from atc_py.results.histogram import MagnitudeHistogram

__all__ = ["AxisMark", "Bar", "Drawing", "drawing"]

WIDTH, HEIGHT = 360.0, 130.0
"""Size of the picture within its axes."""

_EDGE = 30.0
"""Width of the bars for zeros, on the left, and for NaN and infinities, on the right."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of the original: its position, size and title."""

    x: str
    y: str
    width: str
    height: str
    title: str


@dataclass(frozen=True, slots=True)
class AxisMark:
    """A place on the axis, its label, and which end of the label stands there."""

    x: str
    text: str
    anchor: str = "middle"


@dataclass(frozen=True, slots=True)
class Drawing:
    """A histogram as it is drawn: bars for the original, outlines for the device.

    Attributes:
        bars: of the original.
        steps: points of the outlines of the device's bars, one text an outline.
        ticks: powers of two below the axis.
        limits: those of the dtype.
        values: how many values were counted.
    """

    bars: tuple[Bar, ...]
    steps: tuple[str, ...]
    ticks: tuple[AxisMark, ...]
    limits: tuple[AxisMark, ...]
    values: int


def drawing(histogram: MagnitudeHistogram) -> Drawing:
    """Return positions and sizes of all parts of the picture, WIDTH by HEIGHT."""
    low, high = histogram.low, histogram.high
    inner = WIDTH - 2 * _EDGE
    count = len(histogram.original)
    shares = (*histogram.original, *histogram.device, *histogram.zeros, *histogram.lost)
    unit = HEIGHT / (max(shares) or 1.0)

    def place(exponent: float) -> float:
        return _EDGE + inner * (exponent - low) / (high - low)

    bins = [
        (place(low + (high - low) * at / count), inner / count, ours, theirs, "")
        for at, (ours, theirs) in enumerate(zip(histogram.original, histogram.device, strict=True))
    ]
    ends = [
        (0.0, _EDGE - 6, *histogram.zeros, "zero: "),
        (WIDTH - _EDGE + 6, _EDGE - 6, *histogram.lost, "NaN or infinite: "),
    ]
    return Drawing(
        bars=tuple(_bar(each, unit) for each in (*bins, *ends) if each[2] or each[3]),
        steps=tuple(
            _steps([(x, width, theirs) for x, width, _, theirs, _ in group], unit)
            for group in (bins, *([end] for end in ends))
            if any(each[3] for each in group)
        ),
        ticks=(
            AxisMark("0", "0", "start"),
            *_ticks(histogram, place),
            AxisMark(f"{WIDTH:.0f}", "Inf", "end"),
        ),
        limits=tuple(_limit(name, place(at)) for name, at in histogram.limits.items()),
        values=histogram.values,
    )


def _bar(each: tuple[float, float, float, float, str], unit: float) -> Bar:
    """Return a bar of the original, whose title has the device's share as well."""
    x, width, ours, theirs, what = each
    title = f"{what}original {ours:.2%}, device {theirs:.2%}"
    return Bar(
        f"{x:.1f}", f"{HEIGHT - ours * unit:.1f}", f"{width:.1f}", f"{ours * unit:.1f}", title
    )


def _steps(bins: list[tuple[float, float, float]], unit: float) -> str:
    """Return the outline of bars that stand side by side."""
    points = [(bins[0][0], HEIGHT)]
    for x, width, share in bins:
        points += [(x, HEIGHT - share * unit), (x + width, HEIGHT - share * unit)]
    points.append((bins[-1][0] + bins[-1][1], HEIGHT))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _ticks(histogram: MagnitudeHistogram, place: Callable[[float], float]) -> list[AxisMark]:
    """Return about five powers of two, evenly spaced."""
    first, last = int(histogram.low), int(histogram.high)
    step = max((last - first) // 5, 1)
    return [AxisMark(f"{place(at):.1f}", f"2^{at}") for at in range(first, last + 1, step)]


def _limit(name: str, x: float) -> AxisMark:
    """Return a limit of the dtype; its label stands inside the picture."""
    return AxisMark(f"{x:.1f}", name, "end" if x > WIDTH / 2 else "start")
