"""Models of any number of nodes, one function for each way in which a graph can be large."""

from collections.abc import Callable

import numpy as np
import onnx
from onnx import helper

from tests.bench.model_builder import ModelBuilder
from tests.bench.models import deep_network

FUNCTIONS = ("Sigmoid", "Neg", "Tanh", "Abs")
DIMS = (1, 8)


def elementwise_chain(nodes: int) -> onnx.ModelProto:
    """Return functions of each element one after the other, which become launches of many."""
    model = ModelBuilder(DIMS)
    for at in range(nodes):
        model.add(FUNCTIONS[at % len(FUNCTIONS)])
    return model.finished([model.last])


def softmax_chain(nodes: int) -> onnx.ModelProto:
    """Return kernels one after the other of which no two become one launch."""
    model = ModelBuilder(DIMS)
    for _ in range(nodes):
        model.add("Softmax", axis=-1)
    return model.finished([model.last])


def fan_out(nodes: int) -> onnx.ModelProto:
    """Return a value that half of the nodes read, each with a constant; one node joins them."""
    model = ModelBuilder(DIMS)
    head = model.add("Softmax", axis=-1)
    parts = [
        model.add("Softmax", model.add("Mul", head, model.constant([float(at + 2)])), axis=-1)
        for at in range((nodes - 2) // 2)
    ]
    return model.finished([model.add("Concat", *parts, axis=0)])


def residual_sums(nodes: int) -> onnx.ModelProto:
    """Return one early value that every second node adds again."""
    model = ModelBuilder(DIMS)
    head = model.add("Softmax", axis=-1)
    for _ in range((nodes - 1) // 2):
        model.add("Add", model.add("Softmax", axis=-1), head)
    return model.finished([model.last])


def many_constants(nodes: int) -> onnx.ModelProto:
    """Return every node reads a constant vector of its own."""
    model = ModelBuilder(DIMS)
    for at in range(nodes):
        constant = model.constant(np.full(DIMS[-1], 1 + at % 7 / 8, np.float32))
        model.add(("Add", "Mul")[at % 2], model.last, constant)
    return model.finished([model.last])


def many_outputs(nodes: int) -> onnx.ModelProto:
    """Return a chain of sums with constants of which every result is returned."""
    model = ModelBuilder(DIMS)
    outputs = [
        model.add("Add", model.last, model.constant(np.full(DIMS, at / 8))) for at in range(nodes)
    ]
    return model.finished(outputs)


def convolutions(nodes: int) -> onnx.ModelProto:
    """Return conv, BatchNormalization and Relu, one after the other."""
    model = ModelBuilder((1, 4, 4, 4))
    norm = [np.full(4, number, np.float32) for number in (1.0, 0.1, 0.0, 1.0)]
    for at in range(nodes // 3):
        kernel = model.constant(np.full((4, 4, 1, 1), 0.25 + at % 5 / 64, np.float32))
        model.add("Conv", model.last, kernel)
        model.add("BatchNormalization", model.last, *(model.constant(each) for each in norm))
        model.add("Relu")
    return model.finished([model.last])


def views(nodes: int) -> onnx.ModelProto:
    """Return transposes and reshapes between functions, most of which cancel."""
    model = ModelBuilder((2, 4))
    flat, whole = model.constant(np.array([8])), model.constant(np.array([2, 4]))
    for _ in range(nodes // 6):
        model.add("Transpose", perm=[1, 0])
        model.add("Transpose", perm=[1, 0])
        model.add("Reshape", model.last, flat)
        model.add("Reshape", model.last, whole)
        model.add("Identity")
        model.add("Softmax", axis=-1)
    return model.finished([model.last])


def foldable(nodes: int) -> onnx.ModelProto:
    """Return arithmetic of constants, nine nodes of ten, which is done at compile time."""
    model = ModelBuilder(DIMS)
    for at in range(nodes // 10):
        folded = model.constant(np.full(DIMS[-1], float(at % 9), np.float32))
        for _ in range(9):
            folded = model.add("Neg", folded)
        model.add("Add", model.spine, folded)
        model.spine = model.last
    return model.finished([model.last])


def equal_nodes(nodes: int) -> onnx.ModelProto:
    """Return nodes that compute one and the same, which becomes one."""
    model = ModelBuilder(DIMS)
    parts = [model.add("Sigmoid", "x") for _ in range(nodes - 1)]
    return model.finished([model.add("Concat", *parts, axis=0)])


def parts_of_one(nodes: int) -> onnx.ModelProto:
    """Return one Split of as many results as there are nodes after it."""
    count = nodes - 2
    model = ModelBuilder((1, count))
    names = [f"part{at}" for at in range(count)]
    model.nodes.append(helper.make_node("Split", ["x"], names, axis=1))
    parts = [model.add("Tanh", name) for name in names]
    return model.finished([model.add("Concat", *parts, axis=1)])


def quantized_layers(nodes: int) -> onnx.ModelProto:
    """Return integer products between QuantizeLinear and DequantizeLinear, one after the other."""
    model = ModelBuilder(DIMS)
    scale, zero = model.constant(np.float32(0.05)), model.constant(np.int8(0))
    for at in range(nodes // 5):
        weights = model.constant(np.full((DIMS[-1],) * 2, 1 + at % 5, np.int8))
        model.add("QuantizeLinear", model.last, scale, zero)
        x = model.add("DequantizeLinear", model.last, scale, zero)
        w = model.add("DequantizeLinear", weights, scale, zero)
        model.add("Relu", model.add("MatMul", x, w))
    return model.finished([model.last])


def constant_outputs(nodes: int) -> onnx.ModelProto:
    """Return results that are known before the run, beside one that is not."""
    model = ModelBuilder(DIMS)
    outputs = [
        model.add("Neg", model.constant(np.full(DIMS, float(at % 9)))) for at in range(nodes - 1)
    ]
    return model.finished([*outputs, model.add("Softmax", "x", axis=-1)])


def transformer(nodes: int) -> onnx.ModelProto:
    """Return layers of a transformer written out in 37 small operators each."""
    return deep_network(layers=max(1, nodes // 37), width=16)


SHAPES: dict[str, Callable[[int], onnx.ModelProto]] = {
    build.__name__.replace("_", " "): build
    for build in (
        elementwise_chain,
        softmax_chain,
        fan_out,
        residual_sums,
        many_constants,
        many_outputs,
        convolutions,
        views,
        foldable,
        equal_nodes,
        parts_of_one,
        quantized_layers,
        constant_outputs,
        transformer,
    )
}
"""A function from the number of nodes to a model of about that many, by what is large in it."""
