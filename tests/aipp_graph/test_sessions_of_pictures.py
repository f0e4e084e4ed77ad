"""Sessions: an offline model takes its pictures, an ONNX model has its own inputs."""

from pathlib import Path

import numpy as np
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import SESSION_UNSUPPORTED
from tests.aipp_graph.networks import DYNAMIC, RGB, config, network, rgb_features


def test_offline_model_takes_pictures(tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx")
    atc_py.convert(model, tmp_path / "a.om", aipp=config(tmp_path, RGB))
    data = np.random.default_rng(2).integers(0, 256, (1, 8, 12, 3)).astype(np.uint8)
    session = atc_py.InferenceSession(tmp_path / "a.om")
    (port,) = session.get_inputs()
    assert (port.name, port.type, port.shape) == ("x0", "tensor(uint8)", [1, 8, 12, 3])
    (found,) = session.run(None, {"x0": data})
    plain = atc_py.InferenceSession(model)
    (wanted,) = plain.run(None, {"x0": rgb_features(data).astype(np.float32)})
    np.testing.assert_array_equal(found, wanted)


def test_settings_are_an_input_of_an_offline_model(tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx")
    atc_py.convert(model, tmp_path / "a.om", aipp=config(tmp_path, DYNAMIC))
    names = [port.name for port in atc_py.InferenceSession(tmp_path / "a.om").get_inputs()]
    assert names == ["x0", "ascend_dynamic_aipp_data"]


def test_session_of_an_onnx_model_refuses_aipp(tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx")
    with pytest.raises(AtcError) as caught:
        atc_py.InferenceSession(model, aipp=config(tmp_path, RGB))
    assert caught.value.diagnostics[0].code is SESSION_UNSUPPORTED
