"""Rules of operators that read images between pixels.

Over 400 lines because a page holds its whole family.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from atc_py.fix import tables
from atc_py.fix.case import ConstInput, case, data
from atc_py.fix.context import RuleContext
from atc_py.fix.facts import FLOATS
from atc_py.fix.parts.windows import H, ImageAxis, W, window_numbers
from atc_py.fix.rule import BOUNDED, REORDERED, rule
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType


@dataclass(frozen=True, slots=True)
class PixelTap:
    """One of the pixels along an axis that a value is made of."""

    position: str  # name of its int32 position along the axis, one for each value
    weight: str = ""  # name of its share in the value; "" for a whole


def zero_frame(ctx: RuleContext, x: str, axes: int) -> str:
    """Write zeros around images with `axes` axes: one before and one after."""
    ones = [0, 0, *([1] * axes)]
    return ctx.pad(x, [*ones, *ones])


def pixel_rows(ctx: RuleContext, x: str, dims: Sequence[int]) -> str:
    """Write images of `dims` (batch, channels, axes) as a matrix of pixels with their channels."""
    pixels = prod(dims[2:])
    x = ctx.reshape(x, [dims[0], dims[1], pixels])
    return ctx.reshape(ctx.transpose(x, [0, 2, 1]), [dims[0] * pixels, dims[1]])


def linear_taps(ctx: RuleContext, place: str, size: int, dtype: DType) -> tuple[PixelTap, PixelTap]:
    """Write the two pixels around each place along an axis of `size` pixels in a frame of zeros.

    Places are float, counted from the first pixel within the frame; beyond it all is 0.
    """
    low, high, one = (ctx.const(value, dtype, "bound") for value in (-1, size, 1))
    held = ctx.op("Clip", place, low, high)
    last = ctx.const(size - 1, dtype, "bound")
    first = ctx.op("Clip", ctx.op("Floor", held), low, last)
    share = ctx.op("Sub", held, first)
    position = shifted(ctx, ctx.cast(first, DType.INT32), 1)
    return (
        PixelTap(position, ctx.op("Sub", one, share)),
        PixelTap(shifted(ctx, position, 1), share),
    )


def shifted(ctx: RuleContext, positions: str, by: int) -> str:
    return ctx.op("Add", positions, ctx.const(by, DType.INT32, "by")) if by else positions


def image_numbers(ctx: RuleContext, count: int) -> str:
    """Write the numbers of `count` images; "" for a single one."""
    numbers = tables.arange(count).reshape(count, 1, 1)
    return ctx.const(numbers, DType.INT32, "image") if count > 1 else ""


def sampled(
    ctx: RuleContext,
    rows: str,
    sizes: Sequence[int],
    taps: Sequence[Sequence[PixelTap]],
    image: str,
    join: str = "Add",
) -> str:
    """Write the values at places given by the taps of each axis: groups x places x channels.

    Args:
        ctx: the node.
        rows: pixels with their channels; see `pixel_rows`.
        sizes: of the axes of the images.
        taps: for each axis; positions and weights are groups x places x 1.
        image: name of the image of each group, groups x 1 x 1; "" where there is one.
        join: operator of two values that makes one of those of the taps; Max for weights of 0 or more.
    """
    return _along(ctx, rows, list(zip(sizes, taps, strict=True)), image, join)


def _along(
    ctx: RuleContext,
    rows: str,
    axes: Sequence[tuple[int, Sequence[PixelTap]]],
    start: str,
    join: str,
) -> str:
    """Write what `join` makes of the taps of the first axis, and of the others for each."""
    if not axes:
        return ctx.op("Gather", rows, ctx.squeeze(start, [2]), axis=0)
    size, taps = axes[0]
    if start:
        start = ctx.op("Mul", start, ctx.const(size, DType.INT32, "size"))
    total = ""
    for tap in taps:
        index = ctx.op("Add", start, tap.position) if start else tap.position
        part = _along(ctx, rows, axes[1:], index, join)
        if tap.weight:
            part = ctx.op("Mul", part, tap.weight)
        total = ctx.add(total, part, op=join)
    return total


@rule(
    REORDERED,
    case("AffineGrid", [2, 2, 3], np.array([2, 3, 4, 5]), opset=20),
    miss=case("AffineGrid", [2, 2, 3], np.array([2, 3, 4]), opset=20),
    boundary=case("AffineGrid", [2, 2, 3], np.array([2, 3, 2, 5]), align_corners=1, opset=20),
    float16="places of the grid and matrices are rounded to 11 bits",
)
def affine_grid_as_product(ctx: RuleContext) -> str:
    """AffineGrid of two or three axes -> MatMul of a constant grid with the transposed matrices,
    Reshape, if the size is constant; with align_corners each axis has two pixels.
    """
    sizes = [int(number) for number in ctx.constant(1)]
    require(len(sizes) in {4, 5}, "there are two or three axes")
    require(ctx.element in FLOATS, "theta is float16 or float32")
    corners = ctx.integer("align_corners", 0)
    # ONNX and onnxruntime put a single pixel between corners at other places.
    require(not corners or min(sizes[2:]) > 1, "corners are apart")
    lines = []
    for size in sizes[2:]:
        at = tables.arange(size, dtype=np.float64)
        lines.append(2 * at / max(size - 1, 1) - 1 if corners else (2 * at + 1) / size - 1)
    places = tables.grid_of(lines)[::-1]
    points = np.stack(
        [*(place.reshape(-1) for place in places), tables.ones(places[0].size)], axis=1
    )
    grid = ctx.const(points, ctx.element, "grid")
    moved = ctx.op("MatMul", grid, ctx.transpose(ctx.name(0), [0, 2, 1]))
    return ctx.reshape(moved, [sizes[0], *sizes[2:], len(lines)])


_IMAGES = 4
# Positions of inputs.
_OFFSET, _BIAS, _MASK = 2, 3, 4


@rule(
    BOUNDED,
    case(
        "DeformConv", [1, 2, 5, 6], data(3, 2, 2, 2), [1, 8, 4, 5], data(3), [1, 4, 4, 5], opset=19
    ),
    miss=case("DeformConv", [1, 2, 5, 6, 7], data(3, 2, 2, 2, 2), [1, 24, 4, 5, 6], opset=19),
    boundary=case("DeformConv", [1, 2, 2, 3], data(3, 2, 2, 3), [1, 12, 1, 1], opset=19),
    bound=1e-4,
    float16="places have 11 bits: an eighth of a pixel at 128, a whole one above 1024",
)
def deform_conv_as_gather(ctx: RuleContext) -> str:
    """DeformConv of images -> places by Add with constants; pixels by Gather with int32 positions;
    Mul, Add; Conv of one pixel, if X is images; dims are known; constant offsets have no NaN.
    """
    x, w = ctx.shape(0), ctx.shape(1)
    require(len(x) == _IMAGES, "X is images")
    ctx.floats(0, "X")
    axes, offset = _axes(ctx, x, w), ctx.input(_OFFSET).const
    require(offset is None or not np.isnan(offset.numpy()).any(), "constant offsets have no NaN")
    groups, taps = ctx.integer("offset_group", 1), prod(w[2:])
    counts = [axis.count for axis in axes]
    lead, places = x[0] * groups, taps * prod(counts)
    offsets = ctx.reshape(ctx.name(_OFFSET), [lead, taps, 2, prod(counts)])
    along: list[Sequence[PixelTap]] = []
    for at, axis in enumerate(axes):
        part = ctx.reshape(ctx.slice(offsets, 2, at, at + 1), [lead, places, 1])
        starts = tables.arange(axis.count) * axis.stride - axis.begin
        there = tables.arange(axis.taps) * axis.dilation
        dims = [(1, 1), (1, 1)]
        dims[at] = (axis.taps, axis.count)
        (kh, oh), (kw, ow) = dims
        base = there.reshape(kh, kw, 1, 1) if at == H else there.reshape(1, -1, 1, 1)
        base = base + starts.reshape(1, 1, oh, ow)
        whole = np.broadcast_to(base, (*w[2:], *counts)).reshape(1, places, 1)
        place = ctx.op("Add", part, ctx.const(whole, ctx.element, "base"))
        along.append(linear_taps(ctx, place, axis.size, ctx.element))
    sizes = [axis.size + 2 for axis in axes]
    each = x[1] // groups
    rows = pixel_rows(ctx, zero_frame(ctx, ctx.name(0), 2), [x[0] * groups, each, *sizes])
    values = sampled(ctx, rows, sizes, along, image_numbers(ctx, lead))
    if ctx.tensor(_MASK) is not None:
        mask = ctx.reshape(ctx.name(_MASK), [lead, places, 1])
        values = ctx.op("Mul", values, mask)
    values = ctx.reshape(ctx.transpose(values, [0, 2, 1]), [x[0], x[1] * taps, *counts])
    weight = ctx.reshape(ctx.name(1), [w[0], w[1] * taps, 1, 1])
    bias = ctx.present(_BIAS)
    return ctx.op("Conv", values, weight, *bias, kernel_shape=[1, 1], group=ctx.integer("group", 1))


def _axes(ctx: RuleContext, x: Sequence[int], w: Sequence[int]) -> tuple[ImageAxis, ImageAxis]:
    strides, dilations, pads = window_numbers(ctx, 2)
    height, width = (
        ImageAxis(x[2 + at], w[2 + at], strides[at], dilations[at], pads[at], pads[2 + at])
        for at in (H, W)
    )
    require(min(height.count, width.count) > 0, "Y has elements")
    return height, width


_RANKS = frozenset({4, 5})

# Names of the modes before opset 20, and after.
_KINDS = {"bilinear": "linear", "bicubic": "cubic"}

# The parameter of cubic interpolation that ONNX fixes.
_ALPHA = -0.75

# Places that are too far: float32 has none between pixels; onnxruntime counts pixels in int64.
_FAR, _FAR_OUT = 2**24, 2**62


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis of the images, and the places along it."""

    size: int  # its pixels
    corners: bool  # whether -1 and 1 are centers of pixels, not edges
    dtype: DType  # of the places

    @property
    def border(self) -> tuple[float, float]:
        """First and last place of the image."""
        return (0, self.size - 1) if self.corners else (-0.5, self.size - 0.5)


@rule(
    BOUNDED,
    case("GridSample", [2, 3, 5, 6], [2, 4, 3, 2], opset=16),
    miss=case("Upsample", [1, 2, 3, 4], scales=[1.0, 1.0, 2.0, 2.0], opset=7),
    boundary=case(
        "GridSample",
        [1, 1, 2, 2],
        [1, 1, 1, 2],
        padding_mode="reflection",
        align_corners=1,
        opset=16,
    ),
    bound=1e-4,
    deviations="GridSample/ties-go-far",
    lists=True,
    float16="places have 11 bits: an eighth of a pixel at 128, a whole one above 1024",
)
def grid_sample_as_gather(ctx: RuleContext) -> str:
    """GridSample -> places by Mul, Add, Floor, Clip; pixels by Gather with int32 positions; Mul,
    Add, if dims are known; X has rank 4 or 5; align_corners with reflection needs two pixels
    along each axis; places of a constant grid are finite and near.

    Places are those of ONNX's definition, in float32 also where the grid is of float16; pads
    count for each pixel by itself. Linear and nearest places beyond the border are moved to it
    before; cubic ones are not, as in onnxruntime and PyTorch.
    """
    x, grid = ctx.shape(0), ctx.shape(1)
    require(len(x) in _RANKS, "X has rank 4 or 5", found=len(x))
    require(len(grid) == len(x), "the grid has the rank of X", found=len(grid))
    ctx.floats(0, "X")
    given, dtype = ctx.input(1).dtype, DType.FLOAT32
    require(given in FLOATS, "the grid is float16 or float32")
    corners = ctx.flag("align_corners", default=False)
    axes = [_Axis(size, corners, dtype) for size in x[2:]]
    mode = ctx.text("mode", "linear")
    kind, padding = _KINDS.get(mode, mode), ctx.text("padding_mode", "zeros")
    framed = padding == "zeros"
    _require_near_places(ctx, max(x[2:]), _FAR_OUT if framed else _FAR)
    require(padding != "reflection" or not corners or min(x[2:]) > 1, "each axis has two pixels")
    grids = ctx.name(1) if given is dtype else ctx.cast(ctx.name(1), dtype)
    flat = ctx.reshape(grids, [x[0], prod(grid[1:-1]), len(axes)])
    taps = []
    for at, axis in enumerate(axes):
        component = len(axes) - 1 - at
        place = _place(ctx, ctx.slice(flat, 2, component, component + 1), axis)
        taps.append(_taps(ctx, place, axis, kind, padding))
    if dtype is not ctx.element:
        taps = [
            [
                PixelTap(tap.position, tap.weight and ctx.cast(tap.weight, ctx.element))
                for tap in own
            ]
            for own in taps
        ]
    images = zero_frame(ctx, ctx.name(0), len(axes)) if framed else ctx.name(0)
    sizes = [axis.size + 2 * framed for axis in axes]
    rows = pixel_rows(ctx, images, [*x[:2], *sizes])
    values = sampled(ctx, rows, sizes, taps, image_numbers(ctx, x[0]))
    values = ctx.transpose(values, [0, 2, 1])
    return ctx.reshape(values, [x[0], x[1], *grid[1:-1]])


def _require_near_places(ctx: RuleContext, size: int, most: int) -> None:
    """Refuse a constant grid with NaN, or with places so far that pixels are not told apart.

    ONNX does not say what they give. onnxruntime takes the lower border for NaN and beyond int64,
    whatever the padding, and its weights are off where float32 has no halves.
    """
    grid = ctx.input(1).const
    near = grid is None or (np.abs(grid.numpy().astype(np.float64)) * size < most).all()
    require(near, "places of a constant grid are finite and near")


def _place(ctx: RuleContext, part: str, axis: _Axis) -> str:
    one, half, size, last = (
        ctx.const(value, axis.dtype, "number") for value in (1, 0.5, axis.size, axis.size - 1)
    )
    moved = ctx.op("Add", part, one)
    if axis.corners:
        return ctx.op("Mul", ctx.op("Mul", moved, half), last)
    return ctx.op("Mul", ctx.op("Sub", ctx.op("Mul", moved, size), one), half)


def _taps(ctx: RuleContext, place: str, axis: _Axis, kind: str, padding: str) -> list[PixelTap]:
    if kind == "nearest":
        place = ctx.op("Round", place)
    if padding == "zeros" and kind == "linear":
        return [*linear_taps(ctx, place, axis.size, axis.dtype)]
    place = _limit_places(ctx, place, axis, kind, padding)
    if kind == "nearest":
        return [PixelTap(_pixel(ctx, ctx.cast(place, DType.INT32), axis, padding))]
    first = ctx.op("Floor", place)
    share = ctx.op("Sub", place, first)
    position = ctx.cast(first, DType.INT32)
    one = ctx.const(1, axis.dtype, "one")
    if kind == "linear":
        steps, weights = [0, 1], [ctx.op("Sub", one, share), share]
    else:
        steps, weights = [-1, 0, 1, 2], _cubic(ctx, share, one, axis.dtype)
    pixels = [_pixel(ctx, shifted(ctx, position, step), axis, padding) for step in steps]
    return [PixelTap(pixel, weight) for pixel, weight in zip(pixels, weights, strict=True)]


def _limit_places(ctx: RuleContext, place: str, axis: _Axis, kind: str, padding: str) -> str:
    low, high = axis.border
    if padding == "zeros" or (padding == "border" and kind == "cubic"):
        bounds = [ctx.const(value, axis.dtype, "bound") for value in (-3, axis.size + 2)]
        return ctx.op("Clip", place, *bounds)
    if padding == "border":
        ends = [ctx.const(value, axis.dtype, "end") for value in (0, axis.size - 1)]
        return ctx.op("Clip", place, *ends)
    least, most = (ctx.const(value, axis.dtype, "border") for value in (low, high))
    span = ctx.const(high - low, axis.dtype, "span")
    period = ctx.const(2 * (high - low), axis.dtype, "period")
    offset = ctx.op("Sub", place, least)
    turns = ctx.op("Floor", ctx.op("Div", offset, period))
    rest = ctx.op("Sub", offset, ctx.op("Mul", turns, period))
    away = ctx.op("Abs", ctx.op("Sub", rest, span))
    return ctx.op("Sub", most, away)


def _pixel(ctx: RuleContext, position: str, axis: _Axis, padding: str) -> str:
    """Write positions of pixels; those outside are in the frame of zeros, or stand for others."""
    if padding != "reflection":
        low, high = (-1, axis.size) if padding == "zeros" else (0, axis.size - 1)
        ends = [ctx.const(value, DType.INT32, "end") for value in (low, high)]
        return shifted(ctx, ctx.op("Clip", position, *ends), -low)
    period = 2 * (axis.size - axis.corners)
    steps = tables.arange(-3, axis.size + 4) % period
    mirrored = period - steps if axis.corners else period - 1 - steps
    table = np.where(steps < axis.size, steps, mirrored)
    named = ctx.const(table, DType.INT32, "mirrored")
    return ctx.op("Gather", named, shifted(ctx, position, 3), axis=0)


def _cubic(ctx: RuleContext, share: str, one: str, dtype: DType) -> list[str]:
    """Write the weights of four pixels (Keys 1981), given the part of the way from the second to the third."""
    rest = ctx.op("Sub", one, share)
    # Products: a weight near 0 has all its digits, and its pixel may be large.
    inner, outer = (ctx.const(number, dtype, "number") for number in (_ALPHA + 2, _ALPHA))
    middle = []
    for part, other in ((share, rest), (rest, share)):
        slope = ctx.op("Sub", one, ctx.op("Mul", part, inner))
        bend = ctx.op("Add", ctx.op("Mul", slope, part), one)
        middle.append(ctx.op("Mul", bend, other))
    edge = ctx.op("Mul", ctx.op("Mul", share, rest), outer)
    return [ctx.op("Mul", edge, rest), *middle, ctx.op("Mul", edge, share)]


# Elements of all samples at most.
_MOST_SAMPLES = 2**26

# Opset since which a mode says where regions begin.
_WITH_HALF_PIXELS = 16

_REGIONS = np.array([[1, 1, 6, 6], [0.5, 0, 1, 3], [3, 2, 7.5, 7]], np.float32)
_ROI = ([1, 2, 8, 9], ConstInput(_REGIONS), np.array([0, 0, 0]))
_BINS: dict[str, Any] = {"output_height": 2, "output_width": 3, "opset": 16}


@rule(
    BOUNDED,
    case("RoiAlign", *_ROI, **_BINS, sampling_ratio=2, spatial_scale=0.5),
    miss=case("RoiAlign", *_ROI, **_BINS, sampling_ratio=0),
    boundary=case(
        "RoiAlign", *_ROI, output_height=1, output_width=1, sampling_ratio=1, mode="max", opset=16
    ),
    bound=1e-4,
    deviations="RoiAlign/mode-is-avg",
    lists=True,
    float16="places have 11 bits: an eighth of a pixel at 128, a whole one above 1024",
)
def roi_align_as_gather(ctx: RuleContext) -> str:
    """RoiAlign of half pixels, or of mode max, with a stated number of samples -> places by Mul and
    Add, pixels by Gather with int32 positions, Mul, Add, ReduceMean; for a maximum Max,
    ReduceMax, if dims are known; sampling_ratio is above 0; all samples have at most 2^26
    elements.

    With half pixels a region begins half a pixel before its place, and is as small as stated;
    without, it begins at its place, and is a pixel long at least. For a maximum, a sample is the
    largest of its four pixels times their weights.
    """
    x, regions = ctx.shape(0), ctx.shape(1)
    largest = ctx.text("mode", "avg") == "max"
    ctx.floats(0, "X")
    samples = ctx.integer("sampling_ratio", 0)
    require(samples > 0, "sampling_ratio is above 0", found=samples)
    cells = [ctx.integer(name, 1) for name in ("output_height", "output_width")]
    count = [cell * samples for cell in cells]
    require(regions[0] * prod(count) * x[1] <= _MOST_SAMPLES, "the samples are not too many")
    taps = [_region_taps(ctx, at, cells[at], samples, x[2 + at]) for at in (0, 1)]
    dims = [(regions[0], count[0], 1), (regions[0], 1, count[1])]
    ones = ctx.full((1, *count), 1, "ones")
    zeros = ctx.const(tables.zeros((1, *count)), DType.INT32, "zeros")
    places = [regions[0], prod(count), 1]
    spread = [
        [
            PixelTap(
                ctx.reshape(ctx.op("Add", ctx.reshape(tap.position, shape), zeros), places),
                ctx.reshape(ctx.op("Mul", ctx.reshape(tap.weight, shape), ones), places),
            )
            for tap in own_taps
        ]
        for own_taps, shape in zip(taps, dims, strict=True)
    ]
    image = ctx.cast(ctx.name(2), DType.INT32)
    lead = ctx.reshape(image, [regions[0], 1, 1])
    rows = pixel_rows(ctx, ctx.name(0), x)
    values = sampled(ctx, rows, x[2:], spread, lead, "Max" if largest else "Add")
    values = ctx.reshape(values, [regions[0], cells[0], samples, cells[1], samples, x[1]])
    join = "ReduceMax" if largest else "ReduceMean"
    values = ctx.reduce(join, values, [2, 4], keepdims=False)
    return ctx.transpose(values, [0, 3, 1, 2])


def _region_taps(ctx: RuleContext, at: int, cells: int, samples: int, size: int) -> list[PixelTap]:
    """Write the two pixels around each sample along one axis: regions x samples."""
    number = ctx.scalar
    scale = number(ctx.number("spatial_scale", 1.0))
    column = 1 - at
    first, last = (
        ctx.op("Mul", ctx.slice(ctx.name(1), 1, value, value + 1), scale)
        for value in (column, column + 2)
    )
    default = "half_pixel" if ctx.node.opset >= _WITH_HALF_PIXELS else "output_half_pixel"
    # A region begins half a pixel before its place.
    half = ctx.text("coordinate_transformation_mode", default) == "half_pixel"
    if half:
        first, last = (ctx.op("Sub", value, number(0.5)) for value in (first, last))
    bins = (tables.arange(cells * samples) + 0.5) / (cells * samples)
    length = ctx.op("Sub", last, first)
    length = length if half else ctx.op("Max", length, number(1))
    span = ctx.op("Mul", length, ctx.const(bins[None], ctx.element))
    place = ctx.op("Add", span, first)
    inside = ctx.op(
        "And",
        ctx.op("Not", ctx.op("Less", place, number(-1))),
        ctx.op("Not", ctx.op("Greater", place, number(size))),
    )
    held = ctx.op("Clip", place, number(0), number(size - 1))
    low = ctx.op("Floor", held)
    share = ctx.op("Sub", held, low)
    there = ctx.cast(inside, ctx.element)
    weights = [
        ctx.op("Mul", ctx.op("Sub", number(1), share), there),
        ctx.op("Mul", share, there),
    ]
    position = ctx.cast(low, DType.INT32)
    end = ctx.const(size - 1, DType.INT32, "end")
    start = ctx.const(0, DType.INT32, "start")
    following = ctx.op("Clip", shifted(ctx, position, 1), start, end)
    return [*map(PixelTap, (position, following), weights)]
