"""Where the elements of a resized axis come from, worked out in the run: dims or roi are not known.

It is what `sampling` does, as nodes.
"""

from dataclasses import dataclass

import numpy as np

from atc_py.device.ort.body import Body
from atc_py.device.ort.dims import Dim, shape_of_dims
from atc_py.tensor.dtypes import DType

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
