"""Networks with gears that take pictures: each gear is the network of its shape alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import atc_py
from atc_py.diag import AtcError
from tests.aipp_graph.networks import NV12, RGB, config, network, nv12_features

Array = NDArray[Any]


def pictures(*shape: int) -> Array:
    """Return random bytes."""
    return np.random.default_rng(12).integers(0, 256, shape).astype(np.uint8)


def alone(model: Path, folder: Path, features: Array) -> Array:
    """Return the result of the network without AIPP, compiled for one shape."""
    om = folder / "alone.om"
    atc_py.convert(model, om, input_shape={"x0": features.shape})
    with atc_py.load(om) as loaded:
        return loaded.run({"x0": features.astype(np.float32)})["y"]


def test_gears_of_batches(tmp_path: Path) -> None:
    model, om = network(tmp_path / "m.onnx", [("n", 3, 8, 12)]), tmp_path / "a.om"
    given: dict[str, Any] = {"input_shape": "x0:-1,3,8,12", "batch_sizes": "1,3"}
    atc_py.convert(model, om, aipp=config(tmp_path, NV12), **given)
    with atc_py.load(om) as loaded:
        for count in (1, 3):
            data = pictures(count, 12, 12, 1)
            expected = alone(model, tmp_path, nv12_features(data))
            np.testing.assert_array_equal(loaded.run({"x0": data})["y"], expected)
        with pytest.raises(AtcError, match="x0 2x12x12x1"):
            loaded.run({"x0": pictures(2, 12, 12, 1)})


def test_gears_of_image_sizes_are_sizes_of_pictures(tmp_path: Path) -> None:
    model, om = network(tmp_path / "m.onnx", [(1, 3, "h", "w")]), tmp_path / "a.om"
    given: dict[str, Any] = {"input_shape": "x0:1,3,-1,-1", "image_sizes": "8,12;16,10"}
    atc_py.convert(model, om, aipp=config(tmp_path, NV12), **given)
    with atc_py.load(om) as loaded:
        for height, width in ((8, 12), (16, 10)):
            data = pictures(1, height * 3 // 2, width, 1)
            expected = alone(model, tmp_path, nv12_features(data))
            np.testing.assert_array_equal(loaded.run({"x0": data})["y"], expected)


def test_gears_of_a_network_in_nhwc(tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx", [("n", 8, 12, 3)], nhwc=True)
    given: dict[str, Any] = {
        "input_shape": "x0:-1,8,12,3",
        "batch_sizes": "1,2",
        "input_format": "NHWC",
    }
    atc_py.convert(model, tmp_path / "a.om", aipp=config(tmp_path, RGB), **given)
    with atc_py.load(tmp_path / "a.om") as loaded:
        assert loaded.run({"x0": pictures(2, 8, 12, 3)})["y"].shape[0] == 2


@pytest.mark.parametrize("field", ["src_image_size_w: 12", "crop: true", "padding: true"])
def test_gears_of_image_sizes_leave_no_other_sizes(field: str, tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx", [(1, 3, "h", "w")])
    given: dict[str, Any] = {"input_shape": "x0:1,3,-1,-1", "image_sizes": "8,12;16,10"}
    file = config(tmp_path, f"{NV12}  {field}\n")
    with pytest.raises(AtcError) as caught:
        atc_py.convert(model, tmp_path / "a.om", aipp=file, **given)
    found = caught.value.diagnostics[0]
    assert found.atc is not None
    assert found.atc.code == "E10052"
    assert not (tmp_path / "a.om").exists()
