"""Networks whose pages are opened: quantized, refused, and one with hostile names."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.bench.models import randomised_light

HOSTILE = ("</script><script>alert(1)</script>", "\u202eevil\u2066<img src=x>", "x" * 10_000)
"""Names that must stay text."""

_FLOAT = TensorProto.FLOAT


def _built(nodes: list[onnx.NodeProto], weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    """Return a model from x to y, 1x8x16x16."""
    dims = [1, 8, 16, 16]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", _FLOAT, dims)],
        [helper.make_tensor_value_info("y", _FLOAT, dims)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def quantized_network(layers: int = 12) -> onnx.ModelProto:
    """Return convolutions between pairs of QuantizeLinear and DequantizeLinear."""
    random = np.random.default_rng(0)
    weights: dict[str, np.ndarray] = {
        "s": np.float32(0.05), "z": np.int8(0), "ws": np.float32(0.01), "wz": np.int8(0),
    }  # fmt: skip
    nodes, value = [], "x"
    for at in range(layers):
        weights[f"w{at}"] = random.integers(-127, 128, (8, 8, 3, 3)).astype(np.int8)
        name = f"/stage{at // 4}/layer{at}"
        out = "y" if at == layers - 1 else f"v{at}"
        nodes += [
            helper.make_node("QuantizeLinear", [value, "s", "z"], [f"q{at}"], f"{name}/q"),
            helper.make_node("DequantizeLinear", [f"q{at}", "s", "z"], [f"d{at}"], f"{name}/dq"),
            helper.make_node(
                "DequantizeLinear", [f"w{at}", "ws", "wz"], [f"dw{at}"], f"{name}/weight"
            ),
            helper.make_node(
                "Conv", [f"d{at}", f"dw{at}"], [f"c{at}"], f"{name}/conv", pads=[1] * 4
            ),
            helper.make_node("Relu", [f"c{at}"], [out], f"{name}/relu"),
        ]
        value = out
    return _built(nodes, weights)


def refused_network() -> onnx.ModelProto:
    """Return ResNet-50 with an operator in its middle that no list has."""
    model = randomised_light("resnet50")
    middle = next(node for node in model.graph.node if node.name == "n90")
    out = middle.output[0]
    middle.output[0] = f"{out}_before"
    at = [*model.graph.node].index(middle) + 1
    node = helper.make_node("Sinh", [f"{out}_before"], [out], "not_listed", domain="my.own")
    model.graph.node.insert(at, node)
    model.opset_import.append(helper.make_opsetid("my.own", 1))
    return model


def hostile_network() -> onnx.ModelProto:
    """Return nodes with the names of HOSTILE, which values have, too."""
    values = ["x", *(f"v{name}" for name in HOSTILE), "y"]
    ops = ("Relu", "Sigmoid", "Tanh", "Neg")
    nodes = [
        helper.make_node(op, [start], [end], name)
        for op, start, end, name in zip(ops, values, values[1:], (*HOSTILE, "last"), strict=False)
    ]
    return _built(nodes, {})


def failing_network() -> onnx.ModelProto:
    """Return layers whose sums float16 cannot hold, so that both outputs fail, one after the other."""
    random = np.random.default_rng(1)
    weights = {
        "w0": (random.standard_normal((8, 8, 3, 3)) * 1e3).astype(np.float32),
        "w1": (random.standard_normal((8, 8, 3, 3)) * 1e3).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], "/block0/conv", pads=[1] * 4),
        helper.make_node("Relu", ["a"], ["b"], "/block0/relu"),
        helper.make_node("Conv", ["b", "w1"], ["c"], "/block1/conv", pads=[1] * 4),
        helper.make_node("Sigmoid", ["c"], ["d"], "/block1/gate"),
        helper.make_node("Mul", ["c", "d"], ["y"], "/block1/mul"),
    ]
    model = _built(nodes, weights)
    model.graph.output.append(helper.make_tensor_value_info("c", _FLOAT, [1, 8, 16, 16]))
    return model
