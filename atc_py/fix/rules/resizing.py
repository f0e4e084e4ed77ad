"""Rules of Resize and Upsample."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from atc_py.fix.case import case
from atc_py.fix.parts.resampling import matrix, resized_axes, with_outside
from atc_py.fix.parts.windows import take
from atc_py.fix.registry import rule
from atc_py.fix.site import Site
from atc_py.fix.unfit import require
from atc_py.fix.writing import EQUAL, REORDERED
from atc_py.tensor.dtypes import DType
from atc_py.tensor.resampling import ResizedAxis

# Coordinates without a region that the lists have.
_MODES = frozenset(
    {"align_corners", "asymmetric", "half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn"}
)

# Attributes of opset 18, and what they are without effect.
_ADDED = {"antialias": 0, "axes": (), "keep_aspect_ratio_policy": "stretch"}

_IMAGES = 4


@rule(
    "Resize",
    REORDERED,
    case(
        "Resize",
        [1, 2, 6, 7],
        None,
        None,
        np.array([12, 9]),
        mode="linear",
        axes=[2, 3],
        coordinate_transformation_mode="half_pixel",
        opset=18,
    ),
    miss=case(
        "Resize",
        [1, 2, 6, 7],
        None,
        None,
        np.array([4, 5]),
        mode="linear",
        axes=[2, 3],
        antialias=1,
        opset=18,
    ),
    boundary=case(
        "Resize",
        [1, 2, 6, 7],
        None,
        None,
        np.array([6, 8]),
        mode="linear",
        axes=[2, 3],
        antialias=1,
        coordinate_transformation_mode="half_pixel",
        opset=18,
    ),
)
def resize_all_axes(site: Site) -> Sequence[str]:
    """Resize with axes, keep_aspect_ratio_policy, or antialias where nothing shrinks -> Resize with
    sizes or scales for all axes, if dims, scales and sizes are known; mode nearest or linear; at
    most four axes; no region.
    """
    changed = any(site.node.attributes.get(each, no) != no for each, no in _ADDED.items())
    require(changed, "an attribute of opset 18 has an effect")
    mode = site.text("coordinate_transformation_mode", "half_pixel")
    require(mode in _MODES, "the list has the coordinates")
    kind = site.text("mode", "nearest")
    require(kind in {"nearest", "linear"}, "mode is nearest or linear")
    site.floats(0, "X")
    axes = resized_axes(site)
    require(len(axes) <= _IMAGES, "X has at most four axes")
    smooth = site.integer("antialias", 0) and any(axis.scale < 1 for axis in axes)
    require(not smooth, "no axis shrinks with antialias")
    sizes = [axis.count for axis in axes]
    even = all(np.float32(axis.count) / np.float32(axis.size) == axis.scale for axis in axes)
    without: dict[str, Any] = dict.fromkeys(_ADDED)
    empty = site.const([], DType.FLOAT32, "empty")
    if even:
        return site.again(site.name(0), empty, empty, site.const(sizes, label="sizes"), **without)
    whole = all(int(np.float32(axis.size) * axis.scale) == axis.count for axis in axes)
    require(whole, "the scales give the sizes")
    scales = site.const([axis.scale for axis in axes], DType.FLOAT32, "scales")
    return site.again(site.name(0), empty, scales, **without)


# Opset since which nearest_mode says how coordinates are rounded.
_WITH_ROUNDING = 11


@rule(
    "Resize Upsample",
    EQUAL,
    case("Upsample", [1, 2, 3, 4], np.array([1, 1, 2, 3], np.float32), mode="nearest", opset=9),
    miss=case("Upsample", [1, 2, 3, 4], np.array([1, 1, 2, 3], np.float32), mode="linear", opset=9),
    deviations=(
        "Resize/batch-and-channels-kept",
        "Resize/four-dims-only",
        "Resize/nearest-mode-ignored",
        "Resize/nearest-mode-ignored-half-pixel",
        "Resize/nearest-mode-ignored-ties-up",
    ),
    lists=True,
)
def resize_as_gather(site: Site) -> str:
    """Resize to nearest elements in a form that is not listed; Upsample -> Gather along each axis;
    Where for elements outside of X, if mode nearest; dims, scales and sizes are known; no axis
    that changes gets more than 2^20 elements.
    """
    require(site.text("mode", "nearest") == "nearest", "mode is nearest")
    whole = not site.integer("exclude_outside", 0)  # of cubic interpolation
    require(whole, "no weight is excluded")
    mode, rounding = "asymmetric", "simple"
    if site.node.op_type == "Resize" and site.node.opset >= _WITH_ROUNDING:
        mode = site.text("coordinate_transformation_mode", "half_pixel")
        rounding = site.text("nearest_mode", "round_prefer_floor")
    y = site.name(0)
    axes = resized_axes(site)
    for axis in axes:
        if axis.is_kept:
            continue
        y = take(site, y, axis.axis, axis.nearest(mode, rounding), axis.size)
    y = with_outside(site, y, axes, mode)
    return site.op("Identity", y) if y == site.name(0) else y


# Opset since which an attribute says how coordinates are transformed.
_WITH_MODES = 11

# Elements of a matrix of weights at most.
_MOST = 2**24


@rule(
    "Resize Upsample",
    REORDERED,
    case(
        "Resize",
        [1, 2, 6, 7],
        np.array([], np.float32),
        np.array([1, 1, 2, 0.7], np.float32),
        mode="cubic",
        coordinate_transformation_mode="half_pixel",
        opset=11,
    ),
    miss=case(
        "Upsample", [1, 2, 3, 4], np.array([1, 1, 2, 3], np.float32), mode="nearest", opset=9
    ),
    boundary=case(
        "Resize",
        [1, 1, 1, 4096],
        np.array([], np.float32),
        np.array([1, 1, 1, 0.9], np.float32),
        mode="cubic",
        coordinate_transformation_mode="half_pixel",
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
def resize_as_product(site: Site) -> str:
    """Cubic Resize, linear Resize in a form that is not listed; linear Upsample -> MatMul with a
    constant matrix of weights for each axis that changes, if mode linear or cubic; dims, scales
    and sizes are known; X is float16 or float32.

    Weights are those of ONNX's definition: linear or cubic ones, stretched by antialias where an
    axis shrinks.
    """
    kind = site.text("mode", "nearest")
    require(kind in {"linear", "cubic"}, "mode is linear or cubic")
    site.floats(0, "X")
    mode = "asymmetric"
    if site.node.op_type == "Resize" and site.node.opset >= _WITH_MODES:
        mode = site.text("coordinate_transformation_mode", "half_pixel")
    axes = resized_axes(site)
    largest = max(each.size * each.count for each in axes)
    require(largest <= _MOST, "a matrix has at most 2^24 weights")
    dims, y = [each.size for each in axes], site.name(0)
    for each in sorted(axes, key=lambda axis: axis.count / axis.size):
        if each.is_kept:
            continue
        y = _product(site, y, dims, each, mode)
        dims[each.axis] = each.count
    if site.number("extrapolation_value", 0.0):  # rows of such elements are zeros
        y = with_outside(site, y, axes, mode)
    return site.op("Identity", y) if y == site.name(0) else y


def _product(site: Site, x: str, dims: Sequence[int], axis: ResizedAxis, mode: str) -> str:
    """Write the product along one axis of `x`, which has `dims`."""
    rows = matrix(axis, site, mode)
    at, rank = axis.axis, len(dims)
    if at == rank - 1:
        return site.op("MatMul", x, site.const(rows.T, site.element, "weights"))
    weights = site.const(rows, site.element, "weights")
    if at == rank - 2:
        return site.op("MatMul", weights, x)
    x = site.reshape(x, [prod(dims[:at]), axis.size, prod(dims[at + 1 :])])
    y = site.op("MatMul", weights, x)
    return site.reshape(y, [*dims[:at], axis.count, *dims[at + 1 :]])
