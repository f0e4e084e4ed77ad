"""Regions of feature maps, sampled as RoiAlign does it, and boxes without those that overlap better ones.

A region is cut into a grid of cells and each cell into samples; a sample is the weighted sum of
the four pixels around it. Rows and columns are worked out apart, so that a region with p x q cells
of g x h samples needs p g + q h positions. Regions with as many samples go together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call
from atc_py.text import Text

Array = NDArray[Any]


_AT_ONCE = 1 << 20
"""Elements of a block of samples, channels included."""


_POSITION_BYTES = 64
"""Bytes of a sample along one side: its place, two pixels with weights, what they are made of."""


@dataclass(frozen=True, slots=True)
class Regions:
    """Regions of feature maps."""

    images: Array  # which image each is in [regions], integers
    starts: Array  # y and x of the first corner, in pixels of the map [regions, 2]
    sizes: Array  # height and width, in pixels of the map [regions, 2]


@dataclass(frozen=True, slots=True)
class Cells:
    """The way a region is cut and pooled."""

    counts: tuple[int, int]  # cells from top to bottom and from left to right
    samples: int  # along each side of a cell; 0 for one per pixel, rounded up
    # `avg`, `max` (of the samples), or `max_pixel`: of the four weighted pixels of every sample,
    # which ONNX's reference and onnxruntime do not add up in mode max
    mode: str


def pool_regions(features: Array, regions: Regions, cells: Cells, out: Array, call: Call) -> None:
    """Pool regions of `features` [images, channels, height, width] into `out`.

    `out` is [regions, channels, rows, columns]; workers of `call` share the regions.
    """
    images, channels = features.shape[:2]
    if np.any((regions.images < 0) | (regions.images >= images)):
        found = regions.images.tolist()
        text = Text("regions must be in images 0 to {last}, found {found}")
        raise ValueError(text.with_values(last=images - 1, found=found))
    pixels = np.ascontiguousarray(features.transpose(0, 2, 3, 1))
    for samples, alike in _alike(regions, cells):
        if 0 in samples or 0 in features.shape:
            out[alike] = 0
            continue
        # positions of each side of a region, then two sets of its pixels
        sides = [count * each for count, each in zip(cells.counts, samples, strict=True)]
        nbytes = sum(sides) * _POSITION_BYTES
        nbytes += math.prod(sides) * (2 * channels * pixels.itemsize + 2)
        text = Text("{size} samples for each cell", size=f"{samples[0]} x {samples[1]}")
        call.workspace.require(nbytes, text)
        taken = max(1, _AT_ONCE // (channels * math.prod(samples) * math.prod(cells.counts)))
        work = partial(_pool_alike, pixels, regions, cells, samples, out)
        blocks = [alike[start : start + taken] for start in range(0, len(alike), taken)]
        call.workers.split(len(blocks), partial(_each, work, blocks))


def _each(work: Callable[[Array], None], blocks: list[Array], start: int, stop: int) -> None:
    for block in blocks[start:stop]:
        work(block)


def _pool_alike(
    pixels: Array, regions: Regions, cells: Cells, samples: tuple[int, int], out: Array, some: Array
) -> None:
    rows, columns = (
        _Axis.of(_samples(regions, some, side, cells, samples), pixels.shape[1 + side])
        for side in range(2)
    )
    corners = _corners(pixels, regions.images[some], rows, columns)
    out[some] = _pooled(corners, cells, samples).transpose(0, 3, 1, 2)


def _alike(regions: Regions, cells: Cells) -> Iterator[tuple[tuple[int, int], Array]]:
    """Yield samples along the height and width of a cell, and the regions that have so many."""
    if cells.samples > 0:
        yield (cells.samples, cells.samples), np.arange(len(regions.images))
        return
    per_cell = regions.sizes / np.array(cells.counts, regions.sizes.dtype)
    finite = np.where(np.isfinite(per_cell), per_cell, 0)
    counts = np.maximum(np.ceil(finite), 0).astype(np.int64)
    different, which = np.unique(counts, axis=0, return_inverse=True)
    for index, (high, wide) in enumerate(different):
        yield (int(high), int(wide)), np.flatnonzero(which.reshape(-1) == index)


def _samples(
    regions: Regions, some: Array, side: int, cells: Cells, samples: tuple[int, int]
) -> Array:
    """Positions of samples along one side [regions, cells * samples]."""
    start, length = (array[some, side, None] for array in (regions.starts, regions.sizes))
    real, count, each = length.dtype.type, cells.counts[side], samples[side]
    size = length / real(count)
    cell = np.repeat(np.arange(count, dtype=length.dtype), each)
    within = np.tile(np.arange(each, dtype=length.dtype) + real(0.5), count)
    at: Array = start + cell * size + within * size / real(each)
    return at


@dataclass(frozen=True, slots=True)
class _Axis:
    """Samples along one axis, [regions, samples] each."""

    pixels: tuple[Array, Array]  # the one before a sample and the one after it
    weights: tuple[Array, Array]  # of each
    inside: Array  # whether the sample is on the map, which reaches a pixel beyond its edge

    @staticmethod
    def of(at: Array, length: int) -> _Axis:
        """Samples at positions `at` of a map of `length` pixels."""
        real = at.dtype.type
        inside = (at >= -1) & (at <= length)
        held = np.maximum(np.where(inside, at, real(0)), real(0))
        low = np.minimum(held.astype(np.int64), length - 1)
        weight = np.where(low >= length - 1, real(0), held - low.astype(at.dtype))
        return _Axis((low, np.minimum(low + 1, length - 1)), (real(1) - weight, weight), inside)


def _corners(pixels: Array, images: Array, rows: _Axis, columns: _Axis) -> Iterator[Array]:
    """Yield the four weighted pixels [regions, rows, columns, channels] of every sample."""
    outside = ~(rows.inside[:, :, None] & columns.inside[:, None, :])
    image = images[:, None, None]
    for y, to_y in zip(rows.pixels, rows.weights, strict=True):
        for x, to_x in zip(columns.pixels, columns.weights, strict=True):
            part = pixels[image, y[:, :, None], x[:, None, :]]
            part *= (to_y[:, :, None] * to_x[:, None, :])[..., None]
            part[outside] = 0
            yield part


def _pooled(corners: Iterator[Array], cells: Cells, samples: tuple[int, int]) -> Array:
    """[regions, rows, columns, channels]: the samples of each cell, reduced."""
    combine = np.maximum if cells.mode == "max_pixel" else np.add
    total = next(corners)
    for part in corners:
        combine(total, part, out=total)
    (rows, columns), (high, wide) = cells.counts, samples
    split = total.reshape(len(total), rows, high, columns, wide, total.shape[-1])
    pooled: Array
    if cells.mode == "avg":
        pooled = split.sum(axis=(2, 4))
        pooled /= total.dtype.type(high * wide)
    else:
        pooled = split.max(axis=(2, 4))
    return pooled


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes by their corners."""

    low: Array  # the smaller y and x [boxes, 2]
    high: Array  # the larger y and x [boxes, 2]
    area: Array  # [boxes]

    @staticmethod
    def between(low: Array, high: Array) -> Boxes:
        sides = high - low
        return Boxes(low, high, sides[:, 0] * sides[:, 1])

    def overlapped(self, best: int, others: Array, threshold: float) -> Array:
        """Mask of `others` that share more than `threshold` of their union with box `best`."""
        low = np.maximum(self.low[best], self.low[others])
        sides = np.minimum(self.high[best], self.high[others]) - low
        shared = sides[:, 0] * sides[:, 1]
        areas = self.area[others]
        union = self.area[best] + areas - shared
        sound = (sides > 0).all(axis=1) & (areas > 0) & (self.area[best] > 0) & (union > 0)
        above: Array = sound & (shared / np.where(union > 0, union, 1) > threshold)
        return above


def best_first(scores: Array, least: float | None) -> Array:
    """Positions of scores above `least`, the largest first, equal ones in their order."""
    chosen = np.arange(len(scores)) if least is None else np.flatnonzero(scores > least)
    order: Array = chosen[np.argsort(-scores[chosen], kind="stable")]
    return order


def keep_best(boxes: Boxes, order: Array, threshold: float, most: int) -> list[int]:
    """At most `most` boxes of `order` that overlap no better kept one beyond `threshold`.

    A turn takes the best box that is left and drops, all at once, those that it overlaps.
    """
    kept: list[int] = []
    while len(order) and len(kept) < most:
        best, order = int(order[0]), order[1:]
        kept.append(best)
        order = order[~boxes.overlapped(best, order, threshold)]
    return kept
