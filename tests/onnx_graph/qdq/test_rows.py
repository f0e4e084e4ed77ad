"""Convolutions along one axis on int8: written on images of one row, as CANN's parser does."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import atc_py
from atc_py.check.findings import Standing
from tests.end_to_end import run_with_onnxruntime
from tests.onnx_graph import onnx_files
from tests.onnx_graph.qdq.deploy_models import rewritten, words

node = helper.make_node
RANDOM = np.random.default_rng(2)
DATA = RANDOM.integers(-100, 100, (2, 32, 9)).astype(np.float32)
"""Multiples of the scale, so that AscendQuant rounds nothing."""

LAYERS: dict[str, tuple[onnx.NodeProto, tuple[int, ...]]] = {
    "plain": (node("Conv", ["q", "w", "b"], ["sum"], "c"), (4, 32, 3)),
    "all attributes": (
        node(
            "Conv", ["q", "w", "b"], ["sum"], "c", kernel_shape=[3], pads=[1, 2], strides=[2],
            dilations=[2], group=2,
        ),
        (4, 16, 3),
    ),
    "transposed": (
        node(
            "ConvTranspose", ["q", "w", "b"], ["sum"], "c", kernel_shape=[3], strides=[2],
            output_padding=[1],
        ),
        (32, 4, 3),
    ),
}  # fmt: skip


def deploy(name: str, *, returned: bool = False) -> onnx.ModelProto:
    """Return AscendQuant, a layer of rank 3 and AscendDequant; perhaps the sums are an output."""
    layer, shape = LAYERS[name]
    consts: dict[str, Any] = {
        "w": RANDOM.integers(-9, 9, shape).astype(np.int8),
        "b": np.arange(4, dtype=np.int32),
        "d": words([0.5, 0.25, 0.125, 1.0]),
    }
    nodes = [
        node("AscendQuant", ["x"], ["q"], "quant", scale=1.0, offset=0.0 if returned else -3.0),
        layer,
        node("AscendDequant", ["sum", "d"], ["y"], "dequant"),
    ]
    outputs = ["y", "sum"] if returned else ["y"]
    ports: onnx_files.Ports = {"x": (onnx_files.FLOAT, list(DATA.shape))}
    return onnx_files.model(nodes, ports, outputs, consts, opsets={"": 11})


@pytest.mark.parametrize("operator_list", ["base", "cann-9.0"])
@pytest.mark.parametrize("name", LAYERS)
def test_they_are_checked_and_computed(name: str, operator_list: str, tmp_path: Path) -> None:
    model = deploy(name)
    path = onnx_files.save(model, tmp_path)
    atc_py.convert(path, tmp_path / "m.om", soc="Ascend310P3", operator_list=operator_list)
    with atc_py.load(tmp_path / "m.om") as offline:
        (found,) = offline.run({"x": DATA}).values()
    wanted = run_with_onnxruntime(rewritten(model, tmp_path, name="q"), {"x": DATA})["y"]
    np.testing.assert_allclose(np.asarray(found, np.float32), wanted, rtol=2.0**-9, atol=2.0**-9)


def test_sums_that_are_returned_keep_their_rank(tmp_path: Path) -> None:
    path = onnx_files.save(deploy("plain", returned=True), tmp_path)
    atc_py.convert(path, tmp_path / "m.om", soc="Ascend310P3")
    with atc_py.load(tmp_path / "m.om") as offline:
        results = offline.run({"x": DATA})
    assert [array.shape for array in results.values()] == [(2, 4, 7), (2, 4, 7)]


def test_what_quantize_writes_is_on_the_list(tmp_path: Path) -> None:
    weights = RANDOM.standard_normal((4, 32, 3)).astype(np.float32)
    conv = node("Conv", ["x", "w"], ["y"], "c")
    ports: onnx_files.Ports = {"x": (onnx_files.FLOAT, list(DATA.shape))}
    path = onnx_files.save(onnx_files.model([conv], ports, ["y"], {"w": weights}), tmp_path)
    np.save(tmp_path / "x.npy", DATA)
    atc_py.quantize(path, tmp_path / "q.onnx", data=[f"x={tmp_path / 'x.npy'}"], measure=0)
    (check,) = atc_py.check_models(tmp_path / "q.onnx").models
    assert not [each for each in check.findings if each.standing is Standing.ERROR]
