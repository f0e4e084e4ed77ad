"""Models for tests of faults."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 13


def model_of(
    nodes: Sequence[onnx.NodeProto], weights: Mapping[str, npt.NDArray[Any]], shape: Sequence[int]
) -> onnx.ModelProto:
    """Return a model from `x`, float32 of `shape`, to `y`."""
    graph = helper.make_graph(
        list(nodes),
        "faults",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def small_model(folder: Path, name: str = "small.onnx") -> Path:
    """Write a model whose kernels, dumps and weights are several files and members."""
    generator = np.random.default_rng(0)
    nodes, weights, value = [], {}, "x"
    for at, operator in enumerate(("Sigmoid", "Softmax", "Tanh")):
        weights[f"w{at}"] = generator.standard_normal((1, 16, 12, 12)).astype(np.float32)
        made = "y" if operator == "Tanh" else f"v{at}"
        nodes.append(helper.make_node("Add", [value, f"w{at}"], [f"a{at}"], name=f"add{at}"))
        nodes.append(helper.make_node(operator, [f"a{at}"], [made], name=f"node{at}"))
        value = made
    path = folder / name
    onnx.save(model_of(nodes, weights, [1, 16, 12, 12]), path)
    return path
