"""Rules of pools."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from atc_py.fix.case import case
from atc_py.fix.parts.windows import (
    LONGEST_ROW,
    MOST_PIECES,
    mean_of_windows,
    pool_axes,
    share_of_counted,
)
from atc_py.fix.registry import rule
from atc_py.fix.site import Site
from atc_py.fix.unfit import require, skip_unless
from atc_py.fix.writing import BOUNDED, REORDERED


@rule(
    "AveragePool",
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
def average_as_global(site: Site) -> str:
    """AveragePool whose only window has the image and more -> GlobalAveragePool, if no pads; the
    window has at least the dims of the image; ceil_mode or equal dims.
    """
    dims = site.shape(0)[2:]
    window = site.integers("kernel_shape")
    covers = all(taps >= dim for taps, dim in zip(window, dims, strict=True))
    require(covers, "the window has the image")
    larger = any(taps > dim for taps, dim in zip(window, dims, strict=True))
    require(not larger or site.integer("ceil_mode", 0), "dims are equal or ceil_mode is 1")
    require(not any(site.integers("pads")), "there are no pads")
    require(site.text("auto_pad", "NOTSET") == "NOTSET", "there are no automatic pads")
    require(all(axis.count == 1 for axis in pool_axes(site)), "Y is one pixel")
    return site.op("GlobalAveragePool", site.name(0))


_IMAGES = 4


@rule(
    "AveragePool",
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
def average_dilated_as_conv(site: Site) -> str:
    """AveragePool with dilations -> Conv of each channel by itself, Mul where windows count fewer
    elements, if X is images of known dims.
    """
    x, axes = site.shape(0), pool_axes(site)
    require(len(x) == _IMAGES, "X is images")
    site.floats(0, "X")
    dilated = any(axis.axis.dilation > 1 for axis in axes)
    require(dilated, "the window is dilated")
    pads = site.flag("count_include_pad", default=False)
    counts = [axis.counted(pads=pads) for axis in axes]
    require(min(count.min() for count in counts) > 0, "each window meets X")
    mean = mean_of_windows(site, site.name(0), axes, x[1])
    taps = float(np.prod([axis.axis.taps for axis in axes]))
    share = taps / np.multiply.outer(*counts)
    if (share == 1).all():
        return mean
    return site.op("Mul", mean, site.const(share, site.element, "share"))


_NORMS = {1: "ReduceL1", 2: "ReduceL2"}


@rule(
    "GlobalLpPool",
    REORDERED,
    case("GlobalLpPool", [2, 3, 4, 5], p=2),
    miss=case("LpPool", [2, 3, 4, 5], kernel_shape=[2, 2], opset=11),
    deviations="GlobalLpPool/odd-p-keeps-signs",
    lists=True,
    float16="powers above 65504 overflow",
)
def global_lp_pool_as_norm(site: Site) -> str:
    """GlobalLpPool -> ReduceL1 or ReduceL2 over the pixels; for other p Abs, Pow, ReduceMean, Mul,
    Pow, if the rank is known; for other p the dims.
    """
    p, rank = site.integer("p", 2), len(site.dims(0))
    if p in _NORMS:
        return site.reduce(_NORMS[p], site.name(0), list(range(2, rank)))
    power = site.op("Pow", site.op("Abs", site.name(0)), site.scalar(p))
    mean = site.reduce("ReduceMean", power, list(range(2, rank)))
    total = site.op("Mul", mean, site.scalar(prod(site.shape(0)[2:])))
    return site.op("Pow", total, site.scalar(1 / p))


@rule(
    "LpPool",
    REORDERED,
    case("LpPool", [2, 3, 4, 5], kernel_shape=[2, 2], p=3, pads=[0, 1, 0, 1], opset=11),
    miss=case("LpPool", [2, 3, 7, 5, 4, 4], kernel_shape=[2, 2, 2, 2], opset=18),
    float16="powers above 65504 overflow",
)
def lp_pool_as_average(site: Site) -> str:
    """LpPool -> Abs, Pow, AveragePool that counts pads, or Conv where the window is dilated, Mul,
    Pow, if X is images of known dims.

    (mean of |x|^p times the size of the window)^(1/p).
    """
    x, axes = site.shape(0), pool_axes(site)
    require(len(x) == _IMAGES, "X is images")
    p, window = site.integer("p", 2), [axis.axis.taps for axis in axes]
    power = site.op("Pow", site.op("Abs", site.name(0)), site.scalar(p))
    if any(axis.axis.dilation > 1 for axis in axes):
        mean = mean_of_windows(site, power, axes, x[1])
    else:
        attributes: dict[str, Any] = {
            "kernel_shape": window,
            "strides": [axis.axis.stride for axis in axes],
            "pads": [*(axis.axis.begin for axis in axes), *(axis.reach for axis in axes)],
            "count_include_pad": 1,
        }
        mean = site.op("AveragePool", power, **attributes)
    total = site.op("Mul", mean, site.scalar(float(np.prod(window))))
    return site.op("Pow", total, site.scalar(1 / p))


_PADS_AS_INPUT = 11


@rule(
    "AveragePool MaxPool",
    REORDERED,
    case("AveragePool", [1, 2, 20, 21], kernel_shape=[16, 17], pads=[1, 2, 3, 0], opset=11, cann=5),
    miss=case(
        "AveragePool",
        [1, 2, 20, 21],
        kernel_shape=[16, 17],
        pads=[1, 2, 3, 0],
        count_include_pad=1,
        opset=11,
        cann=5,
    ),
    boundary=(
        case("MaxPool", [1, 2, 20, 21], kernel_shape=[16, 16], pads=[1, 2, 3, 0], opset=11, cann=5),
        case(
            "AveragePool",
            [1, 2, 3, 70],
            kernel_shape=[1, 2],
            strides=[1, 64],
            pads=[0, 1, 0, 1],
            opset=11,
            cann=5,
        ),
    ),
    deviations="AveragePool/large-window-counts-padding MaxPool/large-window-pads-65504",
)
def pool_after_pad(site: Site) -> Sequence[str]:
    """A pool with pads whose window has more than 255 elements, or a stride above 63 -> Pad with
    zeros, AveragePool, Mul by constants; or Pad with negative infinity, MaxPool, if dims are
    known; opset 11 or more; Indices are not used.
    """
    require(site.opset >= _PADS_AS_INPUT, "opset 11 or more")
    require(site.output(1) is None, "Indices are not used")
    site.floats(0, "X")
    axes = pool_axes(site)
    begins, ends = [axis.axis.begin for axis in axes], [axis.reach for axis in axes]
    skip_unless(any(begins) or any(ends))
    pads: Any = [0, 0, *begins, 0, 0, *ends]
    bare: dict[str, Any] = dict.fromkeys(("auto_pad", "ceil_mode", "pads", "count_include_pad"))
    if site.node.op_type == "MaxPool":
        least = site.const(float("-inf"), site.element, "least")
        padded = site.op("Pad", site.name(0), site.const(pads, label="pads"), least)
        return site.again(padded, **bare)
    (found,) = site.again(site.pad(site.name(0), pads), **bare)
    share = share_of_counted(axes, pads=site.flag("count_include_pad", default=False))
    if (share == 1).all():
        return [found]
    return [site.op("Mul", found, site.const(share, site.element, "share"))]


@rule(
    "AveragePool MaxPool",
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
def pool_long_row(site: Site) -> str:
    """A pool of images with rows longer than 4096 -> Slice into pieces that overlap, the pool of
    each, Concat, if dims are known; a window has at most 4096 elements in a row; at most 1024
    pieces; Indices are not used.
    """
    require(len(site.shape(0)) == _IMAGES, "X is images")
    require(site.output(1) is None, "Indices are not used")
    height, width = pool_axes(site)
    axis = width.axis
    require(axis.size > LONGEST_ROW, "a row of X is longer than 4096")
    require(axis.span <= LONGEST_ROW, "a window fits a row")
    most = (LONGEST_ROW - axis.span) // axis.stride + 1
    pieces = -(-width.count // most)
    require(pieces <= MOST_PIECES, "there are at most 1024 pieces")
    each = -(-width.count // pieces)
    parts: list[str] = []
    for first in range(0, width.count, each):
        last = min(first + each, width.count) - 1
        start = first * axis.stride - axis.begin
        end = last * axis.stride - axis.begin + axis.span
        after = min(max(end - axis.size, 0), axis.end)
        pads = [height.axis.begin, max(-start, 0), height.axis.end, after]
        x = site.slice(site.name(0), 3, max(start, 0), min(end, axis.size))
        parts += site.again(x, pads=pads, auto_pad=None)
    return parts[0] if len(parts) == 1 else site.op("Concat", *parts, axis=3)


_VOLUMES = 5


# Attributes with a number for each axis.
_OF_AXES = ("dilations", "kernel_shape", "strides")


@rule(
    "AveragePool LpPool MaxPool",
    REORDERED,
    case(
        "AveragePool",
        [1, 2, 5, 6, 7],
        kernel_shape=[2, 3, 3],
        strides=[1, 2, 2],
        pads=[1, 1, 0, 0, 1, 2],
        opset=11,
    ),
    miss=case("MaxPool", [1, 2, 6, 7, 8, 9], kernel_shape=[2, 2, 2, 2]),
    float16="the result of the slices is rounded once more",
)
def pool_of_volumes(site: Site) -> str:
    """A pool of volumes -> Reshape, the pool of the slices, Reshape, the pool along the depth,
    Reshape, if dims are known; Indices are not used.

    Largest values, norms and means (with the number of elements that count, a product over the
    axes) allow it.
    """
    x = site.shape(0)
    require(len(x) == _VOLUMES, "X has rank 5")
    require(site.output(1) is None, "Indices are not used")
    depth, height, width = (axis.count for axis in pool_axes(site))
    slices = site.reshape(site.name(0), [x[0], x[1] * x[2], *x[3:]])
    (y,) = site.again(slices, **_of_axes(site, (1, 2)))
    y = site.reshape(y, [*x[:3], height * width])
    (y,) = site.again(y, **_of_axes(site, (0,)))
    return site.reshape(y, [*x[:2], depth, height, width])


def _of_axes(site: Site, axes: Sequence[int]) -> dict[str, Any]:
    results: dict[str, Any] = {}
    fill = 2 - len(axes)
    for name in _OF_AXES:
        if site.integers(name):
            results[name] = [*(site.integers(name)[axis] for axis in axes), *([1] * fill)]
    pads = site.integers("pads")
    if pads:
        ends = [[pads[3 * end + axis] for axis in axes] + [0] * fill for end in (0, 1)]
        results["pads"] = [*ends[0], *ends[1]]
    return results


@rule(
    "AveragePool LpPool MaxPool",
    REORDERED,
    case("AveragePool", [1, 2, 6, 7], kernel_shape=[2, 3], auto_pad="SAME_LOWER", opset=11),
    miss=case("MaxPool", [1, 2, 6, 7], kernel_shape=[3, 3], auto_pad="SAME_LOWER", opset=12),
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
def pool_pads_explicit(site: Site) -> Sequence[str]:
    """A pool with auto_pad or ceil_mode -> the pool with explicit pads; where means count only some
    of these, Mul by constants, if dims are known; windows with SAME pads are not dilated, and no
    stride is above the window.
    """
    ceil = site.integer("ceil_mode", 0)
    skip_unless(ceil or site.text("auto_pad", "NOTSET") != "NOTSET")
    axes = pool_axes(site)
    begins = [axis.axis.begin for axis in axes]
    pads: Any = [*begins, *(axis.reach for axis in axes)]
    (found, *more) = site.again(
        site.name(0), count=len(site.node.outputs), auto_pad=None, ceil_mode=None, pads=pads
    )
    if not site.integer("count_include_pad", 0):
        return [found, *more]
    share = share_of_counted(axes, pads=True)
    if (share == 1).all():
        return [found]
    require(site.node.op_type == "AveragePool", "the pool takes means")
    return [site.op("Mul", found, site.const(share, site.element, "share"))]


# Elements of a piece at most.
_PIECE = 2048


@rule(
    "AveragePool MaxPool",
    BOUNDED,
    case("AveragePool", [1, 2, 2, 5003], kernel_shape=[2, 5000], opset=11),
    miss=case("AveragePool", [1, 1, 1, 5003], kernel_shape=[1, 5000], pads=[0, 1, 0, 1], opset=11),
    boundary=case("MaxPool", [1, 1, 1, 4098], kernel_shape=[1, 4097], opset=12),
    bound=1e-4,
    float16="the mean of each piece is rounded",
)
def pool_wide_window(site: Site) -> str:
    """A pool whose window has more than 4096 elements in a row -> Slice and the pool of each piece;
    Max, or Mul by the share of the piece and Add, if dims are known; no pads along the row and
    no dilation; the last window is within it; Indices are not used.
    """
    require(len(site.shape(0)) == _IMAGES, "X is images")
    require(site.output(1) is None, "Indices are not used")
    height, width = pool_axes(site)
    axis = width.axis
    require(axis.taps > LONGEST_ROW, "the window is wider than a row")
    bare = axis.dilation == 1 and not axis.begin and not axis.end and not width.reach
    require(bare, "there are no pads along the row and no dilation")
    total = ""
    for first in range(0, axis.taps, _PIECE):
        taps = min(_PIECE, axis.taps - first)
        size = (width.count - 1) * axis.stride + taps
        x = site.slice(site.name(0), 3, first, first + size)
        (part,) = site.again(
            x,
            kernel_shape=[height.axis.taps, taps],
            pads=[height.axis.begin, 0, height.axis.end, 0],
            auto_pad=None,
        )
        if site.node.op_type == "AveragePool":
            part = site.op("Mul", part, site.scalar(taps / axis.taps))
        joined = "Max" if site.node.op_type == "MaxPool" else "Add"
        total = part if not total else site.op(joined, total, part)
    return total
