"""Quantized models into the deploy form and back, and the other way round."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from atc_py.tensor.scale_words import decode_graph
from tests.end_to_end import run_with_onnxruntime
from tests.onnx_graph import onnx_files
from tests.onnx_graph.qdq.deploy_models import (
    operators,
    rewritten,
)

Array = npt.NDArray[Any]

node = helper.make_node
FLOAT = onnx_files.FLOAT
RANDOM = np.random.default_rng(7)


# Round trips ------------------------------------------------------------------------------------


def quantized_network(*, signed: bool) -> onnx.ModelProto:
    """Return convolutions, a residual branch, a transposed one, products, a classifier."""
    sketch = _Sketch("int8" if signed else "uint8")
    x = sketch.pair("x", 0.05, 3)
    c1 = sketch.layer("Conv", [x, sketch.weights((8, 3, 3, 3), 0)], 8, pads=[1, 1, 1, 1])
    r1 = sketch.pair(sketch.op("Relu", [c1]), 0.11, -128 if signed else 0)
    c2 = sketch.layer("Conv", [r1, sketch.weights((8, 1, 3, 3), 0)], None, group=8, pads=[1] * 4)
    total = sketch.op("Add", [sketch.pair(c2, 0.2, -7 if signed else 120), r1])
    most = sketch.op("MaxPool", [total], kernel_shape=[2, 2], strides=[2, 2])
    pooled = sketch.pair(most, 0.25, 1)
    up = sketch.layer("ConvTranspose", [pooled, sketch.weights((8, 6, 2, 2), 1)], 6, strides=[2, 2])
    rows = sketch.op("Reshape", [sketch.pair(up, 0.4, 5), sketch.const(np.array([0, 6, -1]))])
    turned = sketch.op("Transpose", [rows], perm=[0, 2, 1])
    product = sketch.pair(sketch.op("MatMul", [rows, turned]), 9.0, 4)
    flat = sketch.op("Flatten", [product])
    sketch.layer("Gemm", [flat, sketch.weights((36, 10), 1)], 10, output="y")
    return sketch.model({"x": (FLOAT, ["n", 3, 8, 8])}, ["y"])


class _Sketch:
    """Builds a model in the QDQ form."""

    def __init__(self, kind: str) -> None:
        self._kind = np.dtype(kind)
        self._random = np.random.default_rng(11)
        self._nodes: list[onnx.NodeProto] = []
        self._consts: dict[str, Array] = {}
        self._scales: dict[str, Array] = {}

    def const(self, array: Array) -> str:
        """Return a constant."""
        name = f"c{len(self._consts)}"
        self._consts[name] = np.asarray(array)
        return name

    def op(self, op_type: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        """Return a node."""
        output = output or f"v{len(self._nodes)}"
        name = f"{op_type}{len(self._nodes)}"
        self._nodes.append(node(op_type, inputs, [output], name, **attributes))
        if op_type in {"Reshape", "Transpose", "Flatten", "MaxPool"} and inputs[0] in self._scales:
            self._scales[output] = self._scales[inputs[0]]
        return output

    def pair(self, x: str, scale: float, zero: int) -> str:
        """Return QuantizeLinear and DequantizeLinear."""
        numbers = [self.const(np.array(scale, np.float32)), self.const(np.array(zero, self._kind))]
        output = self.op("DequantizeLinear", [self.op("QuantizeLinear", [x, *numbers]), *numbers])
        self._scales[output] = self._consts[numbers[0]]
        return output

    def weights(self, shape: tuple[int, ...], axis: int) -> str:
        """Return weights with a scale for each channel."""
        codes = self._random.integers(-127, 128, shape).astype(np.int8)
        scale = self._random.uniform(0.001, 0.01, shape[axis]).astype(np.float32)
        inputs = [self.const(codes), self.const(scale), self.const(np.zeros(shape[axis], np.int8))]
        output = self.op("DequantizeLinear", inputs, axis=axis)
        self._scales[output] = scale
        return output

    def layer(self, op_type: str, inputs: list[str], bias: int | None, **options: Any) -> str:
        """Return a layer, with a bias of so many channels."""
        if bias is not None:
            scale = self._scales[inputs[0]] * self._scales[inputs[1]]
            codes = self._random.integers(-2000, 2000, bias).astype(np.int32)
            numbers = [self.const(codes), self.const(scale.astype(np.float32))]
            inputs = [*inputs, self.op("DequantizeLinear", numbers, axis=0)]
        return self.op(op_type, inputs, **options)

    def model(self, ports: onnx_files.Ports, outputs: list[str]) -> onnx.ModelProto:
        """Return the model."""
        return onnx_files.model(self._nodes, ports, outputs, self._consts)


def codes_of(proto: onnx.ModelProto) -> list[tuple[str, bytes]]:
    """Return the integer operands of a model's nodes, in order."""
    consts = {each.name: each for each in proto.graph.initializer}
    integers = {TensorProto.INT8, TensorProto.INT32}
    return [
        (each.op_type, numpy_helper.to_array(consts[name]).tobytes())
        for each in proto.graph.node
        for name in each.input
        if name in consts and consts[name].data_type in integers
    ]


def factors_of(proto: onnx.ModelProto) -> Array:
    """Return the factors of all words of a model, in order."""
    found = [
        decode_graph(numpy_helper.to_array(each)).scale.reshape(-1)
        for each in proto.graph.initializer
        if each.data_type == TensorProto.UINT64
    ]
    return np.concatenate(found)


@pytest.mark.parametrize("signed", [True, False])
def test_round_trips_keep_integers_and_outputs(signed: bool, tmp_path: Path) -> None:
    first = quantized_network(signed=signed)
    deploy = rewritten(first, tmp_path, "ascend", "first")
    assert operators(deploy).count("AscendDequant") == 5
    second = rewritten(deploy, tmp_path, "qdq", "deploy")
    again = rewritten(second, tmp_path, "ascend", "second")
    assert operators(again) == operators(deploy)
    assert codes_of(again) == codes_of(deploy)
    ratio = factors_of(again).astype(np.float64) / factors_of(deploy)
    assert ((ratio >= 1) & (ratio <= 1 + 2.0**-22)).all()
    feeds = {"x": np.random.default_rng(5).standard_normal((2, 3, 8, 8)).astype(np.float32)}
    before, after = (run_with_onnxruntime(each, feeds)["y"] for each in (first, second))
    assert np.abs(before).max() > 1
    # Scales may differ by one step of float32; no value is so near to a tie that a code moves.
    assert np.abs(after - before).max() <= 2.0**-20 * np.abs(before).max()


def test_operators_of_the_qoperator_form_are_opened(tmp_path: Path) -> None:
    weights = {
        "s": np.float32(0.1),
        "z": np.uint8(7),
        "w": RANDOM.integers(0, 255, (4, 3)).astype(np.uint8),
        "wz": np.uint8(128),
    }
    names = ["q", "s", "z", "w", "s", "wz", "s", "z"]
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("QLinearMatMul", names, ["p"], "product"),
        node("DequantizeLinear", ["p", "s", "z"], ["y"]),
    ]
    consts = {name: np.asarray(value) for name, value in weights.items()}
    proto = onnx_files.model(nodes, {"x": (FLOAT, [2, 4])}, ["y"], consts)
    found = rewritten(proto, tmp_path)
    assert "QLinearMatMul" not in operators(found)
    assert "MatMul" in operators(found)
    feeds = {"x": RANDOM.standard_normal((2, 4)).astype(np.float32)}
    before, after = (run_with_onnxruntime(each, feeds)["y"] for each in (proto, found))
    assert np.abs(after - before).max() <= 0.1 * (1 + 1e-6)
