"""Values that no figure can say: NaN on both sides, and results of which nothing is finite."""

import math

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from atc_py.adapters.exec.gather import _output
from atc_py.adapters.exec.hybrid import add_comparison
from atc_py.adapters.exec.records import OutputSums
from atc_py.results.comparison import compare
from atc_py.tensor.sameness import best_places, same_elements

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("dtype", [np.float16, np.float64, ml_dtypes.bfloat16])
def test_nan_is_the_same_as_nan_and_nothing_else(dtype: npt.DTypeLike) -> None:
    one = np.array([NAN, NAN, INF, INF, 0.0, 1.0], dtype)
    other = np.array([NAN, 1.0, INF, -INF, -0.0, 2.0], dtype)
    assert same_elements(one, other).tolist() == [True, False, True, False, True, False]


def test_integers_and_flags_are_compared_as_they_are() -> None:
    assert same_elements(np.array([1, 2]), np.array([1, 3])).tolist() == [True, False]
    assert not same_elements(np.array(True), np.array(False))  # noqa: FBT003


def test_rows_without_a_best_element_have_no_place() -> None:
    rows = np.array([[1.0, 3.0], [NAN, 3.0], [INF, INF], [INF, 1.0]])
    assert best_places(rows).tolist() == [1, -1, -1, 0]


@pytest.mark.parametrize(
    ("ours", "theirs", "cosine", "same"),
    [
        ([[INF, INF]], [[2.0, 1.0]], 0.0, False),
        ([[INF, INF]], [[INF, INF]], 1.0, True),
        ([[1.0, 2.0]], [[NAN, NAN]], 0.0, True),
    ],
)
def test_result_without_finite_numbers_is_like_its_equal_alone(
    ours: list[list[float]], theirs: list[list[float]], cosine: float, *, same: bool
) -> None:
    found, wanted = np.array(ours, np.float32), np.array(theirs, np.float32)
    done = compare("y", found, wanted, 0.1)
    assert (done.cosine, done.same_argmax) == (cosine, same)
    sums: dict[str, OutputSums] = {}
    add_comparison(sums, "y", found, wanted)
    told = _output("y", sums["y"])
    assert (told.cosine, told.least_cosine) == (cosine, cosine)
    assert told.equal_argmax == (None if not np.isfinite(wanted).any() else 0.0)
