"""Figures of a pair of arrays, compared with plain formulas."""

import math
from typing import Any

import numpy as np
import pytest

from atc_py.compare.measure import Measure, dtype_limit
from atc_py.results.layer import Figures
from atc_py.tensor.dtypes import DType


def figures(found: Any, wanted: Any, dtype: DType = DType.FLOAT16) -> Figures:
    measure = Measure(dtype)
    measure.add(np.asarray(found), np.asarray(wanted))
    return measure.figures()


def test_figures_are_those_of_the_formulas_over_many_blocks() -> None:
    random = np.random.default_rng(0)
    wanted = random.standard_normal((7, 9001))
    found = wanted + 0.01 * random.standard_normal(wanted.shape)
    error = np.abs(found - wanted)
    got = figures(found, wanted)
    length = np.linalg.norm(wanted)
    cosine = (found * wanted).sum() / np.linalg.norm(found) / length
    expected = {
        "cosine": cosine,
        "max_absolute": error.max(),
        "max_relative": (error / np.abs(wanted)).max(),
        "mean_absolute": error.mean(),
        "mean_relative": (error / np.abs(wanted)).mean(),
        "rmse": np.sqrt((error**2).mean()),
        "distance": np.linalg.norm(error) / length,
        "snr": 20 * np.log10(length / np.linalg.norm(error)),
        "differing": 1.0,
        "lowest": wanted.min(),
        "highest": wanted.max(),
    }
    for name, value in expected.items():
        assert getattr(got, name) == pytest.approx(value, rel=1e-9), name
    assert got.elements == wanted.size


@pytest.mark.parametrize("scale", [1e-37, 1e-30, 1e-20, 1e-9, 1e-6, 1.0, 1e20])
@pytest.mark.parametrize("noise", [1e-5, 1e-3, 1.0])
@pytest.mark.parametrize("zeros", [0.0, 0.5])
def test_float32_gives_the_figures_of_float64(noise: float, scale: float, zeros: float) -> None:
    random = np.random.default_rng(3)
    wanted = (scale * random.standard_normal(100_000)).astype(np.float32)
    wanted[random.random(wanted.size) < zeros] = 0
    found = (wanted * (1 + noise * random.standard_normal(wanted.shape))).astype(np.float32)
    found[random.random(wanted.size) < zeros] = 0
    single = figures(found, wanted, DType.FLOAT32)
    double = figures(found.astype(np.float64), wanted.astype(np.float64), DType.FLOAT32)
    for name in ("max_absolute", "mean_absolute", "max_relative", "mean_relative"):
        assert getattr(single, name) == pytest.approx(getattr(double, name), rel=2e-5), name
    for name in ("rmse", "distance"):
        assert getattr(single, name) == pytest.approx(getattr(double, name), rel=2e-5), name
    assert single.snr == pytest.approx(double.snr, abs=1e-4)
    assert 1 - single.cosine == pytest.approx(1 - double.cosine, rel=1e-3, abs=1e-15)
    assert single.differing == double.differing
    assert single.underflow == double.underflow
    assert (single.lowest, single.highest) == (double.lowest, double.highest)


@pytest.mark.parametrize("share", [0.0, 1e-4])
def test_what_is_nearly_lost_has_no_cosine_by_chance(share: float) -> None:
    random = np.random.default_rng(4)
    wanted, other = random.standard_normal((2, 50_000)).astype(np.float32)
    assert abs(figures(share * other, wanted).cosine) < 0.02


def test_two_samples_count_as_one_long_array() -> None:
    random = np.random.default_rng(1)
    wanted, found = random.standard_normal((2, 2, 50))
    measure = Measure(DType.FLOAT32)
    for at in range(2):
        measure.add(found[at], wanted[at])
    assert measure.figures().rmse == pytest.approx(np.sqrt(((found - wanted) ** 2).mean()))


def test_lost_values_are_counted_and_left_out_of_the_errors() -> None:
    wanted = np.array([1.0, 2.0, 70000.0, -90000.0, 3.0, np.inf])
    found = np.array([1.0, np.nan, np.inf, -65504.0, 3.0, np.inf])
    got = figures(found, wanted)
    assert got.nan == got.inf == pytest.approx(1 / 6)
    assert got.overflow.share == pytest.approx(2 / 6)
    assert got.overflow.value == -90000.0
    assert got.max_absolute == 90000 - 65504
    assert got.differing == pytest.approx(3 / 6)


def test_underflow_is_what_became_zero() -> None:
    got = figures([0.0, 0.0, 0.5, -0.0], [0.0, 1e-9, 0.5, -3e-9])
    assert (got.underflow.share, got.underflow.value) == (0.5, -3e-9)


def test_equal_arrays_have_no_error() -> None:
    got = figures([0.0, 5.0, np.nan, -np.inf], [0.0, 5.0, np.nan, -np.inf])
    assert (got.distance, got.differing, got.max_relative, got.nan) == (0.0, 0.0, 0.0, 0.0)
    assert (got.cosine, got.snr) == (1.0, math.inf)


def test_zeros_have_a_direction_only_among_themselves() -> None:
    assert figures([0.0, 0.0], [0.0, 0.0]).cosine == 1.0
    got = figures([0.0, 1.0], [0.0, 0.0])
    assert (got.cosine, got.distance, got.snr) == (0.0, math.inf, -math.inf)


@pytest.mark.parametrize(
    ("found", "wanted", "error"),
    [
        ([np.nan, np.inf], [1.0, 2.0], math.inf),
        ([np.inf, -np.inf], [np.inf, -np.inf], 0.0),
        ([65504.0, 1.0], [np.inf, np.nan], math.inf),
    ],
)
def test_nothing_finite_leaves_no_figure_but_whether_all_is_equal(
    found: list[float], wanted: list[float], error: float
) -> None:
    got = figures(found, wanted)
    told = (got.cosine, got.distance, got.snr, got.rmse, got.max_absolute, got.max_relative)
    assert all(map(math.isnan, told))
    assert got.error_of(got.distance) == error


@pytest.mark.parametrize(
    ("dtype", "limit"),
    [
        (DType.FLOAT16, 65504.0),
        (DType.BFLOAT16, 2.0**127 * (2 - 2.0**-7)),
        (DType.INT8, 127.0),
        (DType.BOOL, 1.0),
    ],
)
def test_limits_of_dtypes(dtype: DType, limit: float) -> None:
    assert dtype_limit(dtype) == limit


@pytest.mark.parametrize("seed", range(50))
def test_cosine_of_equal_values_is_one(seed: int) -> None:
    values = np.random.default_rng(seed).standard_normal(1 + seed).astype(np.float32)
    assert figures(values, values, DType.FLOAT32).cosine == 1


def test_of_values_of_one_magnitude_the_first_is_kept() -> None:
    measure = Measure(DType.FLOAT16)
    for value in (7e4, -7e4, 8e4, -8e4):
        measure.add(np.array([np.inf * np.sign(value)]), np.array([value]))
    assert measure.figures().overflow.value == 8e4
