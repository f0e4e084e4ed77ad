"""Where the elements of a resized axis come from, worked out when the model is written.

Coordinates are worked out in float32, so that rounding decides the same way for every runtime where
two elements are equally near.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_HALF = np.float32(0.5)


@dataclass(frozen=True, slots=True)
class SampledAxis:
    """One axis to resize."""

    number: int  # which one it is
    length: int  # its dim in x
    resized: int  # its dim in the result
    scale: np.float32  # their ratio as the model gives it
    roi: tuple[float, float] = (0.0, 1.0)  # first and last place to take, as shares of the axis

    def coordinates(self, mode: str) -> NDArray[np.float32]:
        """Place of each result in x, by coordinate_transformation_mode."""
        place: Any = np.arange(self.resized, dtype=np.float32)
        last = np.float32(self.length - 1)
        if mode == "asymmetric":
            found = place / self.scale
        elif mode == "align_corners":
            found = place * last / np.float32(max(self.resized - 1, 1))
        elif mode == "tf_half_pixel_for_nn":
            found = (place + _HALF) / self.scale
        elif mode == "tf_crop_and_resize":
            found = self._cropped(place, last)
        elif mode == "pytorch_half_pixel" and self.resized == 1:
            found = np.zeros_like(place)
        else:
            found = (place + _HALF) / self.scale - _HALF
        return np.asarray(found, np.float32)

    def nearest(self, mode: str, nearest_mode: str) -> NDArray[np.int64]:
        at = self.coordinates(mode).astype(np.float64)
        if nearest_mode == "floor":
            found = np.floor(at)
        elif nearest_mode == "ceil":
            found = np.ceil(at)
        elif nearest_mode == "round_prefer_ceil":
            found = np.floor(at + 0.5)
        else:
            found = np.ceil(at - 0.5)
        return found.clip(0, self.length - 1).astype(np.int64)

    def between(
        self, mode: str
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The two elements between which each result is, and the share of the second.

        At an element both are it, in equal shares: 0 times an infinite neighbor would be NaN.
        """
        at = self.coordinates(mode).astype(np.float64).clip(0, self.length - 1)
        first = np.floor(at).astype(np.int64)
        share = at - first
        second = np.where(share > 0, np.minimum(first + 1, self.length - 1), first)
        return first, second, np.where(share > 0, share, 0.5)

    def outside(self, mode: str) -> NDArray[np.bool_]:
        at = self.coordinates(mode).astype(np.float64)
        return (at < 0) | (at > self.length - 1)

    def _cropped(self, place: Any, last: np.float32) -> Any:
        start, end = (np.float32(each) for each in self.roi)
        if self.resized == 1:
            return np.full_like(place, _HALF * (start + end) * last)
        return start * last + place * (end - start) * last / np.float32(self.resized - 1)
