"""Rules of pools."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix.case import case
from atc_py.fix.context import RuleContext
from atc_py.fix.parts.windows import (
    IMAGES,
    LONGEST_ROW,
    MOST_PIECES,
    VOLUMES,
    mean_of_windows,
    pool_axes,
    require_room,
    share_of_counted,
)
from atc_py.fix.rule import BOUNDED, REORDERED, rule
from atc_py.fix.unfit import require, skip_unless


@rule(
    REORDERED,
    case("AveragePool", [1, 2, 2, 5000], kernel_shape=[2, 5000], opset=11),
    miss=case("AveragePool", [1, 2, 3, 5000], kernel_shape=[2, 299], opset=11),
    boundary=case(
        "AveragePool",
        [1, 2, 2, 5000],
        kernel_shape=[2, 5001],
        strides=[1, 2],
        ceil_mode=1,
        opset=11,
    ),
)
def average_as_global(ctx: RuleContext) -> str:
    """AveragePool whose only window covers the image and more -> GlobalAveragePool, if no pads; the
    window is at least as large as the image; ceil_mode or equal dims.
    """
    dims = ctx.shape(0)[2:]
    window = ctx.integers("kernel_shape")
    skip_unless(all(taps >= dim for taps, dim in zip(window, dims, strict=True)))
    larger = any(taps > dim for taps, dim in zip(window, dims, strict=True))
    require(not larger or ctx.integer("ceil_mode", 0), "dims are equal or ceil_mode is 1")
    require(not any(ctx.integers("pads")), "there are no pads")
    require(ctx.text("auto_pad", "NOTSET") == "NOTSET", "there are no automatic pads")
    require(all(axis.count == 1 for axis in pool_axes(ctx)), "Y is one pixel")
    return ctx.op("GlobalAveragePool", ctx.name(0))


@rule(
    REORDERED,
    case(
        "AveragePool",
        [1, 2, 9, 8],
        kernel_shape=[3, 2],
        dilations=[2, 3],
        pads=[1, 0, 2, 1],
        strides=[1, 2],
        opset=19,
    ),
    miss=case("AveragePool", [1, 2, 3, 5000], kernel_shape=[2, 3], opset=11),
    boundary=case("AveragePool", [1, 1, 3, 3], kernel_shape=[2, 2], dilations=[2, 2], opset=19),
)
def average_dilated_as_conv(ctx: RuleContext) -> str:
    """AveragePool with dilations -> Conv of each channel by itself, Mul where windows count fewer
    elements, if X is images of known dims.
    """
    x, axes = ctx.shape(0), pool_axes(ctx)
    require(len(x) == IMAGES, "X is images")
    ctx.floats(0, "X")
    skip_unless(any(axis.axis.dilation > 1 for axis in axes))
    pads = ctx.flag("count_include_pad", default=False)
    counts = [axis.counted(pads=pads) for axis in axes]
    require(min(count.min() for count in counts) > 0, "each window meets X")
    mean = mean_of_windows(ctx, ctx.name(0), axes, x[1])
    taps = float(np.prod([axis.axis.taps for axis in axes]))
    return _times_share(ctx, mean, taps / np.multiply.outer(*counts))


def _times_share(ctx: RuleContext, mean: str, share: NDArray[Any]) -> str:
    if (share == 1).all():
        return mean
    return ctx.op("Mul", mean, ctx.const(share, ctx.element, "share"))


_NORMS = {1: "ReduceL1", 2: "ReduceL2"}


@rule(
    REORDERED,
    case("GlobalLpPool", [2, 3, 4, 5], p=2),
    miss=case("LpPool", [2, 3, 4, 5], kernel_shape=[2, 2], opset=11),
    deviations="GlobalLpPool/odd-p-keeps-signs",
    lists=True,
    float16="powers above 65504 overflow",
)
def global_lp_pool_as_norm(ctx: RuleContext) -> str:
    """GlobalLpPool -> ReduceL1 or ReduceL2 over the pixels; for other p Abs, Pow, ReduceMean, Mul,
    Pow, if the rank is known; for other p the dims, and X is float32 or computed.
    """
    p, rank = ctx.integer("p", 2), len(ctx.dims(0))
    if p in _NORMS:
        return ctx.reduce(_NORMS[p], ctx.name(0), list(range(2, rank)))
    require_room(ctx)
    power = ctx.op("Pow", ctx.op("Abs", ctx.name(0)), ctx.scalar(p))
    mean = ctx.reduce("ReduceMean", power, list(range(2, rank)))
    total = ctx.times(mean, prod(ctx.shape(0)[2:]))
    return ctx.op("Pow", total, ctx.scalar(1 / p))


@rule(
    REORDERED,
    case("LpPool", [2, 3, 4, 5], kernel_shape=[2, 2], p=3, pads=[0, 1, 0, 1], opset=11),
    miss=case("LpPool", [2, 3, 7, 5, 4, 4], kernel_shape=[2, 2, 2, 2], opset=18),
    boundary=case("LpPool", [1, 1, 1, 1], kernel_shape=[2, 2], p=1, pads=[1, 1, 0, 0], opset=11),
    deviations="LpPool/odd-p-keeps-signs",
    lists=True,
    float16="powers above 65504 overflow",
)
def lp_pool_as_average(ctx: RuleContext) -> str:
    """LpPool -> Abs, Pow, AveragePool that counts pads, or Conv where the window is dilated, Mul,
    Pow, if X is images of known dims, float32 or computed.

    (mean of |x|^p times the size of the window)^(1/p).
    """
    x, axes = ctx.shape(0), pool_axes(ctx)
    require(len(x) == IMAGES, "X is images")
    require_room(ctx)
    p, window = ctx.integer("p", 2), [axis.axis.taps for axis in axes]
    power = ctx.op("Pow", ctx.op("Abs", ctx.name(0)), ctx.scalar(p))
    if any(axis.axis.dilation > 1 for axis in axes):
        mean = mean_of_windows(ctx, power, axes, x[1])
    else:
        attributes: dict[str, Any] = {
            "kernel_shape": window,
            "strides": [axis.axis.stride for axis in axes],
            "pads": [*(axis.axis.begin for axis in axes), *(axis.reach for axis in axes)],
            "count_include_pad": 1,
        }
        mean = ctx.op("AveragePool", power, **attributes)
    total = ctx.times(mean, float(np.prod(window)))
    return ctx.op("Pow", total, ctx.scalar(1 / p))


_PADS_AS_INPUT = 11


@rule(
    REORDERED,
    case(
        "AveragePool", [1, 2, 20, 21], kernel_shape=[16, 17], pads=[1, 2, 3, 0], opset=11, cann="5"
    ),
    operators="AveragePool MaxPool",
    miss=case(
        "AveragePool",
        [1, 2, 20, 21],
        kernel_shape=[16, 17],
        pads=[1, 2, 3, 0],
        count_include_pad=1,
        opset=11,
        cann="5",
    ),
    boundary=(
        case(
            "MaxPool", [1, 2, 20, 21], kernel_shape=[16, 16], pads=[1, 2, 3, 0], opset=11, cann="5"
        ),
        case(
            "AveragePool",
            [1, 2, 3, 70],
            kernel_shape=[1, 2],
            strides=[1, 64],
            pads=[0, 1, 0, 1],
            opset=11,
            cann="5",
        ),
    ),
    deviations="AveragePool/large-window-counts-padding MaxPool/large-window-pads-65504",
)
def pool_after_pad(ctx: RuleContext) -> Sequence[str]:
    """A pool with pads whose window has more than 255 elements, or a stride above 63 -> Pad with
    zeros, AveragePool, Mul by constants; or Pad with negative infinity, MaxPool, if dims are
    known; opset 11 or more; Indices are not used.
    """
    require(ctx.opset >= _PADS_AS_INPUT, "opset 11 or more")
    require(ctx.output(1) is None, "Indices are not used")
    ctx.floats(0, "X")
    axes = pool_axes(ctx)
    begins, ends = [axis.axis.begin for axis in axes], [axis.reach for axis in axes]
    skip_unless(any(begins) or any(ends))
    pads: Any = [0, 0, *begins, 0, 0, *ends]
    bare: dict[str, Any] = dict.fromkeys(("auto_pad", "ceil_mode", "pads", "count_include_pad"))
    if ctx.node.op_type == "MaxPool":
        least = ctx.const(float("-inf"), ctx.element, "least")
        padded = ctx.op("Pad", ctx.name(0), ctx.const(pads, label="pads"), least)
        return ctx.again(padded, **bare)
    (result,) = ctx.again(ctx.pad(ctx.name(0), pads), **bare)
    share = share_of_counted(axes, pads=ctx.flag("count_include_pad", default=False))
    return [_times_share(ctx, result, share)]


@rule(
    REORDERED,
    case(
        "MaxPool",
        [1, 2, 3, 9001],
        kernel_shape=[2, 5],
        strides=[1, 3],
        pads=[0, 2, 1, 2],
        ceil_mode=1,
        opset=12,
    ),
    operators="AveragePool MaxPool",
    miss=case("MaxPool", [1, 2, 3, 400], kernel_shape=[2, 5], dilations=[1, 2], opset=12),
    boundary=(
        case(
            "AveragePool",
            [1, 1, 2, 4097],
            kernel_shape=[2, 5],
            strides=[1, 3],
            pads=[0, 1, 0, 1],
            ceil_mode=1,
            count_include_pad=1,
            opset=19,
        ),
        case("AveragePool", [1, 1, 1, 4098], kernel_shape=[1, 4096], opset=12),
    ),
)
def pool_long_row(ctx: RuleContext) -> str:
    """A pool of images with rows longer than 4096 -> Slice into pieces that overlap, the pool of
    each, Concat, if dims are known; a window has at most 4096 elements in a row; at most 1024
    pieces; Indices are not used.
    """
    require(len(ctx.shape(0)) == IMAGES, "X is images")
    require(ctx.output(1) is None, "Indices are not used")
    height, width = pool_axes(ctx)
    axis = width.axis
    skip_unless(axis.size > LONGEST_ROW)
    skip_unless(axis.span <= LONGEST_ROW)
    most = (LONGEST_ROW - axis.span) // axis.stride + 1
    pieces = -(-width.count // most)
    require(pieces <= MOST_PIECES, "there are at most 1024 pieces", found=pieces)
    windows = -(-width.count // pieces)
    parts: list[str] = []
    for first in range(0, width.count, windows):
        last = min(first + windows, width.count) - 1
        start = first * axis.stride - axis.begin
        end = last * axis.stride - axis.begin + axis.span
        after = min(max(end - axis.size, 0), axis.end)
        pads = [height.axis.begin, max(-start, 0), height.axis.end, after]
        x = ctx.slice(ctx.name(0), 3, max(start, 0), min(end, axis.size))
        parts += ctx.again(x, pads=pads, auto_pad=None)
    return ctx.concat(parts, 3)


# Attributes with a number for each axis.
_OF_AXES = ("dilations", "kernel_shape", "strides")


@rule(
    REORDERED,
    case(
        "AveragePool",
        [1, 2, 5, 6, 7],
        kernel_shape=[2, 3, 3],
        strides=[1, 2, 2],
        pads=[1, 1, 0, 0, 1, 2],
        opset=11,
    ),
    operators="AveragePool LpPool MaxPool",
    miss=case("MaxPool", [1, 2, 6, 7, 8, 9], kernel_shape=[2, 2, 2, 2]),
    boundary=case(
        "MaxPool", [1, 2, 2, 4, 3], kernel_shape=[2, 3, 3], strides=[2, 3, 3], auto_pad="SAME_UPPER"
    ),
    float16="the result of the slices is rounded once more",
)
def pool_of_volumes(ctx: RuleContext) -> str:
    """A pool of volumes -> Reshape, the pool of the slices, Reshape, the pool along the depth,
    Reshape, if dims are known; Indices are not used.

    Largest values, norms and means (with the number of elements that count, a product over the
    axes) allow it.
    """
    x = ctx.shape(0)
    skip_unless(len(x) == VOLUMES)
    require(ctx.output(1) is None, "Indices are not used")
    depth, height, width = (axis.count for axis in pool_axes(ctx))
    slices = ctx.reshape(ctx.name(0), [x[0], x[1] * x[2], *x[3:]])
    (y,) = ctx.again(slices, **_of_axes(ctx, (1, 2)))
    y = ctx.reshape(y, [*x[:3], height * width])
    (y,) = ctx.again(y, **_of_axes(ctx, (0,)))
    return ctx.reshape(y, [*x[:2], depth, height, width])


def _of_axes(ctx: RuleContext, axes: Sequence[int]) -> dict[str, Any]:
    results: dict[str, Any] = {}
    fill = 2 - len(axes)
    for name in _OF_AXES:
        if ctx.integers(name):
            results[name] = [*(ctx.integers(name)[axis] for axis in axes), *([1] * fill)]
    pads = ctx.integers("pads")
    if pads:
        ends = [[pads[3 * end + axis] for axis in axes] + [0] * fill for end in (0, 1)]
        results["pads"] = [*ends[0], *ends[1]]
    return results


@rule(
    REORDERED,
    case("AveragePool", [1, 2, 6, 7], kernel_shape=[2, 3], auto_pad="SAME_LOWER", opset=11),
    operators="AveragePool LpPool MaxPool",
    miss=case("MaxPool", [1, 2, 6, 7], kernel_shape=[3, 3], auto_pad="SAME_LOWER", opset=12),
    boundary=case(
        "AveragePool",
        [1, 2, 3, 4],
        kernel_shape=[2, 3],
        strides=[2, 3],
        auto_pad="SAME_LOWER",
        opset=11,
    ),
    deviations=(
        "AveragePool/any-window-in-padding-kept",
        "AveragePool/large-window-valid",
        "AveragePool/same-lower-as-upper",
        "AveragePool/volume-same-dropped",
        "AveragePool/window-in-padding-kept",
        "LpPool/large-window-valid",
        "LpPool/same-lower-as-upper",
        "LpPool/volume-same-dropped",
        "MaxPool/large-window-valid",
        "MaxPool/same-lower-as-upper",
        "MaxPool/window-in-padding-kept",
    ),
)
def pool_pads_explicit(ctx: RuleContext) -> Sequence[str]:
    """A pool with auto_pad or ceil_mode -> the pool with explicit pads; where means count only some
    of these, Mul by constants, if dims are known; windows with SAME pads are not dilated, and no
    stride is above the window.
    """
    ceil = ctx.integer("ceil_mode", 0)
    skip_unless(ceil or ctx.text("auto_pad", "NOTSET") != "NOTSET")
    axes = pool_axes(ctx)
    begins = [axis.axis.begin for axis in axes]
    pads: Any = [*begins, *(axis.reach for axis in axes)]
    (result, *more) = ctx.again(
        ctx.name(0), count=ctx.output_count, auto_pad=None, ceil_mode=None, pads=pads
    )
    if not ctx.integer("count_include_pad", 0):
        return [result, *more]
    share = share_of_counted(axes, pads=True)
    if (share == 1).all():
        return [result]
    require(ctx.node.op_type == "AveragePool", "the pool takes means")
    return [ctx.op("Mul", result, ctx.const(share, ctx.element, "share"))]


# Elements of a piece at most.
_PIECE = 2048


@rule(
    BOUNDED,
    case("AveragePool", [1, 2, 2, 5003], kernel_shape=[2, 5000], opset=11),
    operators="AveragePool MaxPool",
    miss=case("AveragePool", [1, 1, 1, 5003], kernel_shape=[1, 5000], pads=[0, 1, 0, 1], opset=11),
    boundary=case("MaxPool", [1, 1, 1, 4098], kernel_shape=[1, 4097], opset=12),
    bound=1e-4,
    float16="the mean of each piece is rounded",
)
def pool_wide_window(ctx: RuleContext) -> str:
    """A pool whose window has more than 4096 elements in a row -> Slice and the pool of each piece;
    Max, or Mul by the share of the piece and Add, if dims are known; no pads along the row and
    no dilation; the last window is within it; Indices are not used.
    """
    require(len(ctx.shape(0)) == IMAGES, "X is images")
    require(ctx.output(1) is None, "Indices are not used")
    height, width = pool_axes(ctx)
    axis = width.axis
    skip_unless(axis.taps > LONGEST_ROW)
    bare = axis.dilation == 1 and not axis.begin and not axis.end and not width.reach
    require(bare, "there are no pads along the row and no dilation")
    total = ""
    for first in range(0, axis.taps, _PIECE):
        taps = min(_PIECE, axis.taps - first)
        size = (width.count - 1) * axis.stride + taps
        x = ctx.slice(ctx.name(0), 3, first, first + size)
        (part,) = ctx.again(
            x,
            kernel_shape=[height.axis.taps, taps],
            pads=[height.axis.begin, 0, height.axis.end, 0],
            auto_pad=None,
        )
        if ctx.node.op_type == "AveragePool":
            part = ctx.times(part, taps / axis.taps)
        joined = "Max" if ctx.node.op_type == "MaxPool" else "Add"
        total = ctx.add(total, part, op=joined)
    return total
