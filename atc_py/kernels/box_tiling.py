"""Families whose kernels move boxes, and their tiling table: numbers for each box, and buffers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

from atc_py.ir import AttrValue
from atc_py.kernels.box_tile import Way, box_tile, offset_bytes, way_of
from atc_py.kernels.boxes import Box
from atc_py.kernels.family import Family
from atc_py.kernels.fields import Tiling, by_operand, narrow, numbers
from atc_py.kernels.plan import Buffer, KernelFacts, Launch, Plan
from atc_py.kernels.tiling import DEPTH, vector_cores
from atc_py.target import Soc


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
