"""3-D convolutions on int8: data without offset, one word for each channel, as AMCT writes them."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper

import atc_py
from tests.end_to_end import run_with_onnxruntime
from tests.onnx_graph import onnx_files
from tests.onnx_graph.qdq.deploy_models import operators, rewritten

Array = npt.NDArray[Any]
RANDOM = np.random.default_rng(3)
SHAPE = (1, 20, 4, 6, 6)
WEIGHTS = RANDOM.standard_normal((24, 20, 2, 3, 3)).astype(np.float32) / 20
BIAS = RANDOM.standard_normal(24).astype(np.float32)
DATA = np.abs(RANDOM.standard_normal((4, *SHAPE))).astype(np.float32)


def volumes(**attributes: Any) -> onnx.ModelProto:
    """Return a 3-D convolution of floats."""
    conv = helper.make_node("Conv", ["x", "w", "b"], ["y"], "conv", **attributes)
    ports: onnx_files.Ports = {"x": (onnx_files.FLOAT, list(SHAPE))}
    return onnx_files.model([conv], ports, ["y"], {"w": WEIGHTS, "b": BIAS})


@pytest.mark.parametrize("soc", ["sim", "Ascend310P3"])
def test_quantize_places_them_and_they_are_computed(soc: str, tmp_path: Path) -> None:
    model = volumes(pads=[1, 1, 1, 0, 1, 1], strides=[1, 2, 2])
    path = onnx_files.save(model, tmp_path)
    np.save(tmp_path / "x.npy", DATA[:, 0])
    atc_py.quantize(path, tmp_path / "int8.onnx", data=tmp_path / "x.npy")
    deploy = onnx.load(tmp_path / "int8.onnx")
    assert operators(deploy) == ["AscendQuant", "Conv", "AscendDequant"]
    (offset,) = (each.f for each in deploy.graph.node[0].attribute if each.name == "offset")
    assert offset == 0
    atc_py.convert(tmp_path / "int8.onnx", tmp_path / "model.om", soc=soc, verify=True)
    with atc_py.load(tmp_path / "model.om") as offline:
        (result,) = offline.run({"x": DATA[0]}).values()
    y = np.asarray(result, np.float64)
    wanted = np.asarray(run_with_onnxruntime(model, {"x": DATA[0]})["y"], np.float64)
    assert np.sqrt(np.mean((y - wanted) ** 2) / np.mean(wanted**2)) < 0.02
    qdq = rewritten(deploy, tmp_path, name="back")
    again = run_with_onnxruntime(qdq, {"x": DATA[0]})["y"]
    assert np.abs(again - y).max() < 0.02 * np.abs(wanted).max()


def test_dilated_depth_stays_in_floats(tmp_path: Path) -> None:
    path = onnx_files.save(volumes(dilations=[2, 1, 1]), tmp_path)
    np.save(tmp_path / "x.npy", DATA[:, 0])
    with pytest.raises(atc_py.AtcError, match="dilated along its depth"):
        atc_py.quantize(path, tmp_path / "int8.onnx", data=tmp_path / "x.npy")
