"""Large arrays are drawn and compared in pieces: what that takes beside them is small."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from atc_py.compare.proof.result_gap import largest_gap, magnitude
from atc_py.pipeline.running.feeds import count_odd_values, random_array
from atc_py.tensor.dtypes import DType

COUNT = 2**22 + 3
BESIDE = 24 * 2**20


def peak(work: Callable[[], object]) -> int:
    """Return bytes that numpy took for work at most."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("dtype", [DType.INT8, DType.BOOL, DType.FLOAT16, DType.BFLOAT16])
def test_random_data_are_those_of_one_draw(dtype: DType) -> None:
    assert peak(lambda: random_array(dtype, (COUNT,), [3, 1])) < COUNT * dtype.itemsize + BESIDE / 2
    generator = np.random.default_rng([3, 1])
    if dtype.is_float:
        whole = generator.standard_normal(COUNT, dtype=np.float32).astype(dtype.numpy)
    else:
        whole = generator.integers(0, 2 if dtype is DType.BOOL else 16, COUNT).astype(dtype.numpy)
    np.testing.assert_array_equal(random_array(dtype, (COUNT,), [3, 1]), whole)


def test_differences_of_large_arrays() -> None:
    wanted = random_array(DType.FLOAT32, (COUNT,), [1])
    wanted[5], found = np.inf, wanted + 1
    found[-1] += 3
    most = float(np.abs(found[-1] - np.float64(wanted[-1])))
    assert largest_gap(found, wanted) == most
    assert magnitude(wanted) == float(np.abs(wanted[np.isfinite(wanted)]).max())
    assert count_odd_values(wanted) == 1
    found[7] = np.nan
    assert largest_gap(found, wanted) == np.inf
    works = (lambda: largest_gap(found, wanted), lambda: magnitude(wanted))
    assert max(map(peak, works)) < BESIDE
    assert peak(lambda: count_odd_values(wanted)) < 2**20
