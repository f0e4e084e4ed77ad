"""The axes of Resize and Upsample, and the weight of each element of X in each of the result."""

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.site import Site
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType
from atc_py.tensor.resampling import MOST_PLACES, ResizedAxis

# Elements of a result of which a constant says whether they are taken from outside of X.
_MOST_OUTSIDE = 2**24

# Opset since which Resize has roi and sizes; before, it has scales alone.
_WITH_REGION = 11


def _cubic(away: NDArray[np.float64], a: float) -> NDArray[np.float64]:
    """The weight of an element so far away (Keys 1981)."""
    near = ((a + 2) * away - (a + 3)) * away * away + 1
    far = ((a * away - 5 * a) * away + 8 * a) * away - 4 * a
    return np.where(away <= 1, near, np.where(away < 2, far, 0.0))  # noqa: PLR2004  (two taps)


def matrix(axis: ResizedAxis, site: Site, mode: str) -> NDArray[np.float64]:
    """The weight in each element of the result of each element of X, along one axis."""
    cubic = site.text("mode", "nearest") == "cubic"
    a = site.number("cubic_coeff_a", -0.75)
    fine = min(float(axis.scale), 1.0) if site.integer("antialias", 0) else 1.0
    places = axis.coordinates(mode)
    reach = int(np.ceil((2 if cubic else 1) / fine))
    base = np.floor(places).astype(np.int64)
    taps = base[:, None] + tables.arange(1 - reach, reach + 1)
    away = np.abs(places.astype(np.float64)[:, None] - taps) * fine
    weights = _cubic(away, a) if cubic else np.clip(1 - away, 0, None)
    inside = (taps >= 0) & (taps < axis.size)
    if site.integer("exclude_outside", 0):
        weights = np.where(inside, weights, 0)
    weights = weights / weights.sum(axis=1, keepdims=True)
    values = tables.zeros((axis.count, axis.size))
    rows = np.broadcast_to(tables.arange(axis.count)[:, None], taps.shape)
    np.add.at(values, (rows, np.clip(taps, 0, axis.size - 1)), weights)
    values[axis.outside(mode)] = 0
    return values


def resized_axes(site: Site) -> tuple[ResizedAxis, ...]:
    """Every axis of a Resize or an Upsample."""
    x = site.shape(0)
    regions = site.node.op_type == "Resize" and site.node.opset >= _WITH_REGION
    axes = [each % len(x) for each in site.integers("axes") or range(len(x))]
    found: Any
    if regions and _given(site, 3):
        counts, scales = _by_sizes(site, x, axes)
    else:
        if "scales" in site.node.attributes:
            found = site.node.attributes["scales"]
        else:
            found = site.constant(2 if regions else 1)
        scales = [np.float32(number) for number in np.asarray(found).reshape(-1)]
        pairs = zip(axes, scales, strict=True)
        counts = [int(np.float32(x[axis]) * scale) for axis, scale in pairs]
    require(min(counts) > 0, "the result has elements")
    changes = zip(axes, counts, scales, strict=True)
    require_places(count for at, count, scale in changes if count != x[at] or scale != 1)
    _check_change(x, axes, counts, scales)
    region = np.tile([0.0, 1.0], (len(axes), 1)).T
    if site.text("coordinate_transformation_mode", "") == "tf_crop_and_resize":
        region = site.constant(1).reshape(2, len(axes)).astype(np.float64)
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


def require_places(counts: Iterable[int]) -> None:
    """Refuse axes of results that are too long for their places to be worked out."""
    few = max(counts, default=0) <= MOST_PLACES
    require(few, "no axis that changes gets more than 2^20 elements")


def _check_change(
    x: Sequence[int], axes: Sequence[int], counts: Sequence[int], scales: Sequence[np.float32]
) -> None:
    """Refuse scales that change values but no dim: onnxruntime copies X then, ONNX interpolates."""
    copied = all(count == x[axis] for axis, count in zip(axes, counts, strict=True))
    plain = not copied or all(scale == 1 for scale in scales)
    require(plain, "a dim changes, or all scales are 1")


def _given(site: Site, position: int) -> bool:
    """True if an input is there and not empty."""
    tensor = site.tensor(position)
    return tensor is not None and tensor.dims != (0,)


def _by_sizes(
    site: Site, x: Sequence[int], axes: Sequence[int]
) -> tuple[list[int], list[np.float32]]:
    sizes = [int(number) for number in site.constant(3).reshape(-1)]
    scales = [
        np.float32(size) / np.float32(x[axis]) for axis, size in zip(axes, sizes, strict=True)
    ]
    policy = site.text("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return sizes, scales
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [int(scale * np.float32(x[axis]) + np.float32(0.5)) for axis in axes], [scale] * len(
        axes
    )


def with_outside(site: Site, y: str, axes: Sequence[ResizedAxis], mode: str) -> str:
    """Write the stated value where elements of the result are taken from outside of X."""
    changing = (each for each in axes if not each.is_kept)
    parts = {each.axis: each.outside(mode) for each in changing}
    parts = {axis: part for axis, part in parts.items() if part.any()}
    if not parts:
        return y
    size = prod(part.size for part in parts.values())
    require(size <= _MOST_OUTSIDE, "at most 2^24 elements are cropped")
    values = tables.zeros((1,) * len(axes), np.bool_)
    for axis, part in parts.items():
        values = values | part.reshape([-1 if at == axis else 1 for at in range(len(axes))])
    outside = site.const(values, DType.BOOL, "outside")
    value = site.scalar(site.number("extrapolation_value", 0.0))
    return site.op("Where", outside, value, y)
