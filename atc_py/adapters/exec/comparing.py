"""Comparison of two results of a run, added up over runs."""

import numpy as np
import numpy.typing as npt

from atc_py.adapters.exec.records import OutputSums, cosine
from atc_py.tensor.sameness import best_places, same_elements

_PAIR = 2
"""Elements along the last axis from which an argmax says something."""


def add_comparison(outputs: dict[str, OutputSums], name: str, ours: object, theirs: object) -> None:
    """Add one output of one run; what is not an array of numbers is counted, not compared."""
    a, b = np.asarray(ours), np.asarray(theirs)
    sums = outputs.setdefault(name, OutputSums(a.dtype.name, b.dtype.name))
    sums.npu_dtype, sums.dtype = a.dtype.name, b.dtype.name
    sums.runs += 1
    if a.shape != b.shape or b.dtype.kind not in "biufV" or isinstance(theirs, list | dict):
        sums.other_shapes += 1
        return
    _add_values(sums, a.astype(np.float64), b.astype(np.float64))


def _add_values(
    sums: OutputSums, ours: npt.NDArray[np.float64], theirs: npt.NDArray[np.float64]
) -> None:
    same = same_elements(ours, theirs)
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(ours - theirs))
    largest = float(np.nan_to_num(error, nan=np.inf, posinf=np.inf).max(initial=0.0))
    sums.largest_error = max(sums.largest_error, largest)
    finite = np.isfinite(ours) & np.isfinite(theirs)
    a, b = ours[finite], theirs[finite]
    product, npu_square, square = float(a @ b), float(a @ a), float(b @ b)
    sums.product += product
    sums.npu_square += npu_square
    sums.square += square
    known = bool(finite.any()) or bool(same.all())
    here = cosine(product, npu_square, square) if known else 0.0
    sums.least_cosine = min(sums.least_cosine, here)
    if theirs.ndim and theirs.shape[-1] >= _PAIR and theirs.size:
        best = best_places(theirs)
        sums.rows += int(np.count_nonzero(best >= 0))
        sums.equal_rows += int(np.count_nonzero((best >= 0) & (best_places(ours) == best)))
