"""Agreement of two results: exact, within units in the last place, and of sums that cancel."""

import numpy as np
import pytest

from atc_py.compare.kernels.agreement import agreement
from atc_py.tensor.dtypes import DType

F16 = np.float16


def _ulps(found: float, expected: float, dtype: type = F16) -> float:
    return agreement(np.array([found], dtype), np.array([expected], dtype)).ulps


def test_equal_arrays_agree_in_all_bits() -> None:
    values = np.array([0.0, -1.5, np.inf, np.nan], F16)
    found = agreement(values, values.copy())
    assert found.holds(exact=True)
    assert (found.differing, found.ulps, found.first) == (0, 0.0, None)


@pytest.mark.parametrize(("steps", "holds"), [(1, True), (2, True), (3, False)])
def test_units_in_the_last_place_are_counted(steps: int, holds: bool) -> None:
    found = agreement(np.array([1 + steps * 2**-10], F16), np.array([1], F16))
    assert found.ulps == steps
    assert found.holds(exact=False) is holds
    assert not found.holds(exact=True)
    assert (found.differing, found.first) == (1, 0)


def test_two_percent_off_is_too_far() -> None:
    assert not agreement(np.array([1.02], F16), np.array([1], F16)).holds(exact=False)


def test_subnormals_are_measured_by_their_own_steps() -> None:
    assert _ulps(3 * 2**-24, 2**-24) == 2


def test_float32_is_measured_in_steps_of_float16() -> None:
    assert _ulps(1 + 2**-11, 1, np.float32) == 0.5


def test_bfloat16_is_measured_by_its_own_steps() -> None:
    real = DType.BFLOAT16.numpy
    one, other = np.array([1 + 2**-7], real), np.array([1], real)
    assert agreement(one, other).ulps == 1


@pytest.mark.parametrize(("found", "expected"), [(np.nan, 1.0), (1.0, np.nan), (np.inf, 65504.0)])
def test_what_is_finite_on_one_side_alone_is_infinitely_far(found: float, expected: float) -> None:
    assert _ulps(found, expected) == np.inf


def test_integers_agree_or_do_not() -> None:
    assert not agreement(np.array([3], np.int8), np.array([4], np.int8)).holds(exact=False)


def test_noise_is_taken_off() -> None:
    found, expected = np.array([2e-4], np.float32), np.array([1e-4], np.float32)
    assert not agreement(found, expected).holds(exact=False)
    assert agreement(found, expected, np.array([1e-4])).holds(exact=False)
    assert not agreement(found, expected, np.array([1e-6])).holds(exact=False)


def test_noise_does_not_excuse_a_number_that_is_wrong() -> None:
    assert not agreement(np.array([1.1]), np.array([1.0]), np.array([1e-5])).holds(exact=False)
