"""Small ONNX models for tests of whole networks."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_OPSET = 13


def _model(graph: onnx.GraphProto) -> onnx.ModelProto:
    """Return a model of one graph."""
    opsets = [helper.make_opsetid("", _OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def chain() -> onnx.ModelProto:
    """Return a convolution and a function after it."""
    weights = np.random.default_rng(0).standard_normal((8, 3, 3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["c"], ["y"], name="act"),
        ],
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 32, 32])],
        [numpy_helper.from_array(weights, "w")],
    )
    return _model(graph)


def views() -> onnx.ModelProto:
    """Return kernels with a view between them."""
    shape = numpy_helper.from_array(np.array([64, 48], np.int64), "s")
    graph = helper.make_graph(
        [
            helper.make_node("Softmax", ["x"], ["a"], name="first", axis=-1),
            helper.make_node("Reshape", ["a", "s"], ["b"], name="view"),
            helper.make_node("Softmax", ["b"], ["y"], name="second", axis=-1),
        ],
        "views",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [32, 96])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 48])],
        [shape],
    )
    return _model(graph)


def open_extents() -> onnx.ModelProto:
    """Return a result whose dims only the run knows."""
    graph = helper.make_graph(
        [helper.make_node("NonZero", ["x"], ["y"], name="open")],
        "open",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 5])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [2, None])],
    )
    return _model(graph)
