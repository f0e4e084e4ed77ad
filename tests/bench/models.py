"""Models for the benchmarks, with random weights: light networks, a wide and a deep one."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
IR_VERSION = 8


def randomised_light(name: str, seed: int = 0) -> onnx.ModelProto:
    """Return the light network `name` with random numbers for every ConstantOfShape weight.

    Filters are drawn so that activations keep their size from layer to layer; scales and
    variances of batch normalization are positive.
    """
    model = onnx.load(LIGHT / f"light_{name}.onnx")
    graph = model.graph
    shapes = {init.name: numpy_helper.to_array(init) for init in graph.initializer}
    roles = _roles(graph)
    generator = np.random.default_rng(seed)
    made, kept = [], []
    for node in graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        shape = tuple(int(dim) for dim in shapes[node.input[0]])
        weights = _weights(generator, shape, roles.get(node.output[0], "bias"))
        made.append(numpy_helper.from_array(weights, node.output[0]))
    used = {value for node in kept for value in node.input}
    others = [init for init in graph.initializer if init.name in used]
    inputs = [value for value in graph.input if value.name not in shapes]
    for field, items in (("node", kept), ("initializer", [*others, *made]), ("input", inputs)):
        graph.ClearField(field)
        getattr(graph, field).extend(items)
    model.ir_version = IR_VERSION
    return model


def _roles(graph: onnx.GraphProto) -> dict[str, str]:
    """Return the purpose of each weight, by the input position where it is used."""
    positions = {
        ("Conv", 1): "filter",
        ("Gemm", 1): "classifier",
        ("BatchNormalization", 1): "scale",
        ("BatchNormalization", 4): "variance",
        ("Mul", 1): "scale",
    }
    users = {name: node for node in graph.node for name in node.input}
    roles: dict[str, str] = {}
    through: dict[str, str] = {}
    for node in graph.node:
        if node.op_type == "Unsqueeze":
            through[node.output[0]] = node.input[0]
        for position, name in enumerate(node.input):
            role = positions.get((node.op_type, position))
            if role == "filter":
                role = _ROLE_BEFORE.get(_next_operator(node, users), "linear")
            if role is not None:
                roles[through.get(name, name)] = role
    return roles


_ROLE_BEFORE = {"Relu": "filter", "Sum": "residual"}


def _next_operator(conv: onnx.NodeProto, users: dict[str, onnx.NodeProto]) -> str:
    """Return the operator after a convolution and its normalization."""
    user = users.get(conv.output[0])
    while user is not None and user.op_type in {"BatchNormalization", "Mul", "Add"}:
        user = users.get(user.output[0])
    return "" if user is None else user.op_type


_GAINS = {"filter": 2.0, "linear": 1.0, "residual": 0.25, "classifier": 1.0}
"""Variance of a filter's result over that of its input: 2 makes up for the ReLU after it; less
where sums of many blocks would grow without end and softmax would saturate."""


def _weights(
    generator: np.random.Generator, shape: tuple[int, ...], role: str
) -> npt.NDArray[np.float32]:
    """Return random weights for one role."""
    weights: npt.NDArray[np.float32]
    if role in {"scale", "variance"}:
        weights = np.float32(0.8) + np.float32(0.4) * generator.random(shape, dtype=np.float32)
        return weights
    fan_in = int(np.prod(shape[1:]))
    deviation = np.sqrt(_GAINS[role] / fan_in) if role in _GAINS else 0.1
    weights = np.float32(deviation) * generator.standard_normal(shape, dtype=np.float32)
    return weights


def wide_network(seed: int = 0, layers: int = 10, channels: int = 1024) -> onnx.ModelProto:
    """Return 3x3 convolutions of 1024 channels with batch normalization: ten weigh 378 MB."""
    generator = np.random.default_rng(seed)
    nodes, weights, x = [], [], "input"
    for layer in range(layers):
        inputs = 64 if layer == 0 else channels
        for role, shape in (
            ("filter", (channels, inputs, 3, 3)),
            ("scale", (channels,)),
            ("bias", (channels,)),
            ("mean", (channels,)),
            ("variance", (channels,)),
        ):
            array = _weights(generator, shape, role)
            weights.append(numpy_helper.from_array(array, f"{role}{layer}"))
        norm = [f"conv{layer}", *(f"{r}{layer}" for r in ("scale", "bias", "mean", "variance"))]
        nodes += [
            helper.make_node("Conv", [x, f"filter{layer}"], [f"conv{layer}"], pads=[1, 1, 1, 1]),
            helper.make_node("BatchNormalization", norm, [f"norm{layer}"]),
            helper.make_node("Relu", [f"norm{layer}"], [f"relu{layer}"]),
        ]
        x = f"relu{layer}"
    nodes += [
        helper.make_node("GlobalAveragePool", [x], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "last"], ["output"], transB=1),
    ]
    weights.append(
        numpy_helper.from_array(_weights(generator, (20000, channels), "filter"), "last")
    )
    graph = helper.make_graph(
        nodes,
        "wide",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 64, 14, 14])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 20000])],
        weights,
    )
    opset = helper.make_opsetid("", 13)
    return helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)


def deep_network(seed: int = 0, layers: int = 100, width: int = 256) -> onnx.ModelProto:
    """Return a transformer of 37 small operators a layer: 3,700 nodes and 100 MB of weights."""
    generator = np.random.default_rng(seed)
    nodes: list[onnx.NodeProto] = []
    heads = numpy_helper.from_array(np.array([1, 64, 8, width // 8], np.int64), "heads")
    whole = numpy_helper.from_array(np.array([1, 64, width], np.int64), "whole")
    numbers = {"two": 2.0, "one": 1.0, "half": 0.5, "eps": 1e-5, "root": float(np.sqrt(2.0))}
    weights = [heads, whole]
    weights += [numpy_helper.from_array(np.float32(v), name) for name, v in numbers.items()]

    def add(op: str, *inputs: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(op, inputs, [f"v{len(nodes)}"], **attributes))
        return f"v{len(nodes) - 1}"

    def linear(x: str) -> str:
        name = f"w{len(nodes)}"
        array = _weights(generator, (width, width), "linear")
        weights.append(numpy_helper.from_array(array, name))
        return add("MatMul", x, name)

    def split_heads(x: str, *perm: int) -> str:
        return add("Transpose", add("Reshape", x, "heads"), perm=perm)

    def normalized(x: str) -> str:
        centered = add("Sub", x, add("ReduceMean", x, axes=[-1]))
        variance = add("ReduceMean", add("Pow", centered, "two"), axes=[-1])
        return add("Div", centered, add("Sqrt", add("Add", variance, "eps")))

    x = "input"
    for _ in range(layers):
        h = normalized(x)
        query, key = split_heads(linear(h), 0, 2, 1, 3), split_heads(linear(h), 0, 2, 3, 1)
        value = split_heads(linear(h), 0, 2, 1, 3)
        scores = add("Softmax", add("Mul", add("MatMul", query, key), "half"), axis=-1)
        mixed = add("Transpose", add("MatMul", scores, value), perm=[0, 2, 1, 3])
        x = add("Add", x, add("Reshape", mixed, "whole"))
        h = linear(normalized(x))
        gate = add("Add", add("Erf", add("Div", h, "root")), "one")
        x = add("Add", x, add("Mul", add("Mul", h, gate), "half"))
    graph = helper.make_graph(
        nodes,
        "deep",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 64, width])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, 64, width])],
        weights,
    )
    opset = helper.make_opsetid("", 13)
    return helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)


def main() -> None:
    """Write the benchmark's models to the folder that the command line names."""
    folder = Path(sys.argv[1])
    onnx.save(randomised_light("resnet50"), folder / "resnet50.onnx")
    onnx.save(deep_network(), folder / "deep.onnx")


if __name__ == "__main__":
    main()
