"""The calibrator `min-max` beside onnxruntime's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from atc_py.calibration.histogram import Histogram
from atc_py.calibration.ranges import CALIBRATORS, Range, RangeSettings
from atc_py.diag import AtcError
from atc_py.diag.codes import NO_VALUES

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIN_MAX = CALIBRATORS["min-max"]


def test_range_is_from_the_lowest_to_the_highest() -> None:
    array = np.float32([0.25, 3, -1.5])
    assert MIN_MAX.range_of_array(array, RangeSettings()) == Range(-1.5, 3)
    assert MIN_MAX.range_of(Histogram.of(array), RangeSettings()) == Range(-1.5, 3)


@pytest.mark.parametrize("name", CALIBRATORS)
def test_no_values_have_no_range(name: str) -> None:
    empty: NDArray[Any] = np.zeros((0, 3), np.float32)
    for choose in (
        lambda: CALIBRATORS[name].range_of(Histogram(), RangeSettings()),
        lambda: CALIBRATORS[name].range_of_array(empty, RangeSettings()),
    ):
        with pytest.raises(AtcError) as failed:
            choose()
        assert failed.value.diagnostics[0].code is NO_VALUES
