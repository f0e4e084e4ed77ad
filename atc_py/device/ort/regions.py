"""Regions of interest as operands of ONNX's operators, and what these lack: the largest samples."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from atc_py.device.ort.body import Body
from atc_py.tensor.dtypes import DType

_FAR = -1e6
"""A coordinate that is on no map."""


def real_of(body: Body) -> DType:
    """The dtype in which coordinates of the first input are worked out."""
    return DType.FLOAT64 if body.node.dtype() is DType.FLOAT64 else DType.FLOAT32


def images_of(body: Body, rois: str) -> tuple[str, str]:
    """The images [regions] of `rois` [regions, 5], int64, and their corners [regions, 4]."""
    image, corners = body.several("Split", 2, rois, body.ints(1, 4), axis=1)
    image = body.cast(body.add("Squeeze", image, body.ints(1)), DType.INT64)
    return image, corners


def elsewhere(body: Body, corners: str, dtype: DType, *, infinite: bool = False) -> str:
    """Corners [regions, 4], of which those that are not all numbers are far from any map.

    Infinities are numbers if `infinite`.
    """
    one = corners if infinite else body.add("Sub", corners, corners)
    wrong = body.cast(body.add("IsNaN", one), DType.INT32)
    any_wrong = body.cast(body.add("ReduceMax", wrong, body.ints(1)), DType.BOOL)
    return body.add("Where", any_wrong, body.const(_FAR, dtype), corners)


def align_regions(
    body: Body,
    features: str,
    corners: str,
    images: str,
    *,
    moved: bool,
    samples: int,
    **attributes: Any,
) -> str:
    """Write bilinear samples of regions, pooled; regions that are not finite are 0.

    Args:
        body: where nodes are written.
        features: the maps [images, channels, height, width].
        corners: of the regions [regions, 4].
        images: of the regions [regions].
        moved: by half a pixel; else regions have at least one pixel.
        samples: along each side of a cell; 0 for one per pixel.
        **attributes: further ones of ONNX's RoiAlign.
    """
    dtype = real_of(body)
    if moved and samples <= 0:  # the runtime counts samples of a region that is inside out
        low, high = body.several("Split", 2, corners, axis=1, num_outputs=2)
        inverted = body.cast(body.add("Less", high, low), DType.INT32)
        wrong = body.cast(body.add("ReduceMax", inverted, body.ints(1)), DType.BOOL)
        corners = body.add("Where", wrong, body.const(_FAR, dtype), corners)
    return body.add(
        "RoiAlign",
        features,
        elsewhere(body, corners, dtype),
        images,
        coordinate_transformation_mode="half_pixel" if moved else "output_half_pixel",
        sampling_ratio=max(samples, 0),
        **attributes,
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """Samples along one side."""

    # the one before a sample and the one after it, int64 [regions, cells * most]
    pixels: tuple[str, str]
    weights: tuple[str, str]  # of each
    inside: str  # samples on the map, bool
    counted: str  # samples that the region has, bool [regions, most]
    most: str  # samples of a cell, int64 [1]
    cells: int  # how many


def largest_samples(
    body: Body, features: str, corners: str, images: str, pooled: tuple[int, int], *, moved: bool
) -> str:
    """Write the largest sample of each cell [regions, channels, *pooled], 0 where there is none.

    Args:
        body: where nodes are written.
        features: the maps [images, channels, height, width].
        corners: of the regions, in pixels of the maps [regions, 4].
        images: of the regions [regions].
        pooled: rows and columns of cells.
        moved: by half a pixel; else regions have at least one pixel.
    """
    dtype = real_of(body)
    corners = elsewhere(body, corners, dtype)
    left, top, right, bottom = body.several("Split", 4, corners, axis=1, num_outputs=4)
    rows = _side(body, (top, bottom), body.add("Shape", features, start=2, end=3), pooled[0], moved)
    columns = _side(body, (left, right), body.add("Shape", features, start=3), pooled[1], moved)
    total = _total(body, features, images, rows, columns)
    regions = body.add("Shape", images)
    cells = [body.ints(rows.cells), rows.most, body.ints(columns.cells), columns.most]
    channels = body.add("Shape", features, start=1, end=2)
    split = body.add("Concat", regions, *cells, channels, axis=0)
    total = body.add("Reshape", total, split, allowzero=1)
    high = body.add("Unsqueeze", rows.counted, body.ints(1, 3, 4, 5))
    wide = body.add("Unsqueeze", columns.counted, body.ints(1, 2, 3, 5))
    counted = body.add("And", high, wide)
    lowest = body.const(-np.inf, dtype)
    total = body.add("Where", counted, total, lowest)
    best = body.add("ReduceMax", total, body.ints(2, 4), keepdims=0)
    some = body.add("ReduceMax", body.cast(counted, DType.INT32), body.ints(2, 4), keepdims=0)
    best = body.add("Where", body.cast(some, DType.BOOL), best, body.const(0, dtype))
    return body.add("Transpose", best, perm=(0, 3, 1, 2))


def _side(body: Body, ends: tuple[str, str], length: str, cells: int, moved: bool) -> _Side:
    """Samples of regions from one of `ends` [regions, 1] to the other."""
    dtype = real_of(body)
    one, half, zero = (body.const(number, dtype) for number in (1, 0.5, 0))
    start, end = (body.add("Sub", each, half) for each in ends) if moved else ends
    size = body.add("Sub", end, start)
    size = size if moved else body.add("Max", size, one)
    size = body.add("Div", size, body.const(cells, dtype))
    count = body.add("Max", body.add("Ceil", size), zero)
    most = body.cast(body.add("ReduceMax", count, keepdims=0), DType.INT64)
    most = body.add("Max", most, body.const(1, DType.INT64))  # a maximum is of something
    step = body.cast(body.range(most), dtype)
    counted = body.add("Less", step, count)
    cell = body.const(np.arange(cells)[:, None], dtype)
    first = body.add("Mul", cell, body.add("Unsqueeze", size, body.ints(2)))
    first = body.add("Add", body.add("Unsqueeze", start, body.ints(2)), first)
    within = body.add("Mul", body.add("Add", step, half), size)
    within = body.add("Div", within, body.add("Max", count, one))
    at = body.add("Add", first, body.add("Unsqueeze", within, body.ints(1)))
    most = body.add("Unsqueeze", most, body.ints(0))
    line = body.add("Mul", most, body.ints(cells))
    flat = body.add("Concat", body.add("Shape", at, end=1), line, axis=0)
    at = body.add("Reshape", at, flat, allowzero=1)
    pixels, weights, inside = _around(body, at, length)
    return _Side(pixels, weights, inside, counted, most, cells)


def _around(body: Body, at: str, length: str) -> tuple[tuple[str, str], tuple[str, str], str]:
    dtype, whole = real_of(body), DType.INT64
    zero, one = body.const(0, dtype), body.const(1, dtype)
    low = body.add("GreaterOrEqual", at, body.const(-1, dtype))
    inside = body.add("And", low, body.add("LessOrEqual", at, body.cast(length, dtype)))
    held = body.add("Max", body.add("Where", inside, at, zero), zero)
    last = body.add("Sub", length, body.const(1, whole))
    before = body.add("Min", body.cast(body.add("Floor", held), whole), last)
    after = body.add("Min", body.add("Add", before, body.const(1, whole)), last)
    share = body.add("Sub", held, body.cast(before, dtype))
    share = body.add("Where", body.add("GreaterOrEqual", before, last), zero, share)
    return (before, after), (body.add("Sub", one, share), share), inside


def _total(body: Body, features: str, images: str, rows: _Side, columns: _Side) -> str:
    """The samples [regions, rows, columns, channels]: four weighted pixels each."""
    zero = body.const(0, real_of(body))
    pixels = body.add("Transpose", features, perm=(0, 2, 3, 1))
    image = body.add("Unsqueeze", images, body.ints(1, 2))
    inside = body.add("And", _down(body, rows.inside), _across(body, columns.inside))
    inside = body.add("Unsqueeze", inside, body.ints(3))
    shape = body.add("Shape", inside)
    total = ""
    for y, to_y in zip(rows.pixels, rows.weights, strict=True):
        for x, to_x in zip(columns.pixels, columns.weights, strict=True):
            places = [
                body.add("Expand", body.add("Unsqueeze", each, body.ints(3)), shape)
                for each in (image, _down(body, y), _across(body, x))
            ]
            part = body.add("GatherND", pixels, body.add("Concat", *places, axis=3))
            weight = body.add("Mul", _down(body, to_y), _across(body, to_x))
            part = body.add("Mul", part, body.add("Unsqueeze", weight, body.ints(3)))
            part = body.add("Where", inside, part, zero)
            total = body.add("Add", total, part) if total else part
    return total


def _down(body: Body, value: str) -> str:
    return body.add("Unsqueeze", value, body.ints(2))


def _across(body: Body, value: str) -> str:
    return body.add("Unsqueeze", value, body.ints(1))
