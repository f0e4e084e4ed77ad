"""Rules of Resize and Upsample."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.case import Fed, case
from atc_py.fix.context import RuleContext
from atc_py.fix.parts.windows import require_places, take
from atc_py.fix.rule import EQUAL, REORDERED, rule
from atc_py.fix.unfit import require, skip_unless
from atc_py.tensor.dtypes import DType
from atc_py.tensor.resampling import ResizedAxis

# Elements of a result of which a constant says whether they are taken from outside of X.
_MOST_OUTSIDE = 2**24

# Opset since which Resize has roi, sizes, modes of coordinates and of rounding; before, it has
# scales alone.
_WITH_MODES = 11


def _cubic(away: NDArray[np.float64], a: float) -> NDArray[np.float64]:
    """The weight of an element so far away (Keys 1981)."""
    near = ((a + 2) * away - (a + 3)) * away * away + 1
    far = ((a * away - 5 * a) * away + 8 * a) * away - 4 * a
    return np.where(away <= 1, near, np.where(away < 2, far, 0.0))  # noqa: PLR2004  (two taps)


def matrix(axis: ResizedAxis, ctx: RuleContext, mode: str) -> NDArray[np.float64]:
    cubic = ctx.text("mode", "nearest") == "cubic"
    a = ctx.number("cubic_coeff_a", -0.75)
    fine = min(float(axis.scale), 1.0) if ctx.integer("antialias", 0) else 1.0
    places = axis.coordinates(mode)
    reach = int(np.ceil((2 if cubic else 1) / fine))
    base = np.floor(places).astype(np.int64)
    taps = base[:, None] + tables.arange(1 - reach, reach + 1)
    away = np.abs(places.astype(np.float64)[:, None] - taps) * fine
    weights = _cubic(away, a) if cubic else np.clip(1 - away, 0, None)
    inside = (taps >= 0) & (taps < axis.size)
    if ctx.integer("exclude_outside", 0):
        weights = np.where(inside, weights, 0)
    weights = weights / weights.sum(axis=1, keepdims=True)
    values = tables.zeros((axis.count, axis.size))
    rows = np.broadcast_to(tables.arange(axis.count)[:, None], taps.shape)
    np.add.at(values, (rows, np.clip(taps, 0, axis.size - 1)), weights)
    values[axis.outside(mode)] = 0
    return values


def resized_axes(ctx: RuleContext) -> tuple[ResizedAxis, ...]:
    x = ctx.shape(0)
    regions = ctx.node.op_type == "Resize" and ctx.node.opset >= _WITH_MODES
    axes = [integer % len(x) for integer in ctx.integers("axes") or range(len(x))]
    found: Any
    tensor = ctx.tensor(3)
    if regions and tensor is not None and tensor.dims != (0,):
        counts, scales = _by_sizes(ctx, x, axes)
    else:
        if "scales" in ctx.node.attributes:
            found = ctx.node.attributes["scales"]
        else:
            found = ctx.constant(2 if regions else 1)
        scales = [np.float32(number) for number in np.asarray(found).reshape(-1)]
        pairs = zip(axes, scales, strict=True)
        counts = [int(np.float32(x[axis]) * scale) for axis, scale in pairs]
    require(min(counts) > 0, "the result has elements")
    changes = zip(axes, counts, scales, strict=True)
    require_places(count for at, count, scale in changes if count != x[at] or scale != 1)
    # onnxruntime copies X where scales change values but no dim; ONNX interpolates.
    copied = all(count == x[axis] for axis, count in zip(axes, counts, strict=True))
    plain = not copied or all(scale == 1 for scale in scales)
    require(plain, "a dim changes, or all scales are 1")
    region = np.tile([0.0, 1.0], (len(axes), 1)).T
    if ctx.text("coordinate_transformation_mode", "") == "tf_crop_and_resize":
        region = ctx.constant(1).reshape(2, len(axes)).astype(np.float64)
        cropped = any(
            count == x[axis] and (start, end) != (0, 1)
            for axis, count, start, end in zip(axes, counts, *region, strict=True)
        )
        require(not cropped, "no axis that keeps its length is cropped")
    resized = {
        axis: ResizedAxis(axis, x[axis], count, scale, float(start), float(end))
        for axis, count, scale, start, end in zip(axes, counts, scales, *region, strict=True)
    }
    kept = {at: ResizedAxis(at, size, size, np.float32(1)) for at, size in enumerate(x)}
    return tuple(resized.get(at, kept[at]) for at in range(len(x)))


def _by_sizes(
    ctx: RuleContext, x: Sequence[int], axes: Sequence[int]
) -> tuple[list[int], list[np.float32]]:
    sizes = [int(number) for number in ctx.constant(3).reshape(-1)]
    scales = [
        np.float32(size) / np.float32(x[axis]) for axis, size in zip(axes, sizes, strict=True)
    ]
    policy = ctx.text("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return sizes, scales
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [int(scale * np.float32(x[axis]) + np.float32(0.5)) for axis in axes], [scale] * len(
        axes
    )


def with_outside(ctx: RuleContext, y: str, axes: Sequence[ResizedAxis], mode: str) -> str:
    """Write the stated value where elements of the result are taken from outside of X."""
    changing = (axis for axis in axes if not axis.is_kept)
    parts = {axis.axis: axis.outside(mode) for axis in changing}
    parts = {axis: part for axis, part in parts.items() if part.any()}
    if not parts:
        return y
    size = prod(part.size for part in parts.values())
    require(size <= _MOST_OUTSIDE, "at most 2^24 elements are cropped")
    values = tables.zeros((1,) * len(axes), np.bool_)
    for axis, part in parts.items():
        values = values | part.reshape([-1 if at == axis else 1 for at in range(len(axes))])
    outside = ctx.const(values, DType.BOOL, "outside")
    value = ctx.scalar(ctx.number("extrapolation_value", 0.0))
    return ctx.op("Where", outside, value, y)


# Coordinates without a region that the lists have.
_MODES = frozenset(
    {"align_corners", "asymmetric", "half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn"}
)

# Attributes of opset 18, and what they are without effect.
_ADDED = {"antialias": 0, "axes": (), "keep_aspect_ratio_policy": "stretch"}

_IMAGES = 4


_SIZED = ([1, 2, 6, 7], None, None)
_LINEAR: dict[str, Any] = {"mode": "linear", "axes": [2, 3], "opset": 18}
_HALVES: dict[str, Any] = {"coordinate_transformation_mode": "half_pixel"}


@rule(
    REORDERED,
    case("Resize", *_SIZED, np.array([12, 9]), **_LINEAR, **_HALVES),
    miss=case("Resize", *_SIZED, np.array([4, 5]), **_LINEAR, antialias=1),
    boundary=case("Resize", *_SIZED, np.array([6, 8]), **_LINEAR, antialias=1, **_HALVES),
)
def resize_all_axes(ctx: RuleContext) -> Sequence[str]:
    """Resize with axes, keep_aspect_ratio_policy, or antialias where nothing shrinks -> Resize with
    sizes or scales for all axes, if dims, scales and sizes are known; mode nearest or linear; at
    most four axes; no region.
    """
    skip_unless(any(ctx.node.attributes.get(name, no) != no for name, no in _ADDED.items()))
    mode = ctx.text("coordinate_transformation_mode", "half_pixel")
    require(mode in _MODES, "the list has the coordinate mode", found=mode)
    kind = ctx.text("mode", "nearest")
    require(kind in {"nearest", "linear"}, "mode is nearest or linear", found=kind)
    ctx.floats(0, "X")
    axes = resized_axes(ctx)
    require(len(axes) <= _IMAGES, "X has at most four axes", found=len(axes))
    smooth = ctx.integer("antialias", 0) and any(axis.scale < 1 for axis in axes)
    require(not smooth, "no axis shrinks with antialias")
    sizes = [axis.count for axis in axes]
    even = all(np.float32(axis.count) / np.float32(axis.size) == axis.scale for axis in axes)
    without: dict[str, Any] = dict.fromkeys(_ADDED)
    empty = ctx.const([], DType.FLOAT32, "empty")
    if even:
        return ctx.again(ctx.name(0), empty, empty, ctx.const(sizes, label="sizes"), **without)
    whole = all(int(np.float32(axis.size) * axis.scale) == axis.count for axis in axes)
    require(whole, "the scales give the sizes")
    scales = ctx.const([axis.scale for axis in axes], DType.FLOAT32, "scales")
    return ctx.again(ctx.name(0), empty, scales, **without)


@rule(
    EQUAL,
    case("Upsample", [1, 2, 3, 4], np.array([1, 1, 2, 3], np.float32), mode="nearest", opset=9),
    operators="Resize Upsample",
    miss=case("Upsample", [1, 2, 3, 4], np.array([1, 1, 2, 3], np.float32), mode="linear", opset=9),
    boundary=case(
        "Resize",
        Fed((1, 1, 2, 3), DType.INT8),
        *(np.array(numbers, np.float32) for numbers in ([], [1, 1, 0.5, 1])),
        mode="nearest",
        opset=11,
    ),
    deviations=(
        "Resize/batch-and-channels-kept",
        "Resize/four-dims-only",
        "Resize/nearest-mode-ignored",
        "Resize/nearest-mode-ignored-half-pixel",
        "Resize/nearest-mode-ignored-ties-up",
    ),
    lists=True,
)
def resize_as_gather(ctx: RuleContext) -> str:
    """Resize to nearest elements in a form that is not listed; Upsample -> Gather along each axis;
    Where for elements outside of X, if mode nearest; dims, scales and sizes are known; no axis
    that changes gets more than 2^20 elements.
    """
    skip_unless(ctx.text("mode", "nearest") == "nearest")
    whole = not ctx.integer("exclude_outside", 0)  # of cubic interpolation
    require(whole, "no weight is excluded")
    mode, rounding = "asymmetric", "simple"
    if ctx.node.op_type == "Resize" and ctx.node.opset >= _WITH_MODES:
        mode = ctx.text("coordinate_transformation_mode", "half_pixel")
        rounding = ctx.text("nearest_mode", "round_prefer_floor")
    y = ctx.name(0)
    axes = resized_axes(ctx)
    for axis in axes:
        if axis.is_kept:
            continue
        y = take(ctx, y, axis.axis, axis.nearest(mode, rounding), axis.size)
    y = with_outside(ctx, y, axes, mode)
    return ctx.own(y)


# Elements of a matrix of weights at most.
_MOST = 2**24


@rule(
    REORDERED,
    case(
        "Resize",
        [1, 2, 6, 7],
        np.array([], np.float32),
        np.array([1, 1, 2, 0.7], np.float32),
        mode="cubic",
        **_HALVES,
        opset=11,
    ),
    operators="Resize Upsample",
    miss=case(
        "Upsample", [1, 2, 3, 4], np.array([1, 1, 2, 3], np.float32), mode="nearest", opset=9
    ),
    boundary=case(
        "Resize",
        [1, 1, 1, 4096],
        np.array([], np.float32),
        np.array([1, 1, 1, 0.9], np.float32),
        mode="cubic",
        **_HALVES,
        opset=11,
    ),
    deviations=(
        "Resize/batch-and-channels-kept-linear",
        "Resize/four-dims-only-linear",
        "Resize/linear-as-asymmetric",
        "Resize/linear-at-opset-10",
    ),
    lists=True,
    float16="weights and the result of each axis are rounded to 11 bits, sums are float32",
)
def resize_as_product(ctx: RuleContext) -> str:
    """Cubic Resize, linear Resize in a form that is not listed; linear Upsample -> MatMul with a
    constant matrix of weights for each axis that changes, if mode linear or cubic; dims, scales
    and sizes are known; X is float16 or float32.

    Weights are those of ONNX's definition: linear or cubic ones, stretched by antialias where an
    axis shrinks.
    """
    kind = ctx.text("mode", "nearest")
    skip_unless(kind in {"linear", "cubic"})
    ctx.floats(0, "X")
    mode = "asymmetric"
    if ctx.node.op_type == "Resize" and ctx.node.opset >= _WITH_MODES:
        mode = ctx.text("coordinate_transformation_mode", "half_pixel")
    axes = resized_axes(ctx)
    largest = max(axis.size * axis.count for axis in axes)
    require(largest <= _MOST, "a matrix has at most 2^24 weights")
    dims, y = [axis.size for axis in axes], ctx.name(0)
    for axis in sorted(axes, key=lambda axis: axis.count / axis.size):
        if axis.is_kept:
            continue
        y = _product(ctx, y, dims, axis, mode)
        dims[axis.axis] = axis.count
    if ctx.number("extrapolation_value", 0.0):  # rows of such elements are zeros
        y = with_outside(ctx, y, axes, mode)
    return ctx.own(y)


def _product(ctx: RuleContext, x: str, dims: Sequence[int], axis: ResizedAxis, mode: str) -> str:
    rows = matrix(axis, ctx, mode)
    at, rank = axis.axis, len(dims)
    if at == rank - 1:
        return ctx.op("MatMul", x, ctx.const(rows.T, ctx.element, "weights"))
    weights = ctx.const(rows, ctx.element, "weights")
    if at == rank - 2:
        return ctx.op("MatMul", weights, x)
    x = ctx.reshape(x, [prod(dims[:at]), axis.size, prod(dims[at + 1 :])])
    y = ctx.op("MatMul", weights, x)
    return ctx.reshape(y, [*dims[:at], axis.count, *dims[at + 1 :]])
