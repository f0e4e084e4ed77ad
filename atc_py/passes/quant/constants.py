"""What quantization passes read of constants, scale words and the activations after a layer."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.ir import DenseConst, Graph, Node, OpaqueConst, Value
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import decode_graph


def is_activation(node: Node) -> bool:
    """True if a node is a Relu, leaky or not, whose result one input alone reads."""
    return node.op in {"Relu", "LeakyRelu"} and len(node.output.uses) == 1


def counts_as_relu(node: Node, flat_slope: float) -> bool:
    """True for Relu, and for LeakyRelu whose slope is nearer to 0 than `flat_slope`."""
    slope = node.attributes.get("negative_slope", 0.0)
    if node.op == "Relu":
        return True
    return node.op == "LeakyRelu" and isinstance(slope, float) and abs(slope) < flat_slope


LEAST, LARGEST = 2.0**-14, 65504.0
"""The smallest and the largest normal number of float16."""


def has_root(scale: float) -> bool:
    """True if a factor is beyond float16's normal numbers and its root is taken twice."""
    return 0 < scale < math.inf and not LEAST <= scale <= LARGEST


def constant_words(value: Value | None) -> npt.NDArray[np.uint64] | None:
    if value is None or value.const is None or isinstance(value.const, OpaqueConst):
        return None
    if value.type.dtype is not DType.UINT64:
        return None
    return np.asarray(value.const.numpy(), np.uint64)


def constant_factors(dequant: Node) -> npt.NDArray[np.float32] | None:
    """The factors of an AscendDequant, roots squared, or None where they are computed."""
    scale = dequant.input(1)
    words = constant_words(scale)
    if words is not None:
        return decode_graph(words).scale
    if scale is None or scale.const is None or isinstance(scale.const, OpaqueConst):
        return None
    factors: npt.NDArray[np.float32] = np.asarray(scale.const.numpy(), np.float32)
    return factors * factors if dequant.attributes.get("sqrt_mode", False) else factors


def whole_scale(quant: Node) -> float:
    """The factor of an AscendQuant, its root squared."""
    scale: float = np.float32(quant.attributes["scale"])  # type: ignore[arg-type]  # a float
    return scale * scale if quant.attributes.get("sqrt_mode", False) else scale


def constant_codes(value: Value | None) -> npt.NDArray[Any] | None:
    """Constant integers, reshaped or not; None for computed ones."""
    node = None if value is None else value.producer
    source = value
    if node is not None and node.op in {"Reshape", "Unsqueeze"}:
        source = node.input(0)
    if value is None or source is None or source.const is None:
        return None
    if isinstance(source.const, OpaqueConst):
        return None
    found: npt.NDArray[Any] = source.const.numpy()
    return found.reshape(value.type.shape)


def constant_like(graph: Graph, old: Value | None, suffix: str, array: npt.NDArray[Any]) -> Value:
    name = suffix if old is None else f"{old.name}.{suffix}"
    return graph.constant(name, DenseConst(array))
