"""Networks built to break: the comparison names the node that goes wrong in each."""

from pathlib import Path

import onnx
import pytest

import atc_py
from atc_py.results.layer import ErrorOrigin
from tests.compare.broken_networks import BROKEN

KEEP = "must_keep_origin_dtype"


@pytest.mark.parametrize("name", BROKEN)
def test_first_failing_layer_is_the_one_that_goes_wrong(name: str, tmp_path: Path) -> None:
    broken = BROKEN[name]()
    path = tmp_path / "model.onnx"
    onnx.save(broken.model, path)
    done = atc_py.compare_model(path, inputs=broken.feeds)
    first = done.first_failing
    assert first is not None
    assert first.source == broken.node
    assert broken.fault in "; ".join(first.faults)
    assert first.origin is ErrorOrigin.INTRODUCED
    reached = done.outputs.get("y")
    spoilt = reached is None or bool(done.layers[reached].faults)
    assert spoilt is not broken.harmless


@pytest.mark.parametrize("name", ["sum_of_squares", "tiny_variance", "lowest_mask"])
def test_float32_has_no_bad_layer(name: str, tmp_path: Path) -> None:
    broken = BROKEN[name]()
    path = tmp_path / "model.onnx"
    onnx.save(broken.model, path)
    done = atc_py.compare_model(path, inputs=broken.feeds, precision_mode=KEEP)
    assert done.first_failing is None
    assert all(layer.error < 1e-5 for layer in done.layers)


def test_device_that_stops_on_bad_data_leaves_the_layers_before(tmp_path: Path) -> None:
    broken = BROKEN["large_indices"]()
    path = tmp_path / "model.onnx"
    onnx.save(broken.model, path)
    done = atc_py.compare_model(path, inputs=broken.feeds)
    assert "outside an axis of 80000" in done.stopped
    met = dict.fromkeys(layer.source for layer in done.layers)
    assert list(met) == ["n_floats", "n_next", "n_rows"]
    assert not done.outputs
