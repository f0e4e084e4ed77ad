"""How far one array is from another, added up part by part and sample by sample.

Parts of float32 are computed in it, divided by a power of two where it could not hold the squares
of small numbers; all others in float64. Sums over parts are kept in float64. Where errors are small,
f.w and |f|^2 follow from |w|^2, e.w and |e|^2 (w being the original's values, f those found, e the
errors): the cosine then depends on the small numbers, which are known well, and not on how large ones
were rounded.

With a floor the errors are also taken less the floor, element by element and down to 0 at most: what
is left is what cosine, distance and SNR are judged by.
"""

from __future__ import annotations

import math
import threading
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.results.judgment import ErrorsBeyondFloor
from atc_py.results.layer import Figures, Lost
from atc_py.tensor.dtypes import DType
from atc_py.tensor.sameness import same_elements

_BLOCK = 128 * 1024
"""Elements at a time: the copies stay in the cache."""

_SINGLE = (2.0**-120, 1e15)
"""Bounds on the largest value of a part that is computed in float32; it may hold zeros alone."""

_SQUARED = 1e-8
"""Largest value of a part up to which it is divided, so that float32 holds the squares."""

_SMALL = 0.1
"""Share of the values' energy up to which that of the errors is small."""

_SUMS = (
    "_beyond2", "_beyond_dot", "_count", "_finite", "_relative", "_nan", "_inf", "_differing",
    "_over", "_under", "_dot", "_found2", "_wanted2", "_error2", "_error", "_ratio",
)  # fmt: skip
"""Fields of a measure that add up."""

_Reals: TypeAlias = "NDArray[np.float64] | NDArray[np.float32]"


class _Scratch(threading.local):
    """Memory of a thread for a block: taking it anew each time costs more than the arithmetic."""

    def __init__(self) -> None:
        self.flags = np.empty((2, _BLOCK), np.bool_)
        self._scaled = np.empty((2, _BLOCK), np.float32)
        self._single = np.empty((2, _BLOCK), np.float32)
        self._double = np.empty((2, _BLOCK), np.float64)

    def pair(self, like: _Reals) -> tuple[_Reals, _Reals]:
        """Two arrays of the dtype and length of `like`."""
        both = self._single if like.dtype == np.float32 else self._double
        return both[0, : like.size], both[1, : like.size]

    def scaled(
        self, found: NDArray[np.float32], wanted: NDArray[np.float32], by: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Two arrays of one length times `by`."""
        first, second = self._scaled[:, : found.size]
        factor = np.float32(by)
        return np.multiply(found, factor, out=first), np.multiply(wanted, factor, out=second)


class Measure:
    """Sums over pairs of arrays; `figures` makes numbers of them.

    Args:
        dtype: what the device holds the values in.
        floor: absolute errors up to here say nothing; see `floors`.
        zero: of quantized codes, the one that stands for 0; relative figures are those of the
            numbers that codes stand for.
    """

    _scratch = _Scratch()

    def __init__(self, dtype: DType, floor: float = 0.0, zero: int = 0) -> None:
        self._dtype = dtype
        self._floor = floor
        self._zero = zero
        self._least_normal = _least_normal(dtype)
        self._beyond2 = self._beyond_dot = 0.0
        self._limit = dtype_limit(dtype)
        # Two's complement holds one number more below 0.
        self._lowest_held = -self._limit - (not dtype.is_float)
        self._count = self._finite = self._relative = 0
        self._nan = self._inf = self._differing = self._over = self._under = 0
        self._dot = self._found2 = self._wanted2 = self._error2 = 0.0
        self._error = self._ratio = self._max_error = self._max_ratio = 0.0
        self._over_value = self._under_value = 0.0
        self._lowest, self._highest = math.inf, -math.inf

    def add(self, found: NDArray[Any], wanted: NDArray[Any]) -> None:
        """Add a pair of arrays of one shape."""
        ours, theirs = found.reshape(-1), wanted.reshape(-1)
        single = ours.dtype == theirs.dtype == np.float32 and self._dtype.is_float
        with np.errstate(all="ignore"):
            for start in range(0, ours.size, _BLOCK):
                part = slice(start, start + _BLOCK)
                if not (single and self._add_single(ours[part], theirs[part])):
                    self._add(ours[part].astype(np.float64), theirs[part].astype(np.float64))

    def merge(self, other: Measure) -> None:
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("_max_error", "_max_ratio", "_highest"):
            setattr(self, name, max(getattr(self, name), getattr(other, name)))
        self._lowest = min(self._lowest, other._lowest)
        for name in ("_over_value", "_under_value"):
            setattr(self, name, max(getattr(self, name), getattr(other, name), key=abs))

    def figures(self) -> Figures:
        share = 1 / max(self._count, 1)
        # Sums over nothing say nothing.
        finite = math.nan if self._count and not self._finite else max(self._finite, 1)
        known = finite / finite
        return Figures(
            elements=self._count,
            cosine=self._cosine(self._dot, self._found2),
            max_absolute=self._max_error * known,
            max_relative=self._max_ratio * known,
            mean_absolute=self._error / finite,
            mean_relative=self._ratio / max(self._relative, 1) * known,
            rmse=math.sqrt(self._error2 / finite),
            distance=_ratio(math.sqrt(self._error2), math.sqrt(self._wanted2)) * known,
            snr=self._snr(self._error2) * known,
            nan=self._nan * share,
            inf=self._inf * share,
            differing=self._differing * share,
            magnitude=math.sqrt(self._wanted2 / max(self._finite, 1)),
            lowest=self._lowest if self._lowest <= self._highest else math.nan,
            highest=self._highest if self._lowest <= self._highest else math.nan,
            limit=self._limit,
            overflow=Lost(self._over * share, self._over_value),
            underflow=Lost(self._under * share, self._under_value),
            beyond=self._figures_beyond_floor() if self._floor else None,
        )

    def _figures_beyond_floor(self) -> ErrorsBeyondFloor:
        """The figures of the errors after the floor is subtracted."""
        found2 = self._wanted2 + 2 * self._beyond_dot + self._beyond2
        return ErrorsBeyondFloor(
            floor=self._floor,
            cosine=self._cosine(self._wanted2 + self._beyond_dot, found2),
            distance=_ratio(math.sqrt(self._beyond2), math.sqrt(self._wanted2)),
            snr=self._snr(self._beyond2),
        )

    def _add_single(self, found: NDArray[np.float32], wanted: NDArray[np.float32]) -> bool:
        """Add a block in float32; False where float64 has to do it."""
        low, high = float(wanted.min()), float(wanted.max())
        largest = max(high, -low)
        # NaN makes every comparison false.
        if not (low > -_SINGLE[1] and high < _SINGLE[1] and (largest > _SINGLE[0] or not largest)):
            return False
        unit, ours, theirs = 1.0, found, wanted
        if 0 < largest <= _SQUARED:
            unit = 2.0 ** math.frexp(largest)[1]
            ours, theirs = self._scratch.scaled(found, wanted, 1 / unit)
        error = np.subtract(ours, theirs, out=self._scratch.pair(wanted)[0])
        error2 = float(error @ error)
        if not error2 < _SINGLE[1] ** 2 or (not largest and error.any()):
            return False
        self._count += found.size
        self._lowest, self._highest = min(self._lowest, low), max(self._highest, high)
        if largest > self._limit:
            self._add_overflow(found, wanted)
        self._add_errors(ours, theirs, error, error2, unit)
        return True

    def _add(self, found: NDArray[np.float64], wanted: NDArray[np.float64]) -> None:
        """Add a block; the common case, all finite, takes no masks."""
        self._count += found.size
        low, high = float(wanted.min()), float(wanted.max())
        if math.isfinite(low) and math.isfinite(high) and np.isfinite(found).all():
            self._lowest, self._highest = min(self._lowest, low), max(self._highest, high)
            if max(high, -low) > self._limit:
                self._add_overflow(found, wanted)
            self._add_finite(found, wanted)
            return
        there = np.isfinite(wanted)
        self._differing += int((~there & ~same_elements(found, wanted)).sum())
        self._add_where_expected(found[there], wanted[there])

    def _add_where_expected(self, found: NDArray[np.float64], wanted: NDArray[np.float64]) -> None:
        if not found.size:
            return
        self._lowest = min(self._lowest, float(wanted.min()))
        self._highest = max(self._highest, float(wanted.max()))
        self._add_overflow(found, wanted)
        nan, inf = int(np.isnan(found).sum()), int(np.isinf(found).sum())
        self._nan += nan
        self._inf += inf
        self._differing += nan + inf
        sound = np.isfinite(found)
        self._add_finite(found[sound], wanted[sound])

    def _add_overflow(self, found: _Reals, wanted: _Reals) -> None:
        """Count what is infinite, NaN or held at the limit of a dtype too narrow for the value."""
        beyond = (wanted > self._limit) | (wanted < self._lowest_held)
        over = beyond & ~(np.abs(found) < self._limit)
        self._over += int(over.sum())
        self._over_value = _larger_magnitude(self._over_value, wanted[over])

    def _add_finite(self, found: NDArray[np.float64], wanted: NDArray[np.float64]) -> None:
        if found.size:
            error = np.subtract(found, wanted, out=self._scratch.pair(wanted)[0])
            self._add_errors(found, wanted, error, float(error @ error))

    def _add_errors(
        self, found: _Reals, wanted: _Reals, error: _Reals, error2: float, unit: float = 1.0
    ) -> None:
        """Add finite values and their errors, divided by `unit`; the errors are overwritten.

        `error2` is the sum of the errors' squares.
        """
        if self._zero:
            found, wanted = found - self._zero, wanted - self._zero
        self._finite += found.size
        square = unit * unit
        wanted2 = float(wanted @ wanted) * square
        self._wanted2 += wanted2
        flags, size = self._scratch.flags[0, : found.size], self._scratch.pair(found)[1]
        if self._dtype.is_float and np.equal(found, 0, out=flags).any():
            self._add_underflow(wanted, flags, unit)
        differing = int(np.count_nonzero(np.not_equal(error, 0, out=flags)))
        if not differing:
            self._relative += int(np.count_nonzero(np.not_equal(wanted, 0, out=flags)))
            self._dot += wanted2
            self._found2 += wanted2
            return
        self._differing += differing
        if self._floor:
            floor = self._floor / unit
            beyond = np.subtract(error, np.clip(error, -floor, floor, out=size), out=size)
            self._beyond2 += float(beyond @ beyond) * square
            self._beyond_dot += float(beyond @ wanted) * square
        error2 *= square
        self._error2 += error2
        if error2 < _SMALL * wanted2:
            cross = float(error @ wanted) * square
            self._dot += wanted2 + cross
            self._found2 += wanted2 + 2 * cross + error2
        else:
            self._dot += float(found @ wanted) * square
            self._found2 += float(found @ found) * square
        np.abs(error, out=error)
        self._error += float(error.sum()) * unit
        self._max_error = max(self._max_error, float(error.max()) * unit)
        self._add_ratios(error, np.abs(wanted, out=size))

    def _add_ratios(self, error: _Reals, size: _Reals) -> None:
        """Add errors relative to values other than 0; both arrays are overwritten."""
        ratio, count = np.divide(error, size, out=error), size.size
        largest = float(ratio.max())
        if not math.isfinite(largest):
            # Divisions by 0 become 0: choosing elements one by one takes ten times as long.
            there = np.not_equal(size, 0, out=self._scratch.flags[0, : size.size])
            count = int(np.count_nonzero(there))
            bits, kept = (each.view(f"i{ratio.itemsize}") for each in (ratio, size))
            np.copyto(kept, there)
            bits &= np.negative(kept, out=kept)
            largest = float(ratio.max())
        if not math.isfinite(largest):  # of a number next to 0
            sound = ratio[np.isfinite(ratio)]
            count -= ratio.size - sound.size
            ratio, largest = sound, float(sound.max(initial=0.0))
        self._relative += count
        self._ratio += float(ratio.sum())
        self._max_ratio = max(self._max_ratio, largest)

    def _add_underflow(self, wanted: _Reals, zeros: NDArray[np.bool_], unit: float) -> None:
        """Count what became 0 and is too small for the dtype's normal numbers."""
        lost = self._scratch.flags[1, : wanted.size]
        size = np.abs(wanted, out=self._scratch.pair(wanted)[1])
        np.logical_and(np.less(size, self._least_normal / unit, out=lost), zeros, out=lost)
        np.logical_and(np.not_equal(wanted, 0, out=zeros), lost, out=lost)
        count = int(np.count_nonzero(lost))
        if count:
            self._under += count
            largest = float(wanted[np.multiply(size, lost, out=size).argmax()]) * unit
            if abs(largest) > abs(self._under_value):
                self._under_value = largest

    def _cosine(self, dot: float, found2: float) -> float:
        """Cosine of the angle; 1 for two vectors of zeros, NaN where nothing is finite."""
        if self._count and not self._finite:
            return math.nan
        if dot == found2 == self._wanted2:
            return 1.0  # the divisions below round
        if not found2 > 0 or not self._wanted2:
            return float(found2 <= 0 and not self._wanted2)
        cosine = dot / math.sqrt(found2) / math.sqrt(self._wanted2)
        return max(-1.0, min(1.0, cosine))

    def _snr(self, error2: float) -> float:
        """Signal to noise in dB; infinite without noise."""
        if not error2:
            return math.inf
        return 10 * math.log10(self._wanted2 / error2) if self._wanted2 else -math.inf


def dtype_limit(dtype: DType) -> float:
    if dtype.is_float:
        import ml_dtypes

        return float(ml_dtypes.finfo(dtype.numpy).max)  # type: ignore[no-untyped-call]
    if not dtype.is_integer:
        return 1.0
    return float(2 ** (dtype.bits - (not dtype.value.startswith("u"))) - 1)


def _least_normal(dtype: DType) -> float:
    if not dtype.is_float:
        return 0.0
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype.numpy).smallest_normal)  # type: ignore[no-untyped-call]


def _ratio(error: float, size: float) -> float:
    """`error` over `size`; infinite for an error of nothing."""
    if not error:
        return 0.0
    return error / size if size else math.inf


def _larger_magnitude(known: float, values: _Reals) -> float:
    if not values.size:
        return known
    largest = float(values[np.abs(values).argmax()])
    return largest if abs(largest) > abs(known) else known
