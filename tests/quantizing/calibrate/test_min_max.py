"""The calibrator `min-max` beside onnxruntime's."""

from pathlib import Path

import numpy as np
import pytest
from onnxruntime.quantization.quant_utils import compute_scale_zp

from atc_py.quantizing.calibrate.calibrators import CALIBRATORS
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.value_range import RangeOptions, ValueRange, activation_scale
from tests.quantizing.calibrate.distributions import f32
from tests.quantizing.calibrate.onnxruntime_ranges import min_max_range

MIN_MAX = CALIBRATORS["min-max"]
DEFAULT = RangeOptions()


def test_range_is_from_the_lowest_to_the_highest() -> None:
    array = f32([0.25, 3, -1.5])
    assert MIN_MAX(Histogram.of(array), DEFAULT) == ValueRange(-1.5, 3)
    assert MIN_MAX(Histogram.of(array), DEFAULT) == ValueRange(-1.5, 3)


@pytest.mark.parametrize("seed", range(4))
def test_range_and_scale_are_those_of_onnxruntime(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    factor, shift = np.exp(3 * rng.standard_normal(2))
    arrays = [
        (rng.standard_normal((rows, 8)) * factor + shift).astype(np.float32) for rows in (5, 1, 9)
    ]
    found = MIN_MAX(Histogram.of(*arrays), DEFAULT)
    assert found == min_max_range(arrays, tmp_path)
    low, high = np.array(found.low, np.float32), np.array(found.high, np.float32)
    zero, scale = compute_scale_zp(low, high, np.array(-128, np.int8), np.array(127, np.int8))
    ours = activation_scale(found)
    assert ours.scale == pytest.approx(float(scale), rel=1.2e-7)
    assert ours.offset == int(zero)
