"""Histograms of magnitudes: shares, zeros, lost values, and the limits of the dtype in sight."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.compare.histograms import VALUES, Sampled
from atc_py.tensor.dtypes import DType
from tests.compare.broken_networks import BROKEN


def test_shares_of_both_sides_add_up_to_one() -> None:
    wanted = np.array([0.0, 1e6, -1e6, 3.0, -0.25, 1e-9], np.float32)
    found = np.array([0.0, np.inf, np.nan, 3.0, -0.25, 0.0], np.float32)
    sampled = Sampled(DType.FLOAT16)
    sampled.add(found, wanted)
    got = sampled.histogram()
    assert got is not None
    assert got.zeros == pytest.approx((1 / 6, 2 / 6))
    assert got.lost == pytest.approx((0.0, 2 / 6))
    assert sum(got.original) + got.zeros[0] + got.lost[0] == pytest.approx(1)
    assert sum(got.device) + got.zeros[1] + got.lost[1] == pytest.approx(1)
    assert got.limits == {
        "least": -24.0, "least normal": -14.0, "largest": pytest.approx(np.log2(65504))
    }  # fmt: skip
    assert got.low <= np.log2(1e-9)
    assert got.high >= np.log2(1e6)


def test_limits_out_of_sight_are_left_out() -> None:
    sampled = Sampled(DType.FLOAT16)
    values = np.array([0.5, 1.0, 4.0])
    sampled.add(values, values)
    got = sampled.histogram()
    assert got is not None
    assert got.limits == {}
    assert got.original == got.device
    assert (got.low, got.high) == (-3, 4)  # six octaves at least, where the values fill three


def test_large_layers_leave_some_of_their_values_at_equal_places() -> None:
    values = np.arange(1, 100_001, dtype=np.float32)
    sampled = Sampled(DType.FLOAT32)
    for _ in range(2):
        sampled.add(values, values)
    got = sampled.histogram()
    assert got is not None
    assert got.values == 2 * VALUES
    assert got.original == got.device


def test_nothing_has_no_histogram() -> None:
    sampled = Sampled(DType.FLOAT16)
    sampled.add(np.zeros((0, 3)), np.zeros((0, 3)))
    assert sampled.histogram() is None


@pytest.mark.parametrize("values", [np.zeros(3), np.full(3, np.inf)])
def test_values_without_a_magnitude_still_have_an_axis(values: np.ndarray) -> None:
    sampled = Sampled(DType.FLOAT16)
    sampled.add(values, values)
    got = sampled.histogram()
    assert got is not None
    assert got.high > got.low
    assert not any(got.original)


def test_first_failing_layer_comes_first_and_each_value_once(tmp_path: Path) -> None:
    broken = BROKEN["tiny_variance"]()
    onnx.save(broken.model, tmp_path / "model.onnx")
    done = atc_py.compare_model(tmp_path / "model.onnx", inputs=broken.feeds, histograms=True)
    drawn = [done.layers[at] for at in done.histograms]
    assert drawn[0].source == broken.node
    assert len({layer.value for layer in drawn}) == len(drawn) == 6
    without = atc_py.compare_model(tmp_path / "model.onnx", inputs=broken.feeds)
    assert not without.histograms
