"""Work along axes: which axes are kept and which are run along, merged, and cut into tiles."""

from collections.abc import Iterable
from math import prod

import msgspec

from atc_py.kernels.tiling import Tiling, narrow, numbers, vector_cores, wide
from atc_py.target import Soc
from atc_py.tensor.shapes import Shape

_REPEAT = 256
"""Elements that a buffer holds a multiple of."""


class AxesTiling(Tiling):
    """Work along axes: groups of lanes, each computed from pieces that are read one by one.

    Where the last axis is run along, a group is one lane, and a piece is a chunk of a row. Where
    it is kept, a group is a chunk of the lanes, and a piece is one step along the axes.
    """

    groups: int = wide("groups of lanes")
    lanes: int = wide("extent of the last axis where it is kept, 1 where it is run along")
    length: int = wide("extent of the last axis where it is run along, 1 where it is kept")
    runs: int = wide("steps along the other axes that are run along")
    count: int = wide("elements that are run along for each lane")
    chunk_length: int = narrow("elements of a piece")
    chunk_count: int = wide("chunks of a row, or of the lanes")
    buffer_length: int = narrow("elements of a buffer, whole repeats")
    core_num: int = narrow("cores that have work; core c takes groups c, c + core_num ...")
    kept_extents: tuple[int, ...] = numbers("extents of the axes that count the groups", pad=1)
    kept_strides: tuple[int, ...] = numbers("elements between neighbors along them", pad=0)
    run_extents: tuple[int, ...] = numbers("extents of the axes that count the runs", pad=1)
    run_strides: tuple[int, ...] = numbers("elements between neighbors along them", pad=0)


class RowsTiling(AxesTiling):
    """Work along the rows of matrices in FRACTAL_NZ; lanes are rows of blocks."""

    valid: int = wide("elements of a column of blocks that are not padding below the last row")
    columns: int = wide("columns of a matrix")
    tail: int = narrow("columns in the last column of blocks; 0 where it is full")


class ChannelsTiling(AxesTiling):
    """Work along all axes of a channel; groups are the channels of the first image, then the next.

    GroupNorm has several channels in a group, each of which is a run.
    """

    channels: int = wide("channels of an image, or groups of them")


class Folded(msgspec.Struct, frozen=True):
    """The axes of a tensor, neighbors of one kind merged."""

    kept: tuple[tuple[int, int], ...]  # (length, stride) of the kept axes before the lanes
    run: tuple[tuple[int, int], ...]  # (length, stride) of the axes that count the runs
    lanes: int  # length of the last axis where it is kept, 1 elsewhere
    length: int  # length of the last axis where it is run along, 1 elsewhere

    @property
    def count(self) -> int:
        """Elements that are run along for each lane."""
        return self.length * prod(size for size, _ in self.run)


def folded(shape: Shape, axes: Iterable[int]) -> Folded:
    """The axes of `shape` with `axes` run along; dims of 1 count as neither."""
    chosen = {axis % len(shape) for axis in axes} if shape else set()
    merged: list[tuple[bool, int]] = []
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        if merged and merged[-1][0] == (axis in chosen):
            merged[-1] = merged[-1][0], merged[-1][1] * size
        else:
            merged.append((axis in chosen, size))
    *before, (last_runs, last) = merged or [(True, 1)]
    kept: list[tuple[int, int]] = []
    run: list[tuple[int, int]] = []
    for at, (runs, size) in enumerate(before):
        stride = prod(size for _, size in before[at + 1 :]) * last
        (run if runs else kept).append((size, stride))
    return Folded(tuple(kept), tuple(run), 1 if last_runs else last, last if last_runs else 1)


def axes_tiling(axes: Folded, room: int, soc: Soc, align: int = 1) -> AxesTiling:
    """Cut `axes` over cores by groups, with at most `room` elements in a buffer.

    Lanes are cut into chunks no longer than a buffer, and shorter ones where there are cores
    without a group; a row that is longer than a buffer is read chunk by chunk. Chunks of lanes are
    multiples of `align`.
    """
    kept = prod(size for size, _ in axes.kept)
    cores = vector_cores(soc)
    across = axes.lanes != 1
    size = axes.lanes if across else axes.length
    chunk = max(1, min(room, size))
    if across and kept:
        chunk = max(1, min(chunk, -(-axes.lanes // max(1, -(-cores // kept)))))
        chunk = -(-chunk // align) * align
    chunks = -(-size // chunk)
    groups = kept * chunks if across else kept
    return AxesTiling(
        groups=groups,
        lanes=axes.lanes,
        length=axes.length,
        runs=prod(size for size, _ in axes.run),
        count=axes.count,
        chunk_length=chunk,
        chunk_count=chunks,
        buffer_length=-(-chunk // _REPEAT) * _REPEAT,
        core_num=max(1, min(cores, groups)),
        kept_extents=_column(axes.kept, 0),
        kept_strides=_column(axes.kept, 1),
        run_extents=_column(axes.run, 0),
        run_strides=_column(axes.run, 1),
    )


def _column(pairs: tuple[tuple[int, int], ...], at: int) -> tuple[int, ...]:
    """The dims or the strides; one axis of one step where there is none."""
    return tuple(pair[at] for pair in pairs) or (1 - at,)
