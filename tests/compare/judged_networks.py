"""Networks whose originals are inexact in float32, and quantized ones, for the comparison to judge."""

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from tests.compare.broken_networks import built, node

Array = npt.NDArray[Any]


def image() -> Array:
    """Make an input of the detector."""
    found: Array = np.random.default_rng(1).standard_normal((1, 3, 16, 16)).astype(np.float32)
    return found


def detector(bias: float = -14.0, *, swish: bool = False) -> onnx.ModelProto:
    """Build scores of objects times scores of classes, all far below 1 with a `bias` below -8.

    Onnxruntime's float32 Sigmoid is off by up to 1.7e-7 everywhere, which is much of such a score.
    With `swish` the scores are multiplied by their logits, which makes one operator of both.
    """
    random = np.random.default_rng(0)
    constants: dict[str, Array] = {
        "w": (0.3 * random.standard_normal((8, 3, 3, 3))).astype(np.float32),
        "w2": (0.2 * random.standard_normal((6, 8, 1, 1))).astype(np.float32),
        "b2": np.full(6, bias, np.float32),
        "rows": np.array([1, 6, -1], np.int64),
    }
    constants |= {name: np.array([at], np.int64) for name, at in (("zero", 0), ("one", 1))}
    constants["six"] = np.array([6], np.int64)
    nodes = [
        node("Conv", "x w", "c", pads=[1, 1, 1, 1]),
        node("Relu", "c", "r"),
        node("Conv", "r w2 b2", "h"),
        node("Reshape", "h rows", "logits"),
        node("Sigmoid", "logits", "p"),
        *([node("Mul", "logits p", "scores")] if swish else []),
    ]
    scores = "scores" if swish else "p"
    nodes += [
        node("Slice", f"{scores} zero one one", "object"),
        node("Slice", f"{scores} one six one", "classes"),
        node("Mul", "object classes", "score"),
        node("Transpose", "score", "y", perm=[0, 2, 1]),
    ]
    return built(nodes, {"x": image()}, constants)


def rounded_codes(zero: Array) -> tuple[onnx.ModelProto, Array]:
    """Build codes of numbers just above half a step, which float16 rounds to half: to even codes.

    Then codes that a layer on int8 makes of them.
    """
    x = (np.arange(256, dtype=np.float32) % 4 + np.float32(0.5001)).reshape(1, 256)
    constants: dict[str, Array] = {
        "scale": np.array(1, np.float32),
        "zero": zero,
        "weights": np.eye(256, dtype=np.int8) * np.int8(2),
        "none": np.array(0, np.int8),
    }
    nodes = [
        node("QuantizeLinear", "x scale zero", "codes"),
        node("DequantizeLinear", "codes scale zero", "numbers"),
        node("DequantizeLinear", "weights scale none", "w"),
        node("MatMul", "numbers w", "products"),
        node("QuantizeLinear", "products scale zero", "made"),
        node("DequantizeLinear", "made scale zero", "y"),
    ]
    return built(nodes, {"x": x}, constants), x


def classifier(classes: int, *, softmax: bool = False) -> onnx.ModelProto:
    """Build one row of logits, or of probabilities, for each of 16 samples."""
    weights = np.random.default_rng(2).standard_normal((32, classes)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z" if softmax else "y"], name="n_z")]
    nodes += [node("Softmax", "z", "y", axis=-1)] if softmax else []
    return built(nodes, {"x": np.zeros((16, 32), np.float32)}, {"w": weights})
