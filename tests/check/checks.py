"""Checks of small models, for tests."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from atc_py import api
from atc_py.check.findings import Finding, ModelCheck
from tests.onnx_graph import onnx_files


def checked(proto: onnx.ModelProto, folder: Path, **options: Any) -> ModelCheck:
    """Return the check of `proto`, written to a file in `folder`."""
    (model,) = api.check_models(onnx_files.save(proto, folder), **options).models
    return model


def only(model: ModelCheck) -> Finding:
    """Return the one finding of a model without faults."""
    assert model.faults == ()
    (finding,) = model.findings
    return finding


def residual_network(opset: int) -> onnx.ModelProto:
    """Return a small residual network, with the operators and attributes that PyTorch exports."""
    generator = np.random.default_rng(0)

    def normal(*shape: int) -> npt.NDArray[np.float32]:
        values: npt.NDArray[np.float32] = generator.standard_normal(shape, dtype=np.float32)
        values *= np.float32(0.25)
        return values

    weights = {"w": normal(4, 3, 3, 3), "w2": normal(4, 4, 3, 3)}
    weights |= {"s": normal(4), "b": normal(4), "m": normal(4), "v": np.ones(4, np.float32)}
    weights |= {"fc": normal(10, 4), "bias": normal(10)}
    node, pads = helper.make_node, [1, 1, 1, 1]
    window: dict[str, Any] = {"kernel_shape": [3, 3], "pads": pads}
    nodes = [
        node("Conv", ["x", "w"], ["c1"], "conv1", strides=[1, 1], group=1, **window),
        node("BatchNormalization", ["c1", "s", "b", "m", "v"], ["n1"], "bn", epsilon=1e-5),
        node("Relu", ["n1"], ["r1"], "relu1"),
        node("MaxPool", ["r1"], ["p1"], "pool", strides=[2, 2], **window),
        node("Conv", ["p1", "w2"], ["c2"], "conv2", **window),
        node("Add", ["c2", "p1"], ["a"], "add"),
        node("Relu", ["a"], ["r2"], "relu2"),
        node("GlobalAveragePool", ["r2"], ["g"], "gap"),
        node("Flatten", ["g"], ["f"], "flatten", axis=1),
        node("Gemm", ["f", "fc", "bias"], ["y"], "fc", transB=1),
    ]
    inputs: onnx_files.Ports = {"x": (onnx_files.FLOAT, [1, 3, 8, 8])}
    return onnx_files.model(nodes, inputs, ["y"], weights, {"": opset})
