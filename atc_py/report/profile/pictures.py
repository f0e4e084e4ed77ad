"""Pictures of a profile: the position of each mark of the inline SVG."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.cost.cores import cube_depth, vector_cores
from atc_py.cost.pipes import PIPES
from atc_py.report.profile.text import PIPE_NAMES, format_time
from atc_py.report.tables import format_bytes
from atc_py.target.rates import rates_of
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from atc_py.cost.network import KernelCost, NetworkCost

__all__ = [
    "Lane",
    "Picture",
    "PointMark",
    "Rectangle",
    "graph_of",
    "memory_of",
    "roofline_of",
    "timeline_of",
]

WIDTH = 960.0
_HEIGHT = 260.0
_STEP_X, _STEP_Y, _BOX_X, _BOX_Y = 132.0, 34.0, 112.0, 24.0
_LANE = 22.0
_LABEL = 15
_LEAST_WIDTH = 0.4
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A rectangle with its kind (a style), the text in it, and its tooltip."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    label: str
    title: str


@dataclass(frozen=True, slots=True)
class PointMark:
    """A point with its kind and its tooltip."""

    x: float
    y: float
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A labeled height or distance."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Marks, and the size that they need.

    Attributes:
        width: of the picture.
        height: of the picture.
        boxes: rectangles.
        lines: points `x,y` joined by blanks, each a polyline.
        marks: points.
        across: labeled heights.
        along: labeled distances.
    """

    width: float
    height: float
    boxes: tuple[Rectangle, ...] = ()
    lines: tuple[str, ...] = ()
    marks: tuple[PointMark, ...] = ()
    across: tuple[Lane, ...] = ()
    along: tuple[Lane, ...] = ()


def _title(kernel: KernelCost) -> str:
    """Return a kernel's description in one line."""
    cost = kernel.cost
    return (
        f"{kernel.op} {kernel.shapes} {kernel.dtype}, {format_time(cost.expected)}, bound by "
        f"{cost.bound}: {', '.join(kernel.origins) or kernel.name}"
    )


def graph_of(cost: NetworkCost) -> Picture:
    """Return kernels from left to right: each after those whose results it reads."""
    depths: list[int] = []
    taken: dict[int, int] = {}
    boxes, lines = [], []
    for kernel in cost.kernels:
        depth = 1 + max((depths[before] for before in kernel.after), default=-1)
        row = taken.get(depth, 0)
        taken[depth] = row + 1
        depths.append(depth)
        x, y = depth * _STEP_X, row * _STEP_Y
        share = kernel.cost.expected / cost.time.expected
        label = kernel.op if len(kernel.op) <= _LABEL else f"{kernel.op[: _LABEL - 1]}…"
        boxes.append(Rectangle(
            x, y, _BOX_X, _BOX_Y, kernel.cost.bound.replace("-", ""), label,
            f"{_title(kernel)}; {share:.1%} of the time",
        ))  # fmt: skip
        for before in kernel.after:
            start = boxes[before]
            x0, y0 = start.x + _BOX_X, start.y + _BOX_Y / 2
            lines.append(
                f"{x0:.0f},{y0:.0f} {x0 + 8:.0f},{y0:.0f} "
                f"{x - 8:.0f},{y + _BOX_Y / 2:.0f} {x:.0f},{y + _BOX_Y / 2:.0f}"
            )
    width = (max(depths, default=0) + 1) * _STEP_X
    height = max(taken.values(), default=1) * _STEP_Y
    return Picture(width, height, tuple(boxes), tuple(lines))


def timeline_of(cost: NetworkCost) -> Picture:
    """Return kernels over time, and below them the pipes of the busiest core."""
    whole = cost.time.expected or 1.0
    boxes = []
    for kernel in cost.kernels:
        span = kernel.cost
        begin = kernel.start + span.overhead
        kind = span.bound.replace("-", "")
        boxes.append(_bar(0, (kernel.start, span.expected), whole, kind, _title(kernel)))
        for lane, pipe in enumerate(PIPES, start=1):
            seconds = min(getattr(span.pipes, pipe), span.expected - span.overhead)
            if seconds > 0:
                title = f"{PIPE_NAMES[pipe]} {format_time(seconds)}: {kernel.op}"
                boxes.append(_bar(lane, (begin, seconds), whole, pipe, title))
    names = ("kernels", *(PIPE_NAMES[pipe] for pipe in PIPES))
    across = tuple(Lane(lane * _LANE, name) for lane, name in enumerate(names))
    return Picture(WIDTH, len(names) * _LANE, tuple(boxes), across=across, along=_ticks(cost))


def _bar(lane: int, when: tuple[float, float], whole: float, kind: str, title: str) -> Rectangle:
    """Return a slice of time in a lane."""
    x, width = WIDTH * when[0] / whole, WIDTH * when[1] / whole
    return Rectangle(x, lane * _LANE, max(width, _LEAST_WIDTH), _LANE - 4, kind, "", title)


def _ticks(cost: NetworkCost) -> tuple[Lane, ...]:
    """Return times below a picture."""
    whole = cost.time.expected
    return tuple(
        Lane(WIDTH * at / _TICKS, format_time(whole * at / _TICKS)) for at in range(_TICKS + 1)
    )


def memory_of(cost: NetworkCost) -> Picture:
    """Return bytes of results over time, as a line of steps."""
    memory = cost.footprint
    most = max(memory.arena, *memory.results, 1)
    whole = cost.time.expected or 1.0
    points, marks = [f"0,{_HEIGHT:.1f}"], []
    for kernel, held in zip(cost.kernels, memory.results, strict=True):
        x0, x1 = (
            WIDTH * seconds / whole
            for seconds in (kernel.start, kernel.start + kernel.cost.expected)
        )
        y = _HEIGHT * (1 - held / most)
        points += [f"{x0:.1f},{y:.1f}", f"{x1:.1f},{y:.1f}"]
        marks.append(
            PointMark((x0 + x1) / 2, y, "memory", f"{format_bytes(held)}: {_title(kernel)}")
        )
    points.append(f"{WIDTH:.0f},{_HEIGHT:.1f}")
    across = tuple(
        Lane(_HEIGHT * (1 - part / 4), format_bytes(most * part // 4)) for part in range(5)
    )
    return Picture(WIDTH, _HEIGHT, (), (" ".join(points),), tuple(marks), across, _ticks(cost))


@dataclass(frozen=True, slots=True)
class _Scale:
    """A logarithmic axis from a power of ten to another, on a length."""

    low: float
    high: float
    length: float

    def at(self, value: float) -> float:
        """Return the position of a value, clamped to the ends."""
        if value <= 0:
            return 0.0
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.length * min(1.0, max(0.0, share))

    def decades(self) -> range:
        """Return powers of ten on the axis."""
        return range(math.ceil(self.low), math.floor(self.high) + 1)


def roofline_of(cost: NetworkCost) -> Picture:
    """Return kernels by operations for each byte and operations in a second, under their roofs."""
    soc, hertz = cost.soc, cost.soc.mhz * 1e6
    cube = 2 * 16 * 16 * cube_depth(DType.FLOAT16) * soc.aicores * hertz
    vector = 128 * vector_cores(soc) * hertz
    memory = soc.gm_read * soc.aicores * hertz
    points = [point for kernel in cost.kernels if (point := _point(kernel)) is not None]
    sizes = [(ops / moved, ops / seconds) for ops, moved, seconds, _ in points]
    across = _Scale(-1, max(4.0, *(math.log10(x) for x, _ in sizes or [(1, 1)])), WIDTH)
    least = min((math.log10(y) for _, y in sizes), default=9.0)
    up = _Scale(math.floor(min(9.0, least)), math.log10(cube) + 0.2, _HEIGHT)

    def place(x: float, y: float) -> str:
        return f"{across.at(x):.1f},{_HEIGHT - up.at(y):.1f}"

    roofs = []
    rates = rates_of(soc)
    bandwidths = [memory, *([rates.l2_read * soc.aicores * hertz] if rates.l2_read else [])]
    for rate in bandwidths:
        start = max(10**across.low, 10**up.low / rate)
        roofs.append(f"{place(start, start * rate)} {place(cube / rate, cube)}")
    end = 10**across.high
    roofs += [f"{place(cube / bandwidths[-1], cube)} {place(end, cube)}"]
    roofs += [f"{place(vector / bandwidths[-1], vector)} {place(end, vector)}"]
    marks = tuple(
        PointMark(
            across.at(ops / moved), _HEIGHT - up.at(ops / seconds),
            kernel.cost.bound.replace("-", ""),
            f"{ops / moved:.3g} operations a byte, {ops / seconds / 1e9:.4g} G a second: "
            f"{_title(kernel)}",
        )
        for ops, moved, seconds, kernel in points
    )  # fmt: skip
    return Picture(
        WIDTH, _HEIGHT, (), tuple(roofs), marks,
        tuple(Lane(_HEIGHT - up.at(10.0**each), _power(each)) for each in up.decades()),
        tuple(Lane(across.at(10.0**each), f"{10.0**each:g}") for each in across.decades()),
    )  # fmt: skip


def _power(exponent: int) -> str:
    """Return a rate of operations as text: 1 G, 100 G, 10 T."""
    for unit, power in (("T", 12), ("G", 9), ("M", 6), ("k", 3)):
        if exponent >= power:
            return f"{10 ** (exponent - power)} {unit}/s"
    return f"{10.0**exponent:g}/s"


def _point(kernel: KernelCost) -> tuple[float, int, float, KernelCost] | None:
    """Return (operations, bytes, seconds, kernel); None for one that only moves data."""
    cost = kernel.cost
    ops = 2.0 * cost.macs if cost.macs else float(cost.vector_elements)
    moved = cost.read + cost.written
    return (ops, moved, cost.expected, kernel) if ops and moved else None
