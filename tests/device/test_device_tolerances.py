"""The table of tolerances itself: what is wrong must fail."""

import numpy as np
import pytest

from atc_py.tensor.dtypes import DType
from tests.device.models import random_array
from tests.device.tolerances import TOLERANCES, assert_close

FLOATS = [pytest.param(dtype, id=dtype.value) for dtype in TOLERANCES]


def test_table_covers_every_float_dtype() -> None:
    assert set(TOLERANCES) == {dtype for dtype in DType if dtype.is_float}


@pytest.mark.parametrize("dtype", FLOATS)
def test_tolerance_accepts_correctly_rounded_results(dtype: DType) -> None:
    exact = random_array(1, (500,), DType.FLOAT64)
    assert_close(exact.astype(dtype.numpy), exact, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("factor", [1.02, 0.98])
def test_tolerance_refuses_results_two_percent_off(dtype: DType, factor: float) -> None:
    exact = random_array(2, (500,), DType.FLOAT64)
    with pytest.raises(AssertionError):
        assert_close((exact * factor).astype(dtype.numpy), exact, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_tolerance_refuses_one_element_two_percent_off(dtype: DType) -> None:
    exact = np.linspace(1.0, 2.0, 100)
    wrong = exact.copy()
    wrong[57] *= 1.02
    with pytest.raises(AssertionError):
        assert_close(wrong.astype(dtype.numpy), exact, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 0.0])
def test_tolerance_refuses_a_special_value_for_another(dtype: DType, special: float) -> None:
    for other in (1.0, np.nan, np.inf, -np.inf):
        if repr(other) == repr(special):
            continue
        with pytest.raises(AssertionError):
            assert_close(
                np.array([special, 1.0]).astype(dtype.numpy), np.array([other, 1.0]), dtype
            )


def test_tolerance_refuses_integers_one_off() -> None:
    with pytest.raises(AssertionError):
        assert_close(np.array([3], np.int32), np.array([4], np.int32), DType.INT32)


def test_tolerance_refuses_another_dtype_or_shape() -> None:
    with pytest.raises(AssertionError):
        assert_close(np.ones(3, np.float32), np.ones(3, np.float32), DType.FLOAT16)
    with pytest.raises(AssertionError):
        assert_close(np.ones((1, 3), np.float32), np.ones(3, np.float32), DType.FLOAT32)
