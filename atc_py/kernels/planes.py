"""Elementwise work on tensors that are broadcast: rows of elements, or of blocks, cut into tiles.

Axes along which every operand does the same, move or stand still, are merged. The last axis that
is left is a row; the others count the rows. An operand that moves along a row is copied from the
device's memory, one that stands still is a single value there.

Tensors in blocks are planes of pixels, each of them a block of lanes. NC1HWC0 is C1 planes of H W
pixels for each image, NDC1HWC0 the same for each slice of a volume, FRACTAL_NZ W1 planes of whole
sixteens of rows for each matrix. A pixel has as many lanes as the largest C0 of all operands;
operands of a smaller C0 have several planes for one of these, whose blocks stand side by side in a
pixel. Pixels along which every operand moves or stands still are a row.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import msgspec

from atc_py.kernels.ports import KernelPort
from atc_py.kernels.tiling import (
    ElementFootprint,
    Tiling,
    by_operand,
    extended,
    narrow,
    numbers,
    rounded_up,
    vector_cores,
    wide,
)
from atc_py.system.structs import replace
from atc_py.target import Soc
from atc_py.tensor.dtypes import Format
from atc_py.tensor.scale_words import channel_axis
from atc_py.tensor.shapes import Shape, element_count
from atc_py.tensor.storage import FRACTAL_ROWS, c0_of

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


PATTERN = 256
"""Bytes of the mask of lanes that are channels: one repeat of the vector unit."""

_ONE, _ALONG, _REPEATED = 0, 1, 2
_MATRIX = 2


class PlaneTiling(GridTiling):
    """Rows of pixels; operands and then results have their steps."""

    planes: int = wide("planes of an image or a matrix")
    plane_rows: int = wide("rows of a plane")
    valid: int = wide("elements of a row that are not padding below the last row of a matrix")
    tail: int = narrow("channels in the last plane's blocks; 0 where they are full")
    channels: int = wide("channels of an image, or columns of a matrix")
    block_step: tuple[int, ...] = by_operand(
        "elements from plane to plane in the operand's storage"
    )


class Planes(NamedTuple):
    """A tensor in blocks."""

    outer: Shape  # images, volumes and their slices, or the stack of matrices
    planes: int  # of each of them
    pixels: Shape  # height and width of a plane
    valid: int  # pixels that are not padding, of those along its first axis
    channels: int  # elements along the axis that is in blocks
    lanes: int  # elements of a block


class Seen(NamedTuple):
    """An operand as it is stored, and the shape that it has by itself."""

    port: KernelPort
    shape: Shape  # its dims before broadcasting
    # whether it has one element for each channel, wherever the channels are
    by_channel: bool = False


class _Steps(NamedTuple):
    """Elements from neighbor to neighbor: along `outer`, the planes and the pixels."""

    axes: tuple[int, ...]
    # one value for a pixel, a block of channels that is stored as a block, or one cut from a row
    kind: int
    plane: int = 0  # elements from plane to plane as the operand is stored


def lanes_of(ports: Sequence[KernelPort]) -> int:
    return max(c0_of(port.dtype) for port in ports if port.storage is not None)


def planes_of(port: KernelPort, shape: Shape, lanes: int) -> Planes:
    """A tensor of `shape` in blocks of `lanes`."""
    if port.storage is not None and port.storage.format is Format.NC1HWC0:
        images, channels, height, width = shape
        planes = -(-channels // lanes)
        return Planes((images,), planes, (height, width), height, channels, lanes)
    if port.storage is not None and port.storage.format is Format.NDC1HWC0:
        volumes, channels, depth, height, width = shape
        planes = -(-channels // lanes)
        return Planes((volumes, depth), planes, (height, width), height, channels, lanes)
    *stack, height, width = shape
    rows = -(-height // FRACTAL_ROWS) * FRACTAL_ROWS
    return Planes(tuple(stack), -(-width // lanes), (rows,), height, width, lanes)


def _known_steps(
    result: Seen, tensors: Sequence[Seen], lanes: int
) -> tuple[Planes, list[_Steps]] | None:
    whole = planes_of(result.port, result.shape, lanes)
    known: list[_Steps] = []
    for each in tensors:
        steps = _steps(each, result.shape, whole)
        if steps is None:
            return None
        known.append(steps)
    return whole, known


def moves_in_planes(result: Seen, tensors: Sequence[Seen], lanes: int) -> bool:
    """True if no operand repeats within a block."""
    return _known_steps(result, tensors, lanes) is not None


def plane_tiling(
    result: Seen, tensors: Sequence[Seen], lanes: int, footprint: ElementFootprint, soc: Soc
) -> PlaneTiling | None:
    """The tiling of pixel rows; None where an operand repeats within a block.

    `tensors` are operands and outputs in the kernel's order, `lanes` those of a pixel; `footprint`
    is of an element in the unified buffer.
    """
    found = _known_steps(result, tensors, lanes)
    if found is None:
        return None
    whole, known = found
    inside, moves = _row_axes(whole, known)
    first = len(whole.outer) + 1 + len(whole.pixels) - inside
    dims = (*whole.outer, whole.planes, *whole.pixels)
    inner = prod(dims[first:]) * lanes
    kept = [axis for axis in range(first) if dims[axis] != 1]
    base = grid_tiling(
        Grid((*(dims[axis] for axis in kept), inner), ((True,) * (len(kept) + 1),)),
        replace(footprint, align=max(footprint.align, lanes)),
        replace(soc, ub_kib=soc.ub_kib - 1),
    )
    below = whole.valid * prod(whole.pixels[1:]) * lanes if inside == len(whole.pixels) else inner
    return extended(
        PlaneTiling,
        base,
        strides=tuple(tuple(each.axes[axis] for axis in kept) or (0,) for each in known),
        moves=moves,
        planes=whole.planes,
        plane_rows=prod(dims[len(whole.outer) + 1 : first]),
        valid=below,
        tail=whole.channels % lanes,
        channels=whole.channels,
        block_step=tuple(each.plane for each in known),
    )


def _row_axes(whole: Planes, steps: Sequence[_Steps]) -> tuple[int, tuple[int, ...]]:
    """Number of pixel axes that form a row, and each operand's steps along it."""
    inside = 0
    along: list[bool | None] = [None] * len(steps)
    first = len(whole.outer) + 1
    for axis in reversed(range(len(whole.pixels))):
        if whole.pixels[axis] != 1:
            moving = [each.axes[first + axis] != 0 for each in steps]
            fits = (
                (was is None or was == now) and not (now and each.kind == _ONE)
                for was, now, each in zip(along, moving, steps, strict=True)
            )
            if not all(fits):
                break
            along = list(moving)
        inside += 1
    moves = tuple(
        _REPEATED if each.kind == _ALONG and now is False else each.kind
        for each, now in zip(steps, along, strict=True)
    )
    return inside, moves


def _steps(seen: Seen, result: Shape, whole: Planes) -> _Steps | None:
    """An operand's steps with the result; None where it repeats within a block."""
    axes = len(whole.outer) + 1 + len(whole.pixels)
    if seen.port.storage is not None:
        return _blocked_steps(seen, result, whole)
    count = element_count(seen.shape)
    if count == 1:
        return _Steps((0,) * axes, _ONE)
    if seen.by_channel:
        return _channel_steps(count, result, whole)
    return _row_steps(seen.shape, result, whole)


def _channel_steps(count: int, result: Shape, whole: Planes) -> _Steps | None:
    """One element for each channel: of the blocks, or of images or matrices."""
    outer, axis = len(whole.outer), channel_axis(result, count)
    pixels = (0,) * len(whole.pixels)
    is_map = len(whole.pixels) == _MATRIX
    if axis == (1 if is_map else len(result) - 1):
        return _Steps((*(0,) * outer, whole.lanes, *pixels), _REPEATED)
    if axis is not None and axis < (1 if is_map else outer):
        return _Steps((*(int(at == axis) for at in range(outer)), 0, *pixels), _ONE)
    return None


def _row_steps(shape: Shape, result: Shape, whole: Planes) -> _Steps | None:
    padded = (1,) * (len(result) - len(shape)) + shape
    pixels = (0,) * len(whole.pixels)
    if len(whole.pixels) == _MATRIX:
        if padded != (1, whole.channels, *[1] * (len(result) - 2)):
            return None
        return _Steps((*(0,) * len(whole.outer), whole.lanes, *pixels), _REPEATED)
    *stack, height, width = padded
    if height != 1 or width != whole.channels:
        return None
    steps = [prod(stack[at + 1 :]) * width if n != 1 else 0 for at, n in enumerate(stack)]
    return _Steps((*steps, whole.lanes, *pixels), _REPEATED)


def _blocked_steps(seen: Seen, result: Shape, whole: Planes) -> _Steps | None:
    """Steps of an operand in blocks like the result; images, matrices or pixels may repeat."""
    padded = (1,) * (len(result) - len(seen.shape)) + seen.shape
    c0 = c0_of(seen.port.dtype)
    own = planes_of(seen.port, padded, c0)
    parts = whole.lanes // c0
    broadcast = [n not in {1, full} for n, full in zip(padded, result, strict=True)]
    same_kind = len(own.pixels) == len(whole.pixels)
    if not same_kind or own.channels != whole.channels or any(broadcast):
        return None
    plane = prod(own.pixels) * c0
    outer = [
        prod(own.outer[at + 1 :]) * own.planes * plane if n != 1 else 0
        for at, n in enumerate(own.outer)
    ]
    pixels = [
        0 if n == 1 and full != 1 else prod(own.pixels[at + 1 :]) * c0
        for at, (n, full) in enumerate(zip(own.pixels, whole.pixels, strict=True))
    ]
    if parts > 1 and own.pixels != whole.pixels:
        return None
    return _Steps((*outer, parts * plane, *pixels), _ALONG, plane)
