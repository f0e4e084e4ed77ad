"""Elementwise work on tensors that are broadcast: rows of elements, cut into tiles.

Axes along which every operand does the same, move or stand still, are merged. The last axis that
is left is a row; the others count the rows. An operand that moves along a row is copied from the
device's memory, one that stands still is a single value there.
"""

from collections.abc import Sequence
from math import prod

import msgspec

from atc_py.kernels.tiling import (
    ElementFootprint,
    Tiling,
    by_operand,
    narrow,
    numbers,
    rounded_up,
    vector_cores,
    wide,
)
from atc_py.target import Soc
from atc_py.tensor.shapes import Shape

REPEAT = 256
"""Elements that buffers hold a multiple of: comparisons work on whole repeats of 256 bytes."""

_MOST_RUNS = 4095
"""Runs that one copy takes."""


class GridTiling(Tiling):
    """Elementwise work on `rows` rows of `inner` elements, cut into tiles of rows or of a row."""

    rows: int = wide("rows of the result")
    inner: int = wide("elements of a row")
    tile_rows: int = narrow("rows of a tile; 1 where a row is cut into chunks")
    chunk_length: int = narrow("elements of a row in a tile")
    chunk_count: int = wide("chunks of a row")
    tile_count: int = wide("tiles of the result")
    core_num: int = narrow("cores that have work; core c takes tiles c, c + core_num ...")
    pitch: int = narrow("elements from row to row in the buffer, whole blocks")
    buffer_length: int = narrow("elements of a buffer")
    extents: tuple[int, ...] = numbers("extents of the axes that count the rows", pad=1)
    strides: tuple[tuple[int, ...], ...] = numbers(
        "elements from row to row along these axes, by operand", pad=0
    )
    moves: tuple[int, ...] = by_operand("whether an operand moves along a row")


class Grid(msgspec.Struct, frozen=True):
    """Merged axes: their lengths, and for each operand whether it moves along them."""

    lengths: tuple[int, ...]
    moves: tuple[tuple[bool, ...], ...]


def grid_of(result: Shape, operands: Sequence[Shape]) -> Grid:
    """The merged axes of `result`; `operands` have its rank, with dims of 1 where they repeat."""
    merged: list[tuple[int, tuple[bool, ...]]] = []
    for axis, length in enumerate(result):
        if length == 1:
            continue
        moving = tuple(shape[axis] != 1 for shape in operands)
        if merged and merged[-1][1] == moving:
            merged[-1] = merged[-1][0] * length, moving
        else:
            merged.append((length, moving))
    if not merged:
        merged = [(1, (True,) * len(operands))]
    lengths = tuple(length for length, _ in merged)
    return Grid(lengths, tuple(zip(*(moving for _, moving in merged), strict=True)))


def grid_tiling(grid: Grid, footprint: ElementFootprint, soc: Soc) -> GridTiling:
    """Cut a grid over cores and tiles so that a tile's buffers fit the unified buffer.

    A row that fits stays whole where there are rows for every core; then a tile is as many rows
    as fit, but no more than a core's share. Elsewhere each row is cut into chunks.
    """
    *outer, inner = grid.lengths
    rows = prod(outer)
    cores = vector_cores(soc)
    room = max(REPEAT, footprint.capacity(soc) // REPEAT * REPEAT)
    parts = max(1, -(-cores // rows)) if rows else 1
    chunk = min(room, rounded_up(max(1, -(-inner // parts)), footprint.align))
    pitch = chunk
    chunks = -(-inner // chunk)
    share = max(1, -(-rows // cores))
    tile_rows = max(1, min(share, room // pitch, _MOST_RUNS)) if chunks <= 1 else 1
    tiles = -(-rows // tile_rows) * chunks
    return GridTiling(
        rows=rows,
        inner=inner,
        tile_rows=tile_rows,
        chunk_length=chunk,
        chunk_count=chunks,
        tile_count=tiles,
        core_num=max(1, min(cores, tiles)),
        pitch=pitch,
        buffer_length=rounded_up(tile_rows * pitch, REPEAT),
        extents=tuple(outer) or (1,),
        strides=tuple(_strides(grid, operand) for operand in range(len(grid.moves))),
        moves=tuple(int(moving[-1]) for moving in grid.moves),
    )


def _strides(grid: Grid, operand: int) -> tuple[int, ...]:
    """Elements between neighbors along the outer axes, 0 where the operand stands still."""
    moving = grid.moves[operand]
    steps = []
    for axis in range(len(grid.lengths) - 1):
        inner_axes = zip(grid.lengths[axis + 1 :], moving[axis + 1 :], strict=True)
        steps.append(prod(length for length, moves in inner_axes if moves) if moving[axis] else 0)
    return tuple(steps) or (0,)
