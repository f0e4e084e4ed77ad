"""Resampling along one axis: the place in X of each element of the result, in ONNX and in CANN's kernels.

Coordinates are float32, in the order of the formulas, as onnxruntime and the kernels compute them:
rounding decides which element is the nearest.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

MOST_PLACES = 1 << 20
"""Elements of a result along an axis whose places are worked out; longer axes have no use."""


class ResizedAxis(msgspec.Struct, frozen=True):
    """One axis."""

    axis: int
    size: int  # elements of X
    count: int  # elements of the result
    scale: np.float32  # ratio of the two, as stated or as the sizes give it
    start: float = 0.0  # begin of the region that tf_crop_and_resize takes, as a part of X
    end: float = 1.0  # end of that region

    @property
    def is_kept(self) -> bool:
        return self.size == self.count and self.scale == 1

    def coordinates(self, mode: str) -> NDArray[np.float32]:
        """The place in X of each element of the result."""
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
        """True for elements of the result that are taken from outside of X."""
        found = self.coordinates(mode)
        crops = mode == "tf_crop_and_resize"
        return np.asarray(((found < 0) | (found > self.size - 1)) & crops)

    def nearest(self, mode: str, rounding: str) -> NDArray[np.int64]:
        """The position in X of each element of the result."""
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


RESIZES_TO_SIZE = ("ResizeBilinearV2", "ResizeNearestNeighborV2")
"""Operators of CANN that resize rows and columns to a size, with two flags for the places."""


def resize_modes(op: str, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes of a Resize, or those with which it does what `op` of CANN does by its flags."""
    if op not in RESIZES_TO_SIZE:
        return attributes
    linear, corners = "Bilinear" in op, attributes["align_corners"]
    shifted = "half_pixel" if linear else "tf_half_pixel_for_nn"
    places = shifted if attributes["half_pixel_centers"] else "asymmetric"
    return {
        "mode": "linear" if linear else "nearest",
        "coordinate_transformation_mode": "align_corners" if corners else places,
        "nearest_mode": "round_prefer_ceil" if corners else "floor",
    }


class KernelAxis(msgspec.Struct, frozen=True):
    """One axis as ResizeNearestNeighborV2 and ResizeBilinearV2 of CANN read it."""

    size: int  # elements of X
    count: int  # elements of the result
    # whether elements are places half a step from the edge (half_pixel_centers)
    halves: bool = False
    # whether the first and last elements of both stay where they are (align_corners)
    corners: bool = False
    upper: bool = False  # whether ties of `corners` go to the upper element; else to the even one

    @property
    def coordinates(self) -> NDArray[np.float32]:
        """Place in X of each element of the result, before linear interpolation subtracts a half."""
        ends = self.corners and self.count > 1
        step = (self.size - 1) / (self.count - 1) if ends else self.size / self.count
        at = np.arange(self.count, dtype=np.float32)
        return np.asarray((at + np.float32(0.5 if self.halves else 0)) * np.float32(step))

    @property
    def nearest(self) -> NDArray[np.int64]:
        """Position in X of each element of the result."""
        found = self.coordinates
        if not self.corners:
            found = np.floor(found)
        else:
            found = np.floor(found + np.float32(0.5)) if self.upper else np.rint(found)
        return np.asarray(np.minimum(found, self.size - 1).astype(np.int64))

    @property
    def linear(self) -> NDArray[np.float32]:
        """Place in X of each element of the result, between the first and the last one of X."""
        found = self.coordinates - np.float32(0.5 if self.halves else 0)
        return np.asarray(np.clip(found, 0, self.size - 1), np.float32)
