"""How far one array is from another, added up part by part and sample by sample."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.report.layers import Figures, Lost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atc_py.dtypes import DType

__all__ = ["Measure", "dtype_limit"]

_BLOCK = 16 * 1024
"""Elements at a time: the copies in float64 stay in the cache."""


class Measure:
    """Sums over pairs of arrays; `figures` makes numbers of them.

    Args:
        dtype: what the device holds the values in.
    """

    def __init__(self, dtype: DType) -> None:
        self._dtype = dtype
        self._limit = dtype_limit(dtype)
        self._count = self._finite = self._relative = 0
        self._nan = self._inf = self._differing = self._over = self._under = 0
        self._dot = self._found2 = self._wanted2 = self._error2 = 0.0
        self._error = self._ratio = self._max_error = self._max_ratio = 0.0
        self._over_value = self._under_value = 0.0
        self._lowest, self._highest = math.inf, -math.inf

    def add(self, found: NDArray[Any], wanted: NDArray[Any]) -> None:
        """Add a pair of arrays of one shape."""
        ours, theirs = found.reshape(-1), wanted.reshape(-1)
        for start in range(0, ours.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            with np.errstate(all="ignore"):
                self._add(ours[part].astype(np.float64), theirs[part].astype(np.float64))

    def figures(self) -> Figures:
        """The numbers so far."""
        share = 1 / max(self._count, 1)
        finite = max(self._finite, 1)
        return Figures(
            elements=self._count,
            cosine=self._cosine(),
            max_absolute=self._max_error,
            max_relative=self._max_ratio,
            mean_absolute=self._error / finite,
            mean_relative=self._ratio / max(self._relative, 1),
            rmse=math.sqrt(self._error2 / finite),
            distance=_ratio(math.sqrt(self._error2), math.sqrt(self._wanted2)),
            snr=self._snr(),
            nan=self._nan * share,
            inf=self._inf * share,
            differing=self._differing * share,
            lowest=self._lowest if self._lowest <= self._highest else math.nan,
            highest=self._highest if self._lowest <= self._highest else math.nan,
            limit=self._limit,
            overflow=Lost(self._over * share, self._over_value),
            underflow=Lost(self._under * share, self._under_value),
        )

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
        self._differing += int((~there & (found != wanted) & ~_both_nan(found, wanted)).sum())
        self._add_where_expected(found[there], wanted[there])

    def _add_where_expected(self, found: NDArray[np.float64], wanted: NDArray[np.float64]) -> None:
        """Add values of which the original's are finite."""
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

    def _add_overflow(self, found: NDArray[np.float64], wanted: NDArray[np.float64]) -> None:
        """Count what is infinite, NaN or held at the limit of a dtype too narrow for the value."""
        over = (np.abs(wanted) > self._limit) & ~(np.abs(found) < self._limit)
        self._over += int(over.sum())
        self._over_value = _larger(self._over_value, wanted[over])

    def _add_finite(self, found: NDArray[np.float64], wanted: NDArray[np.float64]) -> None:
        """Add what is finite on both sides."""
        if not found.size:
            return
        self._finite += found.size
        self._dot += float(found @ wanted)
        self._found2 += float(found @ found)
        self._wanted2 += float(wanted @ wanted)
        if self._dtype.is_float:
            zeros = found == 0
            if zeros.any():
                self._add_underflow(wanted[zeros])
        error = np.subtract(found, wanted, out=found)
        differing = int(np.count_nonzero(error))
        if not differing:
            self._relative += int(np.count_nonzero(wanted))
            return
        self._differing += differing
        self._error2 += float(error @ error)
        np.abs(error, out=error)
        self._error += float(error.sum())
        self._max_error = max(self._max_error, float(error.max()))
        self._add_ratios(error, np.abs(wanted, out=wanted))

    def _add_ratios(self, error: NDArray[np.float64], size: NDArray[np.float64]) -> None:
        """Add errors relative to what is not 0."""
        if not size.min():
            there = size > 0
            error, size = error[there], size[there]
        if size.size:
            ratio = np.divide(error, size, out=error)
            self._relative += ratio.size
            self._ratio += float(ratio.sum())
            self._max_ratio = max(self._max_ratio, float(ratio.max()))

    def _add_underflow(self, wanted: NDArray[np.float64]) -> None:
        """Count what became 0 and is not."""
        lost = wanted[wanted != 0]
        self._under += int(lost.size)
        self._under_value = _larger(self._under_value, lost)

    def _cosine(self) -> float:
        """Cosine of the angle; 1 for two vectors of zeros, NaN where nothing is finite."""
        if self._count and not self._finite:
            return math.nan
        if not self._found2 or not self._wanted2:
            return float(self._found2 == self._wanted2)
        cosine = self._dot / math.sqrt(self._found2) / math.sqrt(self._wanted2)
        return max(-1.0, min(1.0, cosine))

    def _snr(self) -> float:
        """Signal to noise in dB; infinite without noise."""
        if not self._error2:
            return math.inf
        return 10 * math.log10(self._wanted2 / self._error2) if self._wanted2 else -math.inf


def dtype_limit(dtype: DType) -> float:
    """The largest finite value of `dtype`."""
    if dtype.is_float:
        import ml_dtypes

        return float(ml_dtypes.finfo(dtype.numpy).max)  # type: ignore[no-untyped-call]
    return float(np.iinfo(dtype.numpy).max) if dtype.is_integer else 1.0


def _both_nan(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Where both are NaN."""
    found: NDArray[np.bool_] = np.isnan(a) & np.isnan(b)
    return found


def _ratio(error: float, size: float) -> float:
    """`error` over `size`; infinite for an error of nothing."""
    if not error:
        return 0.0
    return error / size if size else math.inf


def _larger(known: float, values: NDArray[np.float64]) -> float:
    """Of `known` and `values` the one of the largest magnitude."""
    if not values.size:
        return known
    largest = float(values[np.abs(values).argmax()])
    return largest if abs(largest) > abs(known) else known
