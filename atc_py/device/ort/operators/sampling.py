"""Images sampled at positions that tensors give, in float32 where the images are narrower."""

from collections.abc import Sequence

import numpy as np

from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.regions import real_of
from atc_py.tensor.dtypes import DType

_FAR = 1e6
"""A position, in images, that is outside of every one; the runtime counts pixels in 64 bits."""

_PARTS = 3
"""What offsets hold of a point: x, y, weight."""


@emulates("GridSampler2D")
def grid_sampler_2d(body: Body) -> str:
    """Write each image at the positions of its grid, which are -1 to 1 from edge to edge.

    What is no number is the first pixel, or one before the image; so is, where it cannot be
    reflected, an infinity.
    """
    node, dtype, grid = body.node, real_of(body), body.x(1)
    padding = node.text("padding_mode")
    odd = grid if padding == "border" else body.add("Sub", grid, grid)
    odd = body.add("IsNaN", odd)
    held = body.add("Where", odd, body.const(-1, dtype), grid)
    if padding == "border":
        held = body.add("Clip", held, body.const(-_FAR, dtype), body.const(_FAR, dtype))
    mode = node.text("interpolation_mode")
    y = body.add(
        "GridSample",
        body.x(),
        held,
        align_corners=node.flag("align_corners"),
        mode="linear" if mode == "bilinear" else mode,
        padding_mode=padding,
    )
    if padding != "zeros":
        return y
    outside = body.add("ReduceMax", body.cast(odd, DType.INT32), body.ints(3), keepdims=0)
    outside = body.cast(body.add("Unsqueeze", outside, body.ints(1)), DType.BOOL)
    return body.add("Where", outside, body.const(0, dtype), y)


# Windows with points of their own ---------------------------------------------------------------


@emulates("DeformableOffsets")
def deformable_offsets(body: Body) -> str:
    """Write samples at the points of every window, times their weights; 0 outside the image.

    Pixels become rows of channels, with a row of zeros after the last, which is what a point
    outside finds.
    """
    node, dtype = body.node, real_of(body)
    (images, channels, height, width), groups = node.shape(), node.integer("deformable_groups")
    down, across, windows = _points(body)
    high, wide = node.integers("ksize")
    depth, apart = channels // groups, images * groups
    count = windows[0] * high * windows[1] * wide
    parts = body.ints(images, _PARTS, groups, high, wide, *windows)
    offsets = body.add("Reshape", body.x(1), parts)
    offsets = body.add("Transpose", offsets, perm=(1, 0, 2, 5, 3, 6, 4))
    places = body.ints(_PARTS, apart, windows[0], high, windows[1], wide)
    offsets = body.add("Reshape", offsets, places)
    x, y, weight = body.several("Split", _PARTS, offsets, axis=0, num_outputs=_PARTS)
    rows, columns = (
        _held(body, body.add("Add", moved, body.const(start, dtype)), size)
        for moved, start, size in (
            (y, down[:, :, None, None], height),
            (x, across[None, None], width),
        )
    )
    flat = body.ints(apart, count, 1)
    rows, columns, weight = (body.add("Reshape", each, flat) for each in (rows, columns, weight))
    pixels = body.add("Reshape", body.x(), body.ints(apart, depth, height * width))
    pixels = body.add("Transpose", pixels, perm=(0, 2, 1))
    pixels = body.add("Concat", pixels, body.const(np.zeros((apart, 1, depth)), dtype), axis=1)
    samples = _bilinear(body, pixels, (rows, columns), (height, width))
    samples = body.add("Transpose", body.add("Mul", samples, weight), perm=(0, 2, 1))
    return body.add(
        "Reshape", samples, body.ints(images, channels, windows[0] * high, windows[1] * wide)
    )


def _points(body: Body) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """Rows and columns [windows, points] without offsets, and how many windows there are."""
    node, found = body.node, []
    pads = node.integers("pads")
    for side, points in enumerate(node.integers("ksize")):
        stride, dilation = (node.integers(name)[2 + side] for name in ("strides", "dilations"))
        room = node.shape()[2 + side] + sum(pads[2 * side : 2 * side + 2])
        count = (room - (points - 1) * dilation - 1) // stride + 1
        starts = np.arange(count) * stride - pads[2 * side]
        found.append(starts[:, None] + np.arange(points) * dilation)
    return found[0], found[1], (len(found[0]), len(found[1]))


def _held(body: Body, at: str, size: int) -> str:
    """Coordinates, those far outside an axis just outside; what is no number before it."""
    dtype = real_of(body)
    held = body.add("Clip", at, body.const(-2, dtype), body.const(size + 1, dtype))
    return body.add("Where", body.add("IsNaN", at), body.const(-2, dtype), held)


def _bilinear(body: Body, pixels: str, at: tuple[str, str], sizes: Sequence[int]) -> str:
    """Weighted sums [..., positions, channels] of the pixels around positions.

    Args:
        body: where nodes are written.
        pixels: [..., height * width + 1, channels], the last one 0.
        at: rows and columns [..., positions, 1].
        sizes: height and width.
    """
    dtype = real_of(body)
    one = body.const(1, dtype)
    first = [body.add("Floor", each) for each in at]
    after = [body.add("Sub", each, floor) for each, floor in zip(at, first, strict=True)]
    before = [body.add("Sub", one, share) for share in after]
    second = [body.add("Add", floor, one) for floor in first]
    total = ""
    for row, of_row in ((first[0], before[0]), (second[0], after[0])):
        for column, of_column in ((first[1], before[1]), (second[1], after[1])):
            place = _place(body, row, column, sizes)
            found = body.add("GatherND", pixels, place, batch_dims=1)
            part = body.add("Mul", found, body.add("Mul", of_row, of_column))
            total = body.add("Add", total, part) if total else part
    return total


def _place(body: Body, row: str, column: str, sizes: Sequence[int]) -> str:
    """Place of a pixel among all of its image; the last one where it is outside."""
    dtype, (height, width) = real_of(body), sizes
    zero = body.const(0, dtype)
    inside = ""
    for value, size in ((row, height), (column, width)):
        low = body.add("GreaterOrEqual", value, zero)
        both = body.add("And", low, body.add("Less", value, body.const(size, dtype)))
        inside = body.add("And", inside, both) if inside else both
    row, column = (body.cast(each, DType.INT64) for each in (row, column))
    place = body.add("Add", body.add("Mul", row, body.const(width, DType.INT64)), column)
    return body.add("Where", inside, place, body.const(height * width, DType.INT64))
