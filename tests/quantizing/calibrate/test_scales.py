"""Scales and offsets of ranges: AMCT's rule, as its published code computes it."""

import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import SCALE_OUT_OF_RANGE
from atc_py.quantizing.calibrate.value_range import ActivationScale, ValueRange, activation_scale
from tests.failures import in_one_item

RANGES = [
    ((-1, 1), (0.0078431377, -1), 0.0078740157),
    ((0, 6), (0.0235294122, -128), 0.0472440943),
    ((0.5, 6), (0.0235294122, -128), 0.0472440943),
    ((-6, -0.5), (0.0235294122, 127), 0.046875),
    ((-6, 0), (0.0235294122, 127), 0.046875),
    ((0, 0), (1.0, -128), 1.0),
    ((-2.5, 10), (0.0490196086, -77), 0.0787401572),
    ((-0.3, 2.7), (0.0117647061, -102), 0.0212598424),
    ((-128, 127), (1.0, 0), 1.0),
    ((-0.5, 0.25), (0.0029411765, 42), 0.00390625),
    ((3, 3), (0.0117647061, -128), 0.0236220472),
    ((-1e-6, 1e-6), (1.0, -128), 1.0),
    ((1e-5, 2e-5), (1.0, -128), 1.5748e-7),
]


@in_one_item(("bounds", "expected", "symmetric"), RANGES)
def test_scale_of_a_range(
    bounds: tuple[float, float], expected: tuple[float, int], symmetric: float
) -> None:
    found = activation_scale(ValueRange(*bounds))
    assert found.scale == pytest.approx(expected[0], rel=1e-8)
    assert found.offset == expected[1]
    even = activation_scale(ValueRange(*bounds), symmetric=True)
    assert even.scale == pytest.approx(symmetric, rel=1e-6)
    assert even.offset == 0


def test_values_that_codes_stand_for() -> None:
    found = ActivationScale(0.5, -28)
    assert (found.low, found.high) == (-50.0, 77.5)


@pytest.mark.parametrize("symmetric", [False, True])
def test_scale_beyond_the_reciprocal_of_epsilon_is_refused(*, symmetric: bool) -> None:
    with pytest.raises(AtcError) as failed:
        activation_scale(ValueRange(-1e30, 1e30), symmetric=symmetric)
    assert failed.value.diagnostics[0].code is SCALE_OUT_OF_RANGE
    assert activation_scale(ValueRange(0, 255 * 8388608)).scale == 8388608
