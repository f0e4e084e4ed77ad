"""Resize and Upsample, axis by axis: where each element of the result is in X, and the weights there.

Coordinates are float32, in the order of ONNX's formulas, as onnxruntime computes them: rounding decides
which element is the nearest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from atc_py.fix.site import Site

__all__ = ["ResizedAxis", "resized_axes", "with_outside"]

_WITH_REGION = 11
"""Opset since which Resize has roi and sizes; before, it has scales alone."""


@dataclass(frozen=True, slots=True)
class ResizedAxis:
    """One axis.

    Attributes:
        axis: its position.
        size: elements of X.
        count: elements of the result.
        scale: ratio of the two, as stated or as the sizes give it.
        start: begin of the region that tf_crop_and_resize takes, as a part of X.
        end: end of that region.
    """

    axis: int
    size: int
    count: int
    scale: np.float32
    start: float = 0.0
    end: float = 1.0

    @property
    def is_kept(self) -> bool:
        """True if the axis stays as it is."""
        return self.size == self.count and self.scale == 1

    def coordinates(self, mode: str) -> NDArray[np.float32]:
        """Return the place in X of each element of the result."""
        one, half = np.float32(1), np.float32(0.5)
        at = np.arange(self.count, dtype=np.float32)
        size, count = np.float32(self.size), np.float32(self.count)
        start, end = np.float32(self.start), np.float32(self.end)
        single = self.count == 1
        found: Any
        if mode == "asymmetric":
            found = at / self.scale
        elif mode == "tf_half_pixel_for_nn":
            found = (at + half) / self.scale
        elif mode == "align_corners":
            found = at if single else at * (size - one) / (count - one)
        elif mode == "tf_crop_and_resize" and single:
            found = half * (start + end) * (size - one) + at
        elif mode == "tf_crop_and_resize":
            found = start * (size - one) + at * (end - start) * (size - one) / (count - one)
        elif mode == "pytorch_half_pixel" and single:
            found = at
        elif mode == "half_pixel_symmetric":  # its sum alone is taken in float64
            offset = size / 2 * (one - count / (self.scale * size))
            found = float(offset) + (at.astype(np.float64) + 0.5) / float(self.scale) - 0.5
        else:
            found = (at + half) / self.scale - half
        return np.asarray(found, np.float32)

    def outside(self, mode: str) -> NDArray[np.bool_]:
        """Return True for elements of the result that are taken from outside of X."""
        found = self.coordinates(mode)
        crops = mode == "tf_crop_and_resize"
        return np.asarray(((found < 0) | (found > self.size - 1)) & crops)

    def nearest(self, mode: str, rounding: str) -> NDArray[np.int64]:
        """Return the position in X of each element of the result."""
        found = self.coordinates(mode)
        if rounding == "simple":
            near = np.ceil(found) if self.scale < 1 else np.floor(found)
        elif rounding == "floor":
            near = np.floor(found)
        elif rounding == "ceil":
            near = np.ceil(found)
        elif rounding == "round_prefer_ceil":
            near = np.floor(found + np.float32(0.5))
        else:
            near = np.ceil(found - np.float32(0.5))
        return np.asarray(np.clip(near, 0, self.size - 1).astype(np.int64))

    def matrix(self, site: Site, mode: str) -> NDArray[np.float64]:
        """Return the weight in each element of the result of each element of X."""
        cubic = site.text("mode", "nearest") == "cubic"
        a = site.number("cubic_coeff_a", -0.75)
        fine = min(float(self.scale), 1.0) if site.integer("antialias", 0) else 1.0
        places = self.coordinates(mode)
        reach = int(np.ceil((2 if cubic else 1) / fine))
        base = np.floor(places).astype(np.int64)
        taps = base[:, None] + np.arange(1 - reach, reach + 1)
        away = np.abs(places.astype(np.float64)[:, None] - taps) * fine
        weights = _cubic(away, a) if cubic else np.clip(1 - away, 0, None)
        inside = (taps >= 0) & (taps < self.size)
        if site.integer("exclude_outside", 0):
            weights = np.where(inside, weights, 0)
        weights = weights / weights.sum(axis=1, keepdims=True)
        found = np.zeros((self.count, self.size))
        rows = np.broadcast_to(np.arange(self.count)[:, None], taps.shape)
        np.add.at(found, (rows, np.clip(taps, 0, self.size - 1)), weights)
        found[self.outside(mode)] = 0
        return found


def _cubic(away: NDArray[np.float64], a: float) -> NDArray[np.float64]:
    """Return the weight of an element so far away (Keys 1981)."""
    near = ((a + 2) * away - (a + 3)) * away * away + 1
    far = ((a * away - 5 * a) * away + 8 * a) * away - 4 * a
    return np.where(away <= 1, near, np.where(away < 2, far, 0.0))  # noqa: PLR2004  (two taps)


def resized_axes(site: Site) -> tuple[ResizedAxis, ...]:
    """Return every axis of a Resize or an Upsample.

    Raises:
        UnfitError: dims, scales or sizes are not known.
    """
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
        scales = [np.float32(each) for each in np.asarray(found).reshape(-1)]
        pairs = zip(axes, scales, strict=True)
        counts = [int(np.float32(x[axis]) * scale) for axis, scale in pairs]
    require(min(counts) > 0, "the result has elements", "结果非空")
    _check_change(x, axes, counts, scales)
    region = np.tile([0.0, 1.0], (len(axes), 1)).T
    if site.text("coordinate_transformation_mode", "") == "tf_crop_and_resize":
        region = site.constant(1).reshape(2, len(axes)).astype(np.float64)
        cropped = any(
            count == x[axis] and (start, end) != (0, 1)
            for axis, count, start, end in zip(axes, counts, *region, strict=True)
        )
        require(not cropped, "no axis that keeps its length is cropped", "长度不变的轴不裁剪")
    resized = {
        axis: ResizedAxis(axis, x[axis], count, scale, float(start), float(end))
        for axis, count, scale, start, end in zip(axes, counts, scales, *region, strict=True)
    }
    kept = {at: ResizedAxis(at, size, size, np.float32(1)) for at, size in enumerate(x)}
    return tuple(resized.get(at, kept[at]) for at in range(len(x)))


def _check_change(
    x: Sequence[int], axes: Sequence[int], counts: Sequence[int], scales: Sequence[np.float32]
) -> None:
    """Refuse scales that change values but no dim: onnxruntime copies X then, ONNX interpolates."""
    copied = all(count == x[axis] for axis, count in zip(axes, counts, strict=True))
    plain = not copied or all(scale == 1 for scale in scales)
    require(plain, "a dim changes, or all scales are 1", "有轴长变化，或比例均为 1")


def _given(site: Site, position: int) -> bool:
    """Return True if an input is there and not empty."""
    found = site.tensor(position)
    return found is not None and found.dims != (0,)


def _by_sizes(
    site: Site, x: Sequence[int], axes: Sequence[int]
) -> tuple[list[int], list[np.float32]]:
    """Return the dims that the sizes and the policy give, and the scales."""
    sizes = [int(each) for each in site.constant(3).reshape(-1)]
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
    found = np.zeros((1,) * len(axes), np.bool_)
    for each in axes:
        if not each.is_kept:
            dims = [1] * len(axes)
            dims[each.axis] = each.count
            found = found | each.outside(mode).reshape(dims)
    if not found.any():
        return y
    outside = site.const(found, DType.BOOL, "outside")
    value = site.scalar(site.number("extrapolation_value", 0.0))
    return site.op("Where", [outside, value, y])
