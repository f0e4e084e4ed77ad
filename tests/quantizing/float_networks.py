"""Small float networks for tests of quantization, and their samples."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import atc_py

Array = NDArray[Any]


class FloatSketch:
    """A float network that is put together node by node."""

    def __init__(self, opset: int = 13, seed: int = 0) -> None:
        self.opset = opset
        self.generator = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, Array] = {}
        self._inputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Sequence[int | str], element: int = TensorProto.FLOAT) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, element, shape))
        return name

    def weight(self, name: str, *shape: int, scale: float = 0.2) -> str:
        self.weights[name] = (self.generator.standard_normal(shape) * scale).astype(np.float32)
        return name

    def const(self, name: str, array: Array) -> str:
        self.weights[name] = np.asarray(array)
        return name

    def add(self, op: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        self.nodes.append(
            helper.make_node(op, inputs, [output], name=f"{output}_{op}", **attributes)
        )
        return output

    def model(self, *outputs: str) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "network",
            self._inputs,
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            [numpy_helper.from_array(array, name) for name, array in self.weights.items()],
        )
        opsets = [helper.make_opsetid("", self.opset)]
        found = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return onnx.shape_inference.infer_shapes(found)

    def save(self, path: Path, *outputs: str) -> Path:
        onnx.save(self.model(*outputs), path)
        return path


def conv_network(path: Path, *, opset: int = 13) -> Path:
    """Save Conv, Relu, MaxPool, depthwise Conv, Conv, pooling and Gemm."""
    net = FloatSketch(opset)
    x = net.input("x", ["batch", 3, 16, 16])
    x = net.add(
        "Conv", [x, net.weight("w1", 24, 3, 3, 3), net.weight("b1", 24)], "c1", pads=[1] * 4
    )
    x = net.add("Relu", [x], "r1")
    x = net.add("MaxPool", [x], "p1", kernel_shape=[2, 2], strides=[2, 2])
    x = net.add("Conv", [x, net.weight("w2", 24, 1, 3, 3)], "c2", pads=[1] * 4, group=24)
    x = net.add("Relu", [x], "r2")
    x = net.add("Conv", [x, net.weight("w3", 16, 24, 1, 1), net.weight("b3", 16)], "c3")
    x = net.add("GlobalAveragePool", [x], "g")
    x = net.add("Flatten", [x], "f")
    net.add("Gemm", [x, net.weight("w4", 16, 5), net.weight("b4", 5)], "y")
    return net.save(path, "y")


def samples_of(count: int, *shape: int, name: str = "x", seed: int = 1) -> list[dict[str, Array]]:
    generator = np.random.default_rng(seed)
    return [{name: generator.standard_normal(shape).astype(np.float32)} for _ in range(count)]


def run_ort(path: Path, feeds: Mapping[str, Array]) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options)
    return list(session.run(None, dict(feeds)))


def run_sim(path: Path, feeds: Mapping[str, Array], **choice: Any) -> list[Array]:
    shapes = {name: array.shape for name, array in feeds.items()}
    om = path.with_suffix(".om")
    atc_py.convert(path, om, input_shape=shapes, **choice)
    with atc_py.load(om) as model:
        return list(model.run(feeds).values())


def relative_error(found: Array, expected: Array) -> float:
    difference = np.asarray(found, np.float64) - expected
    return float(np.sqrt((difference**2).mean() / (np.asarray(expected, np.float64) ** 2).mean()))
