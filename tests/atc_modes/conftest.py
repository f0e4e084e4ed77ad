"""A small model and its offline model, in a folder of the test."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py

COMMAND = '/opt/bin/atc.bin --model=small.onnx --framework=5 --output="small"'


def small_model() -> onnx.ModelProto:
    """Return a convolution, a Relu and a sum, with a name that needs escaping."""
    weights = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["c"], name="Conv_0", pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["c"], ["r"], name="Relu_1"),
            helper.make_node("ReduceSum", ["r"], ["y"], name="Sum_2", axes=[1], keepdims=0),
        ],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the model's file, in the current folder."""
    monkeypatch.chdir(tmp_path)
    onnx.save(small_model(), "small.onnx")
    return Path("small.onnx")


@pytest.fixture
def om(model: Path) -> Path:
    """Return the offline model of a SoC, as `atc` writes it."""
    atc_py.convert(
        model,
        "small.om",
        soc="Ascend310P3",
        atc_cmdline=COMMAND,
        graph_name="small",
        precision_mode="force_fp16",
    )
    return Path("small.om")
