"""Places that the elements of a resized axis come from.

They are worked out when the model is written, in float32, so that rounding decides the same way for
every runtime where two elements are equally near; or in the run, where dims or roi are not known.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.ort.axes import Dim, shape_of_dims
from atc_py.device.ort.body import Body
from atc_py.tensor.dtypes import DType

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


_WIDE = DType.FLOAT64


@dataclass(frozen=True, slots=True)
class LateAxis:
    """One axis to resize."""

    body: Body  # the nodes so far
    number: int  # which one it is
    length: Dim  # its dim in x
    size: int | None  # its dim in the result; None where `scale` decides
    scale: np.float32 | None  # their ratio as the model gives it; None where `size` decides
    # names of float32 scalars, the first and last place to take; None without
    roi: tuple[str, str] | None

    def coordinates(self, mode: str) -> str:
        """Place of each result in x, as float64 [n]."""
        length, size, scale = self._numbers()
        place = self._places(size)
        half, one = self._number(0.5), self._number(1.0)
        last = self._op("Sub", length, one)
        if mode == "asymmetric":
            found = self._op("Div", place, scale)
        elif mode == "align_corners":
            steps = self._op("Max", self._op("Sub", size, one), one)
            found = self._op("Div", self._op("Mul", place, last), steps)
        elif mode == "tf_crop_and_resize":
            found = self._cropped(place, last, size)
        else:
            found = self._op("Div", self._op("Add", place, half), scale)
            if mode != "tf_half_pixel_for_nn":
                found = self._op("Sub", found, half)
            if mode == "pytorch_half_pixel":
                several = self._op("Greater", size, one)
                found = self._op("Where", several, found, self._number(0.0))
        if self.roi is None:  # an axis that keeps its dim is left alone
            found = self._op("Where", self._op("Equal", scale, one), place, found)
        return self.body.cast(found, _WIDE)

    def nearest(self, mode: str, nearest_mode: str) -> str:
        at, half = self.coordinates(mode), self.body.const(0.5, _WIDE)
        if nearest_mode == "round_prefer_ceil":
            at = self._op("Add", at, half)
        elif nearest_mode == "round_prefer_floor":
            at = self._op("Sub", at, half)
        down = nearest_mode in {"floor", "round_prefer_ceil"}
        return self._element(self._held(self._op("Floor" if down else "Ceil", at)))

    def between(self, mode: str) -> tuple[str, str, str]:
        """The two elements between which each result is, and the share of the second."""
        at = self._held(self.coordinates(mode))
        first = self._op("Floor", at)
        share = self._op("Sub", at, first)
        inside = self._op("Greater", share, self.body.const(0.0, _WIDE))
        following = self._op("Add", first, self.body.const(1.0, _WIDE))
        second = self._held(self._op("Where", inside, following, first))
        share = self._op("Where", inside, share, self.body.const(0.5, _WIDE))
        return self._element(first), self._element(second), share

    def outside(self, mode: str) -> str:
        at = self.coordinates(mode)
        before = self._op("Less", at, self.body.const(0.0, _WIDE))
        return self._op("Or", before, self._op("Greater", at, self._last()))

    def _op(self, op_type: str, *values: str) -> str:
        return self.body.add(op_type, *values)

    def _number(self, number: float) -> str:
        return self.body.const(number)

    def _numbers(self) -> tuple[str, str, str]:
        length = self.body.cast(self._length(), DType.FLOAT32)
        if self.scale is not None:
            scale = self.body.const(self.scale)
            whole = self.body.cast(self._op("Mul", length, scale), DType.INT64)
            return length, self.body.cast(whole, DType.FLOAT32), scale
        size = self._number(float(self.size or 0))
        return length, size, self._op("Div", size, self._op("Max", length, self._number(1.0)))

    def _length(self) -> str:
        return self._op("Squeeze", shape_of_dims(self.body, [self.length]))

    def _places(self, size: str) -> str:
        """0, 1, ... as float32."""
        count = self.body.cast(size, DType.INT64)
        zero, one = (self.body.const(number, DType.INT64) for number in (0, 1))
        return self.body.cast(self._op("Range", zero, count, one), DType.FLOAT32)

    def _cropped(self, place: str, last: str, size: str) -> str:
        start, end = self.roi or ("", "")
        one = self._number(1.0)
        middle = self._op("Mul", self._number(0.5), self._op("Add", start, end))
        middle = self._op("Mul", middle, last)
        first = self._op("Mul", start, last)
        steps = self._op("Max", self._op("Sub", size, one), one)
        along = self._op("Mul", self._op("Mul", place, self._op("Sub", end, start)), last)
        found = self._op("Add", first, self._op("Div", along, steps))
        return self._op("Where", self._op("Equal", size, one), middle, found)

    def _last(self) -> str:
        length = self.body.cast(self._length(), _WIDE)
        return self._op("Sub", length, self.body.const(1.0, _WIDE))

    def _held(self, at: str) -> str:
        return self._op("Max", self._op("Min", at, self._last()), self.body.const(0.0, _WIDE))

    def _element(self, at: str) -> str:
        return self.body.cast(at, DType.INT64)
