"""Sums of rows against float64, and their independence of where rows are cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.device.sim.primitives.blocks import ROWS_TOGETHER, summing
from tests.device.models import random_array
from tests.sampling import examples


@given(rows=st.integers(1, 60), length=st.integers(1, 3000), seed=st.integers(0, 99))
@examples(60)
def test_sums_of_floats_are_close(rows: int, length: int, seed: int) -> None:
    x, out = random_array(seed, (rows, length)), np.empty((rows, 1), np.float32)
    summing(x, out)()
    exact, magnitude = (each.sum(axis=1, dtype=np.float64) for each in (x, np.abs(x)))
    assert (np.abs(out[:, 0] - exact) <= 16 * np.finfo(np.float32).eps * magnitude).all()


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_sums_of_integers_wrap_around(dtype: type[np.integer]) -> None:
    most = np.iinfo(dtype).max
    x, out = np.full((3, 5), most, dtype), np.empty((3, 1), dtype)
    summing(x, out)()
    assert out[:, 0].tolist() == np.add.reduce(x, 1, dtype).tolist()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_in_its_row(odd: float) -> None:
    x, out = np.ones((4, 48), np.float32), np.empty((4, 1), np.float32)
    x[2, 7] = odd
    summing(x, out)()
    np.testing.assert_array_equal(out[:, 0], [48, 48, odd, 48])


@given(blocks=st.integers(1, 6), rest=st.integers(2, ROWS_TOGETHER), length=st.integers(2, 1024))
@examples(60)
def test_sums_do_not_depend_on_where_rows_are_cut(blocks: int, rest: int, length: int) -> None:
    x = random_array(blocks, (blocks * ROWS_TOGETHER + rest, length))
    whole, parts = (np.empty((len(x), 1), np.float32) for _ in range(2))
    summing(x, whole)()
    for start in range(0, blocks * ROWS_TOGETHER, ROWS_TOGETHER):
        stop = start + ROWS_TOGETHER
        summing(x[start:stop], parts[start:stop])()
    summing(x[blocks * ROWS_TOGETHER :], parts[blocks * ROWS_TOGETHER :])()
    np.testing.assert_array_equal(whole, parts)
