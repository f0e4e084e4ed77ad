"""Images sampled at positions that tensors give: the pixels around them, and their weights.

Coordinates are worked out in float32 where the images are narrower, like the weights and the sums.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, kernel
from atc_py.device.sim.typing_rules import one_dtype, require_float, require_rank
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.text import Text

Array = NDArray[Any]


def pixels_at(image: Array, rows: Array, columns: Array) -> Array:
    """The pixels [channels, positions] of an image [channels, height, width].

    `rows` and `columns` are whole numbers in the dtype of `image`, one for each position; outside
    of it a pixel is 0.
    """
    channels, height, width = image.shape
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    row, column = (np.where(inside, at, 0).astype(np.intp) for at in (rows, columns))
    pixels: Array = image.reshape(channels, height * width).take(row * width + column, axis=1)
    pixels[:, ~inside] = 0
    return pixels


def neighbors(rows: Array, columns: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Yield row, column and weight of the four pixels around each position.

    From top to bottom, and from left to right. A weight is a product of shares, which are 1 minus
    the fraction of a coordinate and that fraction. Coordinates that are not finite have no pixels
    around them, and weights that are NaN.
    """
    one = rows.dtype.type(1)
    top, left = np.floor(rows), np.floor(columns)
    with np.errstate(invalid="ignore"):  # infinity less itself
        down, right = rows - top, columns - left
    for row, of_row in ((top, one - down), (top + one, down)):
        for column, of_column in ((left, one - right), (left + one, right)):
            yield row, column, of_row * of_column


_CHOICES = {
    "interpolation_mode": ("bilinear", "nearest"),
    "padding_mode": ("zeros", "border", "reflection"),
}


def _grid_types(node: NodeView) -> tuple[TensorFacts, ...]:
    x, grid = node.x, node.required(1)
    require_float(x)
    one_dtype((x, grid))
    require_rank(x, 4, "x")
    require_rank(grid, 4, "grid")
    for name, known in _CHOICES.items():
        if node.text(name) not in known:
            text = Text("{name} must be {known}, found {node}")
            raise NodeError(
                text.with_values(name=name, known=", ".join(known), node=repr(node.text(name)))
            )
    if grid.shape[0] != x.shape[0] or grid.shape[3] != 2:  # noqa: PLR2004  (x and y)
        text = Text("grid must have {n} images of x and y, found {found}")
        raise NodeError(text.with_values(n=x.shape[0], found=grid))
    if 0 in x.shape[2:]:
        raise NodeError(Text("{x} has no pixels to sample", x=x))
    return (TensorFacts(x.dtype, (*x.shape[:2], *grid.shape[1:3])),)


_PLACE, _PIXEL = 64, 16
"""Bytes of numpy's arrays for a place of the grid, and for each channel there."""


@kernel("GridSampler2D", _grid_types)
def grid_sampler_2d(call: Call) -> None:
    """Sample each image at the positions of its grid, which are -1 to 1 from edge to edge.

    With align_corners -1 and 1 are the middles of the first and the last pixel, else their edges.
    In mode nearest a coordinate is rounded, ties to even, before padding counts, as in ONNX.
    """
    node, (images, _, height, width) = call.node, call.x.shape
    aligned, nearest = node.flag("align_corners"), node.text("interpolation_mode") == "nearest"
    places = call.input(1).reshape(images, -1, 2)
    results = call.out.reshape(*call.out.shape[:2], -1)
    for_one = places.shape[1] * (_PLACE + _PIXEL * results.shape[1])
    call.require_scratch(min(images, call.workers.size) * for_one)

    def sample(start: int, stop: int) -> None:
        for at in range(start, stop):
            rows, columns = (
                _coordinates(places[at, :, which], size, node, aligned=aligned, nearest=nearest)
                for which, size in ((1, height), (0, width))
            )
            if nearest:
                results[at] = pixels_at(call.x[at], rows, columns)
            else:
                results[at] = _bilinear(call.x[at], rows, columns, node.text("padding_mode"))

    call.workers.split(images, sample)


def _coordinates(
    places: Array, size: int, node: NodeView, *, aligned: bool, nearest: bool
) -> Array:
    """Coordinates in pixels of an axis, held to the image unless padding is zeros.

    What is not a number is a pixel before the image, or the first one.
    """
    real = places.dtype.type
    with np.errstate(over="ignore", invalid="ignore"):
        moved = places + real(1)
        if aligned:
            at = moved / real(2) * real(size - 1)
        else:
            at = (moved * real(size) - real(1)) / real(2)
        at = np.rint(at) if nearest else at
        padding = node.text("padding_mode")
        if padding == "zeros":
            return _held(at, size)
        if padding == "reflection":
            at = _reflected(at, size, aligned=aligned)
        at = np.rint(at) if nearest else at
    held: NDArray[Any] = np.fmin(np.fmax(at, real(0)), real(size - 1))
    return held


def _reflected(at: Array, size: int, *, aligned: bool) -> Array:
    """Coordinates reflected at the middles of the outer pixels, or at their outer edges."""
    real = at.dtype.type
    low, span = (real(0), real(size - 1)) if aligned else (real(-0.5), real(size))
    inside = (at >= low) & (at <= low + span)
    if span == 0:
        return np.zeros_like(at)
    beyond = np.abs(at - low)
    turns = np.floor(beyond / span)
    rest = beyond - turns * span
    odd = turns - np.floor(turns / real(2)) * real(2) != 0
    return np.where(inside, at, low + np.where(odd, span - rest, rest))


def _bilinear(image: Array, rows: Array, columns: Array, padding: str) -> Array:
    """Weighted sums [channels, positions] of the pixels around positions.

    Unless padding is zeros, what is beyond the last pixel, whose weight is 0, is that pixel.
    """
    last = [image.dtype.type(length - 1) for length in image.shape[1:]]
    total = np.zeros((len(image), len(rows)), image.dtype)
    for row, column, weight in neighbors(rows, columns):
        if padding != "zeros":
            row, column = np.minimum(row, last[0]), np.minimum(column, last[1])  # noqa: PLW2901
        total += pixels_at(image, row, column) * weight
    return total


# Windows with points of their own ---------------------------------------------------------------

_PARTS = 3
"""What offsets hold of a point: x, y, weight."""


def _deformable_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """Images in which every window has pixels of its own."""
    x, offsets = node.x, node.required(1)
    require_float(x)
    one_dtype((x, offsets))
    require_rank(x, 4, "x")
    require_rank(offsets, 4, "offsets")
    node.expect("data_format", "NCHW")
    node.expect("modulated", allowed=True)
    height, width = node.integers("ksize", 2)
    groups = node.integer("deformable_groups")
    if groups < 1 or x.shape[1] % groups:
        text = Text("{groups} groups do not divide {channels} channels")
        raise NodeError(text.with_values(groups=groups, channels=x.shape[1]))
    windows = _windows(node)
    needed = (x.shape[0], _PARTS * groups * height * width, *windows)
    if offsets.shape != needed:
        text = Text("offsets must be {shape}, found {found}")
        raise NodeError(text.with_values(shape=list(needed), found=offsets))
    return (TensorFacts(x.dtype, (*x.shape[:2], windows[0] * height, windows[1] * width)),)


def _windows(node: NodeView) -> tuple[int, int]:
    found = []
    pads = node.integers("pads", 4)
    for side, points in enumerate(node.integers("ksize", 2)):
        stride, dilation = (node.integers(name, 4)[2 + side] for name in ("strides", "dilations"))
        if min(stride, dilation, points) < 1:
            text = Text("{points} points with steps {stride} and {dilation} do not form a window")
            raise NodeError(text.with_values(points=points, stride=stride, dilation=dilation))
        room = node.x.shape[2 + side] + sum(pads[2 * side : 2 * side + 2])
        found.append((room - (points - 1) * dilation - 1) // stride + 1)
    if min(found) < 1:
        raise NodeError(Text("no window fits into the image"))
    return found[0], found[1]


@kernel("DeformableOffsets", _deformable_types)
def deformable_offsets(call: Call) -> None:
    """Sample the points of every window; those of a group of channels are the same.

    Point (i, j) of window (oh, ow) is at row oh * stride - top + i * dilation + y, and at a column
    alike; its sample is multiplied by its weight. What is outside the image is 0.
    """
    (images, channels), groups = call.x.shape[:2], call.node.integer("deformable_groups")
    height, width = call.node.integers("ksize", 2)
    offsets = call.input(1).reshape(images, _PARTS, groups, height, width, *call.input(1).shape[2:])
    down, across = (_points(call.node, side, offsets.dtype) for side in (0, 1))
    depth = channels // groups
    pixels = call.x.reshape(images, groups, depth, *call.x.shape[2:])
    results = call.out.reshape(images, groups, depth, *call.out.shape[2:])

    def sample(start: int, stop: int) -> None:
        for at in range(start, stop):
            image, group = divmod(at, groups)
            x, y, weight = offsets[image, :, group].transpose(0, 3, 1, 4, 2)
            rows = _held(y + down[:, :, None, None], call.x.shape[2])
            columns = _held(x + across[None, None], call.x.shape[3])
            samples = _bilinear(pixels[image, group], rows.ravel(), columns.ravel(), "zeros")
            results[image, group] = (samples * weight.ravel()).reshape(depth, *call.out.shape[2:])

    call.workers.split(images * groups, sample)


def _points(node: NodeView, side: int, dtype: Any) -> Array:
    """Coordinates [windows, points] along one side, without offsets."""
    stride, dilation = (node.integers(name, 4)[2 + side] for name in ("strides", "dilations"))
    points, before = node.integers("ksize", 2)[side], node.integers("pads", 4)[2 * side]
    starts = np.arange(_windows(node)[side]) * stride - before
    found: Array = (starts[:, None] + np.arange(points) * dilation).astype(dtype)
    return found


def _held(at: Array, size: int) -> Array:
    """Coordinates, those far outside an axis just outside; what is no number is before it."""
    real = at.dtype.type
    held: Array = np.fmin(np.fmax(at, real(-2)), real(size + 1))
    return held
