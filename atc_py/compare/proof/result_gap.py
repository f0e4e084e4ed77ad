"""Largest difference between two values over several runs, and the elements that count."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.proof.region_data import ORDERING, is_float
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.tensor.sameness import same_elements

_AT_ONCE = 2**18
"""Elements that are in float64 at a time."""


@dataclass(slots=True)
class ResultGap:
    """Largest difference between two values over all runs."""

    gap: float = 0.0  # largest difference; infinite for other dims or dtypes
    scale: float = 0.0  # largest magnitude of the original over all runs
    differing: int = 0  # elements that are not the same
    elements: int = 0  # elements that were compared

    @property
    def error(self) -> float:
        """The largest difference as a part of the largest magnitude; 0 if nothing differs."""
        return self.gap / (self.scale or 1.0)

    def add(self, value: NDArray[Any], wanted: NDArray[Any]) -> None:
        """Compare one more pair; results of other dims or dtypes differ without bound."""
        self.elements += wanted.size
        self.scale = max(self.scale, magnitude(wanted))
        if value.shape != wanted.shape or value.dtype != wanted.dtype:
            self.differing += wanted.size
            self.gap = float("inf")
            return
        same = same_elements(value, wanted)
        self.differing += int(wanted.size - np.count_nonzero(same))
        self.gap = max(self.gap, _gap(value, wanted, same))


def largest_gap(value: NDArray[Any], wanted: NDArray[Any], *, finite: bool = True) -> float:
    """The largest difference of two results; infinite for other dims or dtypes.

    With `finite` elements are left out where `wanted` is infinite or NaN.
    """
    if value.shape != wanted.shape or value.dtype != wanted.dtype:
        return float("inf")
    same = same_elements(value, wanted)
    if finite and is_float(wanted.dtype):
        same |= ~np.isfinite(wanted)
    return _gap(value, wanted, same)


def magnitude(values: NDArray[Any]) -> float:
    """The largest magnitude among finite elements; 0 if there are none."""
    parts = (part for (part,) in in_float64(values))
    return max(
        (float(np.abs(part[np.isfinite(part)]).max(initial=0.0)) for part in parts), default=0.0
    )


def in_float64(*arrays: NDArray[Any]) -> Iterator[tuple[NDArray[np.float64], ...]]:
    """Yield the elements of arrays of one size in float64, so many at a time that they are small."""
    flat = [array.reshape(-1) for array in arrays]
    for start in range(0, flat[0].size, _AT_ONCE):
        yield tuple(each[start : start + _AT_ONCE].astype(np.float64) for each in flat)


def _gap(value: NDArray[Any], wanted: NDArray[Any], same: NDArray[np.bool_]) -> float:
    largest = 0.0
    for one, other, equal in () if same.all() else in_float64(value, wanted, same):
        with np.errstate(invalid="ignore"):
            gap = float(np.abs(one - other)[equal == 0].max(initial=0.0))
        # NaN is a number against none: no gap is wider.
        largest = max(largest, float("inf") if np.isnan(gap) else gap)
    return largest


_TERMS: Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "ReduceL1": np.abs,
    "ReduceL2": np.square,
    "ReduceSumSquare": np.square,
}
"""Reductions that add up what they compute of each element."""


def defined_elements(
    nodes: Sequence[OnnxNode], feeds: Mapping[str, NDArray[Any]], result: NDArray[Any]
) -> NDArray[np.bool_] | None:
    """True for the elements of a result that ONNX defines; None for all.

    A Cast of floats to integers is undefined beyond the range of these, and so is a reduction of
    integers whose terms add up beyond it: onnxruntime saturates, other engines wrap around. Where
    elements are put in order, none is defined if there is NaN among them. Random numbers are the
    engine's own.
    """
    if len(nodes) != 1:
        return None
    (node,) = nodes
    unordered = node.op_type in ORDERING and any(map(_has_nan, feeds.values()))
    if unordered or node.op_type.startswith("Random"):
        return np.zeros(result.shape, np.bool_)
    x = feeds.get(node.input_names[0]) if node.input_names else None
    if x is None or result.dtype.kind not in "iu":
        return None
    if node.op_type in _TERMS and x.dtype == result.dtype:
        return _sums_in_range(x, _TERMS[node.op_type], result)
    if node.op_type != "Cast" or x.dtype.kind != "f" or x.shape != result.shape:
        return None
    limits = np.iinfo(result.dtype)
    whole = np.trunc(x.astype(np.float64))
    return np.asarray((whole >= limits.min) & (whole <= limits.max))


def _has_nan(x: NDArray[Any]) -> bool:
    return is_float(x.dtype) and bool(np.isnan(x).any())


def _sums_in_range(
    x: NDArray[Any], term: Callable[[NDArray[Any]], NDArray[Any]], result: NDArray[Any]
) -> NDArray[np.bool_]:
    """The sums of terms that are in range: each by itself where none is added, else all or none."""
    terms, most = term(x.astype(np.float64)), np.iinfo(result.dtype).max
    if result.size == x.size:
        return np.asarray(terms.reshape(result.shape) <= most)
    return np.full(result.shape, bool(terms.sum() <= most))
