"""Values at the edges of float32, through every calibrator: a scale, or a coded error."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from atc_py.diag import AtcError
from atc_py.diag.codes import NO_VALUES, SCALE_OUT_OF_RANGE, VALUES_NOT_FINITE
from atc_py.quantizing.calibrate.calibrators import CALIBRATORS
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.value_range import (
    EPSILON,
    ActivationScale,
    RangeOptions,
    activation_scale,
)
from tests.quantizing.calibrate.distributions import f32, fake_quantized
from tests.sampling import alternating, examples

NAMES = list(CALIBRATORS)
BOTH = pytest.mark.parametrize("symmetric", [False, True])


def scales(name: str, array: NDArray[Any], *, symmetric: bool = False) -> list[ActivationScale]:
    """Return the scales of an array, from its histogram and directly."""
    chosen, calibrator = RangeOptions(symmetric=symmetric), CALIBRATORS[name]
    found = (
        calibrator(Histogram.of(array), chosen),
        calibrator(Histogram.of(array), chosen),
    )
    for each in found:
        assert math.isfinite(each.low)
        assert each.low <= each.high
    return [activation_scale(each, symmetric=symmetric) for each in found]


@pytest.mark.parametrize("name", NAMES)
@BOTH
def test_zeros_have_scale_1(name: str, *, symmetric: bool) -> None:
    for array in (np.zeros(7, np.float32), f32([-0.0]), np.zeros((3, 1), np.float16)):
        expected = ActivationScale(1.0, 0 if symmetric else -128)
        assert scales(name, array, symmetric=symmetric) == [expected] * 2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [3.0, -3.0, 255.0, 1e-3, 1e8])
def test_constant_is_a_code(name: str, value: float) -> None:
    for count in (1, 1000):
        array = np.full(count, value, np.float32)
        for found in scales(name, array):
            assert fake_quantized(array[:1], found)[0] == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
@BOTH
def test_values_below_epsilon_have_scale_1(name: str, *, symmetric: bool) -> None:
    for array in (f32([1e-45, -1e-45]), f32([1e-40, 3e-39, 0]), f32([-1e-6, 1e-6, 1e-7])):
        for found in scales(name, array, symmetric=symmetric):
            assert found.scale == 1.0


@pytest.mark.parametrize("name", NAMES)
@BOTH
def test_values_beyond_every_scale_are_refused(name: str, *, symmetric: bool) -> None:
    for array in (f32([-1e30, 2e30, 1e29]), f32([3.4e38, -3.4e38, 0.0])):
        with pytest.raises(AtcError) as failed:
            scales(name, array, symmetric=symmetric)
        assert failed.value.diagnostics[0].code is SCALE_OUT_OF_RANGE


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39])
def test_values_that_are_not_finite_are_refused(name: str, value: float) -> None:
    array = np.array([1.0, value])
    with pytest.raises(AtcError) as failed:
        CALIBRATORS[name](Histogram.of(array), RangeOptions())
    assert failed.value.diagnostics[0].code is VALUES_NOT_FINITE


@pytest.mark.parametrize("name", NAMES)
def test_no_values_are_refused(name: str) -> None:
    empty = np.zeros((0, 3), np.float32)
    with pytest.raises(AtcError) as failed:
        CALIBRATORS[name](Histogram(), RangeOptions())
    assert failed.value.diagnostics[0].code is NO_VALUES
    with pytest.raises(AtcError) as failed:
        CALIBRATORS[name](Histogram.of(empty), RangeOptions())
    assert failed.value.diagnostics[0].code is NO_VALUES


ELEMENTS = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.floats(-8, 8, width=16)


@pytest.mark.parametrize("name", NAMES)
@given(
    array=arrays(np.float32, array_shapes(max_dims=2, max_side=9), elements=ELEMENTS),
    symmetric=st.booleans(),
)
@examples(40)
def test_any_values_have_a_scale_or_a_coded_error(
    name: str, array: NDArray[Any], *, symmetric: bool
) -> None:
    found: list[ActivationScale] = []
    codes = {SCALE_OUT_OF_RANGE}
    try:
        found = scales(name, array, symmetric=symmetric)
    except AtcError as error:
        codes = {each.code for each in error.diagnostics}
    assert codes == {SCALE_OUT_OF_RANGE}
    for each in found:
        assert EPSILON <= each.scale <= 1 / EPSILON
        assert -128 <= each.offset <= 127
        if symmetric:
            assert each.offset == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("power", "symmetric"), alternating([-8, 5, 12], [False, True]))
def test_powers_of_two_scale_the_result(name: str, power: int, *, symmetric: bool) -> None:
    array = np.random.default_rng(5).laplace(size=5000).astype(np.float32)
    factor = np.float32(2.0**power)
    before = scales(name, array, symmetric=symmetric)
    after = scales(name, array * factor, symmetric=symmetric)
    for left, right in zip(before, after, strict=True):
        assert right == ActivationScale(left.scale * float(factor), left.offset)


@pytest.mark.parametrize("name", NAMES)
def test_order_does_not_count_and_relu_has_the_lowest_offset(name: str) -> None:
    array = np.maximum(np.random.default_rng(6).standard_normal(5000), 0).astype(np.float32)
    found = scales(name, array)
    assert found == scales(name, np.sort(array)) == scales(name, array[::-1].copy())
    assert {each.offset for each in found} == {-128}
