"""A recurrent network as Keras makes it: GRU layers whose reset gate comes before the product."""

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]


STEPS, READ, HIDDEN, CLASSES = 32, 16, 48, 6
LAYERS = 2
GAIN = 3.0
"""Factor over Keras's first recurrent kernels, with which the gates open and close, as after training."""


def keras_like_gru(seed: int = 0) -> onnx.ModelProto:
    """Return two GRU layers and a Dense one, in the form of Keras's exports.

    Kernels are Glorot-uniform, recurrent kernels orthogonal times GAIN, biases 0; linear_before_reset
    is not written, as where `reset_after` is False.
    """
    random = np.random.default_rng(seed)
    consts: dict[str, Array] = {"middle": np.array([1])}
    nodes = []
    value, width = "features", READ
    for layer in range(LAYERS):
        names = [f"{part}{layer}" for part in ("W", "R")]
        consts[names[0]] = _glorot(random, width, 3 * HIDDEN).T[None]
        consts[names[1]] = GAIN * np.concatenate([_orthogonal(random) for _ in range(3)])[None]
        made = f"sequence{layer}"
        nodes += [
            helper.make_node("GRU", [value, *names], [made], f"gru{layer}", hidden_size=HIDDEN),
            helper.make_node("Squeeze", [made, "middle"], [f"flat{layer}"], f"squeeze{layer}"),
        ]
        value, width = f"flat{layer}", HIDDEN
    consts["kernel"] = _glorot(random, HIDDEN, CLASSES)
    nodes.append(helper.make_node("MatMul", [value, "kernel"], ["scores"], "dense"))
    graph = helper.make_graph(
        nodes,
        "keras_like_gru",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, [STEPS, 1, READ])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [STEPS, 1, CLASSES])],
        [
            numpy_helper.from_array(array.astype(_dtype(array)), name)
            for name, array in consts.items()
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def keras_like_feeds(seed: int = 1) -> dict[str, Array]:
    """Return features of a sequence."""
    drawn = np.random.default_rng(seed).standard_normal((STEPS, 1, READ))
    return {"features": drawn.astype(np.float32)}


def _dtype(array: Array) -> type[np.generic]:
    return np.float32 if array.dtype.kind == "f" else np.int64


def _glorot(random: np.random.Generator, rows: int, columns: int) -> Array:
    limit = np.sqrt(6 / (rows + columns))
    return random.uniform(-limit, limit, (rows, columns))


def _orthogonal(random: np.random.Generator) -> Array:
    found, _ = np.linalg.qr(random.standard_normal((HIDDEN, HIDDEN)))
    return np.asarray(found)
