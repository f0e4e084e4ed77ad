"""The calibrator `entropy`: its divergence is onnxruntime's where both are defined alike."""

import numpy as np
import pytest
from onnxruntime.quantization.calibrate import entropy
from onnxruntime.quantization.quant_utils import smooth_distribution

from atc_py.quantizing.calibrate.calibrators import CALIBRATORS, divergence
from atc_py.quantizing.calibrate.histogram import Histogram
from atc_py.quantizing.calibrate.value_range import RangeOptions, activation_scale, sqnr
from tests.quantizing.calibrate.distributions import NAMES, fake_quantized, values
from tests.quantizing.calibrate.onnxruntime_ranges import collected_range
from tests.sampling import some

ENTROPY = CALIBRATORS["entropy"]


@pytest.mark.parametrize("seed", range(5))
def test_divergence_is_that_of_onnxruntime(seed: int) -> None:
    """Its Q drops fractions and the bins after the last whole group; here there are none."""
    rng = np.random.default_rng(seed)
    counts = 12 * rng.integers(1, 50, 64)
    counts[rng.integers(0, 64, 9)] = 0
    first, last = 8, 56
    window = counts[first:last].copy()
    reference = window.copy()
    reference[0] += counts[:first].sum()
    reference[-1] += counts[last:].sum()
    quantized = np.zeros(48)
    for start in range(0, 48, 4):
        filled = reference[start : start + 4] > 0
        mean = window[start : start + 4].sum() / max(filled.sum(), 1)
        quantized[start : start + 4] = mean * filled
    expected = entropy(smooth_distribution(reference), smooth_distribution(quantized))
    found = divergence(counts.astype(np.float64), first, last, 12)
    assert found == pytest.approx(float(expected), rel=1e-3)


def test_one_batch_has_more_than_one_candidate() -> None:
    """Onnxruntime's default of 128 bins and 128 codes leaves the whole range alone."""
    array = values("laplace", 20_000)
    theirs = collected_range("entropy", [array], bins=128)
    assert (theirs.low, theirs.high) == (array.min(), array.max())
    ours = ENTROPY(Histogram.of(array), RangeOptions())
    assert array.min() < ours.low
    assert ours.high < array.max()


@pytest.mark.parametrize("name", some(NAMES, 3))
def test_spike_of_zeros_does_not_draw_the_range(name: str) -> None:
    array = values(name, 50_000)
    with_zeros = np.concatenate([array, np.zeros(500_000, np.float32)])
    settings = RangeOptions()
    apart, together = (
        activation_scale(ENTROPY(Histogram.of(each), settings))
        for each in (array[array != 0], with_zeros)
    )
    assert apart == together


@pytest.mark.parametrize("name", some(["relu gauss", "relu laplace", "gauss", "hswish"], 2))
def test_range_errs_less_than_that_of_onnxruntime(name: str) -> None:
    array = values(name, 50_000)
    found = [
        sqnr(array, fake_quantized(array, activation_scale(chosen)))
        for chosen in (
            ENTROPY(Histogram.of(array), RangeOptions()),
            collected_range("entropy", [array]),
        )
    ]
    assert found[0] > found[1]


def test_windows_of_one_sided_values_begin_at_zero() -> None:
    array = values("relu gauss", 20_000)
    found = ENTROPY(Histogram.of(array), RangeOptions())
    assert found.low == 0
    negative = ENTROPY(Histogram.of(-array), RangeOptions())
    assert (negative.low, negative.high) == pytest.approx((-found.high, 0), rel=0.01)
