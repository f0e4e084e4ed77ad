"""Small models and doors to larger ones, for the tests of sessions."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

SHARED = Path(__file__).resolve().parents[2].parent / "shared"


def layer(dims: tuple[int | str | None, ...] = ("N", 3), **stated: object) -> ModelProto:
    """Return `y = relu(x + b)` with an input of those dims."""
    bias = numpy_helper.from_array(np.array([1, -2, 0.5], np.float32), "b")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "b"], ["s"]), helper.make_node("Relu", ["s"], ["y"])],
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, dims)],
        [bias],
    )
    imports = [helper.make_opsetid("", 13)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, **stated)


def expected(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what `layer` computes."""
    found: NDArray[np.float32] = np.maximum(x + np.array([1, -2, 0.5], np.float32), 0)
    return found


def rows(count: int) -> NDArray[np.float32]:
    """Return data for the layer; every value is exact in float16."""
    return ((np.arange(count * 3) % 7 - 3) / 4).astype(np.float32).reshape(count, 3)
