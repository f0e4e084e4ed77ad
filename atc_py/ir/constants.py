"""Data of constants, read when it is needed and not before.

A compiled model may be larger than memory should be used for, so constants are descriptions of
arrays: in memory, in a file, one repeated value, or the result of arithmetic on other constants.
The package writer asks for one array at a time and releases it before the next.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from atc_py.tensor.const_data import ConstData
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape


class DenseConst:
    """An array in memory."""

    __slots__ = ("_array", "dtype", "shape")

    def __init__(self, array: npt.NDArray[np.generic]) -> None:
        self._array = array
        self.dtype = DType.from_numpy(array.dtype)
        self.shape: Shape = tuple(array.shape)

    def numpy(self) -> npt.NDArray[np.generic]:
        return self._array

    def release(self) -> None:
        """Do nothing: the array has no other home."""


class SplatConst(msgspec.Struct, eq=False):
    """One value repeated over a shape, however large; it takes no memory until it is read."""

    value: float
    dtype: DType
    shape: Shape

    def numpy(self) -> npt.NDArray[np.generic]:
        """A read-only array of `shape` whose elements share one place in memory."""
        with np.errstate(over="ignore"):
            element = np.array(self.value, dtype=self.dtype.numpy)
        return np.broadcast_to(element, self.shape)

    def release(self) -> None:
        """Do nothing: there is nothing to release."""


class DeferredConst:
    """The result of arithmetic on constants, computed each time it is read.

    Attributes:
        sources: constants that `compute` takes, in order.
        label: what the arithmetic is, for the text form.
    """

    __slots__ = ("_compute", "dtype", "label", "shape", "sources")

    def __init__(
        self,
        dtype: DType,
        shape: Shape,
        sources: Sequence[ConstData],
        compute: Callable[..., npt.NDArray[np.generic]],
        label: str,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.sources = tuple(sources)
        self._compute = compute
        self.label = label

    def numpy(self) -> npt.NDArray[np.generic]:
        """The computed array, which must have this constant's dtype and shape."""
        return self._checked(self._compute(*self._arrays()), self.shape)

    def _arrays(self) -> list[npt.NDArray[np.generic]]:
        return [source.numpy() for source in self.sources]

    def _checked(self, result: npt.NDArray[np.generic], shape: Shape) -> npt.NDArray[np.generic]:
        if tuple(result.shape) != shape or DType.from_numpy(result.dtype) is not self.dtype:
            raise ValueError(
                f"{self.label} gave {result.dtype.name}{list(result.shape)}, "
                f"promised {self.dtype.value}{list(shape)}"
            )
        return result

    def release(self) -> None:
        for source in self.sources:
            source.release()


def moved_const(
    data: ConstData,
    shape: Shape,
    move: Callable[[npt.NDArray[np.generic]], npt.NDArray[np.generic]],
    label: str,
) -> ConstData:
    """Elements of a constant at the places to which `move` brings them, in a tensor of `shape`."""
    if isinstance(data, SplatConst):
        return SplatConst(data.value, data.dtype, shape)
    if isinstance(data, OpaqueConst):
        return OpaqueConst(data.dtype, shape, data.label)
    return DeferredConst(data.dtype, shape, [data], move, label)


class RowwiseConst(DeferredConst):
    """The result of arithmetic that some rows can be computed of alone, to hold few at a time.

    A row is an element along the first axis.
    """

    __slots__ = ("_compute_rows",)

    def __init__(
        self,
        dtype: DType,
        shape: Shape,
        sources: Sequence[ConstData],
        compute: Callable[..., npt.NDArray[np.generic]],
        label: str,
    ) -> None:
        """Take what `compute` returns of the slice of rows and the sources."""
        super().__init__(dtype, shape, sources, partial(compute, slice(None)), label)
        self._compute_rows = compute

    def rows(self, first: int, end: int) -> npt.NDArray[np.generic]:
        result = self._compute_rows(slice(first, end), *self._arrays())
        return self._checked(result, (end - first, *self.shape[1:]))


class CastConst(msgspec.Struct, eq=False):
    """A constant in another dtype; with `clip`, floats are clamped to its finite range first.

    The clamp is ATC's `--is_weight_clip`, on by default, as CANN's graph engine has it (2026): what
    is beyond the limit of the narrower float becomes the limit, infinities like any other number.
    NaN stays NaN. The limit is 65504 for float16, the largest number for float32, and 3.38e38, a
    little less than its largest number, for bfloat16.
    """

    source: ConstData
    dtype: DType
    clip: bool = True

    @property
    def shape(self) -> Shape:
        return self.source.shape

    def numpy(self) -> npt.NDArray[np.generic]:
        """The cast array; one repeated value stays one value in memory."""
        if isinstance(self.source, SplatConst):
            scalar = SplatConst(self.source.value, self.source.dtype, ())
            return np.broadcast_to(self.cast(scalar.numpy()), self.shape)
        return self.cast(self.source.numpy())

    def cast(
        self, array: npt.NDArray[np.generic], into: npt.NDArray[np.generic] | None = None
    ) -> npt.NDArray[np.generic]:
        """Some of the source's data cast as all of it is, in `into` where that is given."""
        if self.clip and array.size and narrows(self.source.dtype, self.dtype):
            array = _clamped(array, CLIP_LIMITS[self.dtype])
        with np.errstate(over="ignore", invalid="ignore"):
            if into is None:
                return array.astype(self.dtype.numpy)
            np.copyto(into, array, casting="unsafe")
            return into

    def release(self) -> None:
        self.source.release()


class OpaqueConst(msgspec.Struct, eq=False):
    """Data that is elsewhere: what the parser makes of a constant printed without its values."""

    dtype: DType
    shape: Shape
    label: str

    def numpy(self) -> npt.NDArray[np.generic]:
        """Raise ValueError: the values were not printed."""
        raise ValueError(f"the values of this constant were not printed: {self.label}")

    def release(self) -> None:
        """Do nothing: there is nothing to release."""


def narrows(source: DType, target: DType) -> bool:
    """True if a cast makes floats narrower ones, so that their range may shrink."""
    return target.is_float and source.is_float and target.itemsize < source.itemsize


CLIP_LIMITS = {
    DType.FLOAT16: 65504.0,
    DType.BFLOAT16: 3.38e38,
    DType.FLOAT32: (2 - 2.0**-23) * 2.0**127,
}
"""What `--is_weight_clip` clamps to, by the narrower dtype."""


def _clamped(array: npt.NDArray[Any], limit: float) -> npt.NDArray[Any]:
    """`array` held between -`limit` and `limit`; NaN stays NaN."""
    if -limit <= array.min() and array.max() <= limit:
        return array
    bound = array.dtype.type(limit)
    clamped: npt.NDArray[Any] = np.clip(array, -bound, bound)
    return clamped
