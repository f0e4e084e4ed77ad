"""Families whose kernels move boxes, and their tiling table: numbers for each box, and buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from math import prod
from typing import Any, TypeAlias

import msgspec

from atc_py.ir import AttrValue
from atc_py.kernels.boxes import Box
from atc_py.kernels.family import Buffer, Family, KernelFacts, Launch, Plan
from atc_py.kernels.tiling import (
    BLOCK,
    DEPTH,
    Tiling,
    by_operand,
    narrow,
    numbers,
    rounded_up,
    vector_cores,
)
from atc_py.target import Soc
from atc_py.tensor.shapes import Shape

_MOST_RUNS = 4095
"""Runs that one copy takes."""

_LEAST_BYTES = 2048
"""Least bytes of a tile, even if cores remain without work."""

_WORTH_SKIPPING = 2 * BLOCK
"""Least gap in bytes between neighbors at which they are loaded one by one, without the gap."""

_OFFSET = 4
"""Bytes of an offset of a gather."""


class Way(Enum):
    """Way of a box's tiles through the buffer."""

    STRAIGHT = 0
    ORDERED = 1
    FILLED = 2


class BoxTile(msgspec.Struct, frozen=True):
    """The tiles that a box is cut into: blocks of two axes, loaded and stored in runs of elements.

    A tile is `rows` x `columns` elements: the columns are adjacent in the target, which is the
    box's last axis. It goes through the unified buffer in one of three ways:

    * straight: the columns are adjacent in the source too, and every row is one run;
    * ordered: runs of the source are loaded and a gather puts their elements in the target's order;
    * filled: without a source.

    All tiles of a box have one size: the last one along an axis starts early enough to be whole, and
    writes some elements that its neighbor writes too, with the same values.
    """

    box: Box  # merged
    itemsize: int  # bytes of an element
    way: Way  # how tiles go through the buffer
    row_axis: int | None  # the axis that rows count along; None where a tile has one row
    rows: int  # of a tile
    columns: int  # of a tile, along the box's last axis

    @property
    def along_rows(self) -> bool:
        """True if a run is loaded along the rows' axis, which is dense in the source."""
        if self.way is not Way.ORDERED:
            return False
        if self.row_axis is None:
            return abs(self.box.source[-1]) * self.itemsize >= _WORTH_SKIPPING
        return self.box.source[self.row_axis] == 1

    @property
    def stretch(self) -> int:
        """Elements of a run, including the skipped ones between columns."""
        if self.along_rows:
            return self.rows
        return (self.columns - 1) * abs(self.box.source[-1]) + 1

    @property
    def runs(self) -> int:
        """Runs in a tile; repeated ones are loaded once."""
        step = self.box.source[-1] if self.along_rows else self._row_source
        if step == 0 and self.way is Way.ORDERED:
            return 1
        return self.columns if self.along_rows else self.rows

    @property
    def run_step(self) -> int:
        return self.box.source[-1] if self.along_rows else self._row_source

    @property
    def run_pitch(self) -> int:
        """Elements from run to run in the buffer: whole blocks, or none between dense runs."""
        if self.is_dense:
            return self.stretch
        return rounded_up(self.stretch, BLOCK // self.itemsize)

    @property
    def is_dense(self) -> bool:
        """True if the runs of an ordered tile follow one another in the source."""
        return self.way is Way.ORDERED and self.runs > 1 and self.run_step == self.stretch

    @property
    def row_pitch(self) -> int:
        """Elements from row to row of the target's order in the buffer."""
        packed = self.way is Way.ORDERED and self.row_step == self.columns
        return self.columns if packed else rounded_up(self.columns, BLOCK // self.itemsize)

    @property
    def order(self) -> tuple[int, int, int]:
        """Offset of element (0, 0) for a gather, and its steps to the next row and column."""
        if self.along_rows:
            return 0, 1, self.run_pitch if self.box.source[-1] else 0
        step = self.box.source[-1]
        first = (self.columns - 1) * -step if step < 0 else 0
        return first, self.run_pitch if self._row_source else 0, step

    @property
    def loaded(self) -> int:
        return rounded_up(self.runs * self.run_pitch, BLOCK // self.itemsize)

    @property
    def stored(self) -> int:
        return rounded_up(self.rows * self.row_pitch, BLOCK // self.itemsize)

    @property
    def nbytes(self) -> int:
        if self.way is not Way.ORDERED:
            return DEPTH * self.stored * self.itemsize
        queues = DEPTH * (self.loaded + self.stored) * self.itemsize
        words = 2 * (self.loaded + self.stored) if self.itemsize == 1 else 0
        return queues + words + offset_bytes(self.itemsize) * self.stored

    @property
    def lengths(self) -> Shape:
        lengths = [1] * len(self.box.shape)
        if self.row_axis is not None:
            lengths[self.row_axis] = self.rows
        lengths[-1] = self.columns
        return tuple(lengths)

    @property
    def counts(self) -> Shape:
        pairs = zip(self.box.shape, self.lengths, strict=True)
        return tuple(-(-whole // part) for whole, part in pairs)

    @property
    def source_start(self) -> int:
        """Offset from which the first tile is loaded: its lowest element, as runs go upward."""
        step = self.box.source[-1]
        backwards = step < 0 and not self.along_rows
        return self.box.source_start + ((self.columns - 1) * step if backwards else 0)

    @property
    def _row_source(self) -> int:
        return 0 if self.row_axis is None else self.box.source[self.row_axis]

    @property
    def row_step(self) -> int:
        return self.columns if self.row_axis is None else self.box.target[self.row_axis]

    def halved(self) -> BoxTile:
        """Tiles of half the size; columns stay together as long as rows can be cut.

        Where runs follow the rows, the longer side is cut.
        """
        cut_rows = self.rows > 1 and (not self.along_rows or self.rows >= self.columns)
        rows = -(-self.rows // 2) if cut_rows else self.rows
        columns = self.columns if cut_rows else -(-self.columns // 2)
        return self.sized(rows, columns)

    def sized(self, rows: int, columns: int) -> BoxTile:
        return BoxTile(self.box, self.itemsize, self.way, self.row_axis, rows, columns)

    def even(self) -> BoxTile:
        """As many tiles, of sizes that overlap least."""
        counts = self.counts
        columns = -(-self.box.shape[-1] // max(1, counts[-1]))
        if self.row_axis is None:
            return self.sized(1, max(1, columns))
        rows = -(-self.box.shape[self.row_axis] // max(1, counts[self.row_axis]))
        return self.sized(max(1, rows), max(1, columns))


def offset_bytes(itemsize: int) -> int:
    """Bytes of the offsets of one element; one of 8 bytes is gathered as two of 4."""
    return _OFFSET * max(1, itemsize // 4)


def way_of(box: Box) -> Way:
    if box.filled:
        return Way.FILLED
    straight = box.source[-1] == 1 or box.shape[-1] <= 1
    return Way.STRAIGHT if straight else Way.ORDERED


def _row_axis(box: Box, itemsize: int) -> int | None:
    """The axis of a tile's rows: dense in the source where the columns are not."""
    axes = range(len(box.shape) - 1)
    if way_of(box) is Way.ORDERED:
        found = [axis for axis in axes if box.source[axis] == 1]
        if found:
            return found[-1]
        if abs(box.source[-1]) * itemsize >= _WORTH_SKIPPING:
            return None
    return axes[-1] if axes else None


def box_tile(box: Box, itemsize: int, room: int, cores: int) -> BoxTile:
    """The largest tiles that fit in `room` bytes, smaller where cores would have no work."""
    axis, way = _row_axis(box, itemsize), way_of(box)
    rows = 1 if axis is None else max(1, min(box.shape[axis], _MOST_RUNS))
    columns = max(1, box.shape[-1])
    if way is Way.ORDERED:
        columns = min(columns, _MOST_RUNS)
    cut = BoxTile(box, itemsize, way, axis, rows, columns)
    while cut.nbytes > room and cut.rows * cut.columns > 1:
        cut = cut.halved()
    while prod(cut.counts) < cores and cut.rows * cut.columns * itemsize > _LEAST_BYTES:
        cut = cut.halved()
    even = cut.even()
    return even if even.nbytes <= room else cut


class BoxTiling(Tiling):
    """Boxes cut into tiles; every array has an element for each box."""

    core_num: int = narrow("cores that have work; tiles are dealt out in turn")
    straight_length: int = narrow("elements of a buffer of straight tiles")
    loaded_length: int = narrow("elements of a buffer that runs are loaded to")
    ordered_length: int = narrow("elements of a buffer in the target's order")
    filled_length: int = narrow("elements of a buffer of constants")
    tiles: tuple[int, ...] = by_operand("tiles of each box")
    way: tuple[int, ...] = by_operand("0 straight, 1 ordered by a gather, 2 filled")
    rows: tuple[int, ...] = by_operand("rows of a tile")
    columns: tuple[int, ...] = by_operand("columns of a tile")
    row_step: tuple[int, ...] = by_operand("elements from row to row in the target")
    row_pitch: tuple[int, ...] = by_operand("elements from row to row in the buffer")
    runs: tuple[int, ...] = by_operand("runs that a tile is loaded in")
    run_length: tuple[int, ...] = by_operand("elements of a run")
    run_step: tuple[int, ...] = by_operand("elements from run to run in the source", signed=True)
    run_pitch: tuple[int, ...] = by_operand("elements from run to run in the buffer")
    first: tuple[int, ...] = by_operand("where the buffer has element (0, 0) of a tile")
    next_row: tuple[int, ...] = by_operand("elements from there to the next row's")
    next_column: tuple[int, ...] = by_operand(
        "elements from there to the next column's", signed=True
    )
    source_start: tuple[int, ...] = by_operand("where the first tile is loaded from", signed=True)
    target_start: tuple[int, ...] = by_operand("where the first tile goes")
    counts: tuple[tuple[int, ...], ...] = numbers("tiles along each axis", pad=1)
    lengths: tuple[tuple[int, ...], ...] = numbers("elements of a tile along each axis", pad=1)
    last: tuple[tuple[int, ...], ...] = numbers("where the last tile of an axis starts", pad=0)
    source: tuple[tuple[int, ...], ...] = numbers(
        "elements along each axis of the source", pad=0, signed=True
    )
    target: tuple[tuple[int, ...], ...] = numbers("elements along each axis of the target", pad=0)


def box_tiling(boxes: Sequence[Box], itemsize: int, soc: Soc) -> BoxTiling:
    """Cut merged boxes into tiles that fit the unified buffer.

    `boxes` are as `Box.merged` makes them.
    """
    cores = vector_cores(soc)
    room = soc.ub_kib * 1024 // len({way_of(box) for box in boxes})
    cuts = [box_tile(box, itemsize, room, cores) for box in boxes]
    tiles = tuple(prod(cut.counts) for cut in cuts)
    axes = max(len(cut.box.shape) for cut in cuts)

    def longest(way: Way, *, loaded: bool = False) -> int:
        sizes = [cut.loaded if loaded else cut.stored for cut in cuts if cut.way is way]
        return max(sizes, default=0)

    def padded(values: Sequence[int], pad: int) -> tuple[int, ...]:
        return (pad,) * (axes - len(values)) + tuple(values)

    return BoxTiling(
        core_num=max(1, min(cores, sum(tiles))),
        straight_length=longest(Way.STRAIGHT),
        loaded_length=longest(Way.ORDERED, loaded=True),
        ordered_length=longest(Way.ORDERED),
        filled_length=longest(Way.FILLED),
        tiles=tiles,
        way=tuple(cut.way.value for cut in cuts),
        rows=tuple(cut.rows for cut in cuts),
        columns=tuple(cut.columns for cut in cuts),
        row_step=tuple(cut.row_step for cut in cuts),
        row_pitch=tuple(cut.row_pitch for cut in cuts),
        runs=tuple(1 if cut.is_dense else cut.runs for cut in cuts),
        run_length=tuple(cut.runs * cut.stretch if cut.is_dense else cut.stretch for cut in cuts),
        run_step=tuple(cut.run_step for cut in cuts),
        run_pitch=tuple(cut.run_pitch for cut in cuts),
        first=tuple(cut.order[0] for cut in cuts),
        next_row=tuple(cut.order[1] for cut in cuts),
        next_column=tuple(cut.order[2] for cut in cuts),
        source_start=tuple(cut.source_start for cut in cuts),
        target_start=tuple(cut.box.target_start for cut in cuts),
        counts=tuple(padded(cut.counts, 1) for cut in cuts),
        lengths=tuple(padded(cut.lengths, 1) for cut in cuts),
        last=tuple(
            padded([max(0, e - n) for e, n in zip(cut.box.shape, cut.lengths, strict=True)], 0)
            for cut in cuts
        ),
        source=tuple(padded(cut.box.source, 0) for cut in cuts),
        target=tuple(padded(cut.box.target, 0) for cut in cuts),
    )


def box_buffers(tiling: BoxTiling, itemsize: int) -> tuple[Buffer, ...]:
    loaded, ordered = tiling.loaded_length, tiling.ordered_length
    words = 2 if itemsize == 1 else 0
    sizes = {
        "through": DEPTH * tiling.straight_length * itemsize,
        "loaded": DEPTH * loaded * itemsize,
        "ordered": DEPTH * ordered * itemsize,
        "offsets": offset_bytes(itemsize) * ordered,
        "loadedWords": words * loaded,
        "orderedWords": words * ordered,
        "constants": DEPTH * tiling.filled_length * itemsize,
    }
    return tuple(Buffer(name, "ub", size) for name, size in sizes.items() if size)


MakeBoxes: TypeAlias = Callable[[Launch], Iterable[Box]]


def number(value: AttrValue | None) -> int:
    return value if isinstance(value, int) else 0


class BoxFamily(Family):
    """A family whose kernels move boxes; template `move.cpp.j2` writes them.

    The boxes of its nodes are given by operator, equally many for every set of shapes. Where there are
    several inputs or outputs, box n is that of the n-th.
    """

    template = "move"

    def __init__(self, name: str, boxes: Mapping[str, MakeBoxes]) -> None:
        self.name = name
        self.operators = frozenset(boxes)
        self._boxes = boxes

    def plan(self, launch: Launch) -> Plan:
        """Cut boxes into tiles; filled boxes read nothing."""
        itemsize = launch.kernel.outputs[0].dtype.itemsize
        merged = [box.merged() for box in self._boxes[launch.kernel.op](launch)]
        tiling = box_tiling(merged, itemsize, launch.soc)
        read = sum(box.elements for box in merged if not box.filled) * itemsize
        written = sum(box.elements for box in merged) * itemsize
        return Plan(tiling, tiling.core_num, box_buffers(tiling, itemsize), (read, written))

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        """`gathers`, True if elements may need reordering, and `fill`.

        `fill` is the constant of boxes without a source.
        """
        return {"gathers": True, "fill": None}
