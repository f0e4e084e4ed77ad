"""Batch normalization that no convolution took becomes its inference operator, of images."""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.ir import CastConst, DenseConst, Graph, Node, TensorType, Value
from atc_py.passes.base import Pass, PassContext
from atc_py.spec.rewrites import performs
from atc_py.target.stored_nodes import IMAGE_RANK
from atc_py.tensor.shapes import Shape


@performs("align-ranks")
class AlignBatchNormPass(Pass):
    """BatchNorm(x) = Reshape(BatchNorm(Reshape(x to N, C, H, W))), for x of another rank.

    All axes after the channels but the last are one; axes that are missing, as that of the one
    channel of rank 1, have length 1. It comes after convolutions have taken in what they can. Of
    open dims nothing is changed, nor of a scalar, which kernels refuse.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        found = [node for node in graph.nodes if node.op == "BatchNorm" and _is_askew(node)]
        for node in found:
            node.output.replace_by(_on_images(graph, node))
        graph.remove_nodes(found)
        return len(found)


def _is_askew(node: Node) -> bool:
    """True if the data have another rank than images, and known dims."""
    kind = node.output.type
    return kind.rank not in {0, IMAGE_RANK} and not kind.is_open


def _on_images(graph: Graph, node: Node) -> Value:
    x, result = node.present_inputs[0], node.output.type
    batch, channels, *rest = result.shape if result.rank > 1 else (*result.shape, 1)
    image = (batch, channels, prod(rest[:-1]), *(rest[-1:] or [1]))
    data = _reshaped(graph, node, x, image)
    inputs = [data, *node.inputs[1:]]
    name = f"{node.output.name}.normal"
    outputs = [(name, TensorType(result.dtype, image))]
    norm = graph.add_node("BatchNorm", inputs, outputs, node.attributes, node.origins)
    return _reshaped(graph, node, norm.output, result.shape)


def _reshaped(graph: Graph, node: Node, value: Value, shape: Shape) -> Value:
    dims = graph.constant(f"{value.name}.shape", DenseConst(np.array(shape, np.int64)))
    attributes = {"allowzero": 1} if 0 in shape else {}
    outputs = [(f"{value.name}.ranked", TensorType(value.type.dtype, shape))]
    return graph.add_node("Reshape", [value, dims], outputs, attributes, node.origins).output


Array = NDArray[Any]


class BatchNormToBnInferPass(Pass):
    """BatchNorm(x, scale, offset, mean, variance) = BNInfer of the same, at inference.

    On SoCs of CANN those of constants are BNInferenceD(x, a, k) = (x + a) * k with
    d = sqrt(variance + epsilon), k = scale * (1 / d) and a = offset / scale * d - mean, each step in
    float32 (BnHost after HostBNFusionPass; bit by bit what a file of CANN 8.0 has). Where a scale of 0
    or a small one makes numbers that float16 does not hold the statistics stay, which is inferred.
    """

    def run(self, graph: Graph, context: PassContext) -> int:
        norms = [node for node in graph.nodes if node.op == "BatchNorm"]
        for node in norms:
            folded = _folded(node) if context.soc.folded_norms else None
            if folded is None:
                node.op = "BNInfer"
                node.attributes = {"epsilon": node.attributes["epsilon"]}
                continue
            x, name = node.present_inputs[0], node.output.name
            numbers = (CastConst(DenseConst(array), x.type.dtype) for array in folded)
            made = zip(("mean", "variance"), numbers, strict=True)
            constants = [graph.constant(f"{name}.{label}", data) for label, data in made]
            node.op, node.attributes = "BNInferenceD", {}
            node.set_inputs([x, *constants])
        return len(norms)


_VECTORS = 4
_LARGEST = float(np.finfo(np.float16).max)


def _folded(node: Node) -> tuple[Array, Array] | None:
    """The summand and the factor of each channel, on axis 1; None where the statistics stay."""
    data = [value.const for value in node.present_inputs[1:]]
    known = [each for each in data if each is not None]
    if len(known) != _VECTORS or len({each.shape for each in known}) > 1:
        return None
    scale, offset, mean, variance = (each.numpy().astype(np.float32) for each in known)
    epsilon = np.float32(float(node.attributes["epsilon"]))  # type: ignore[arg-type]  # a float
    with np.errstate(all="ignore"):
        deviation = np.sqrt(variance + epsilon)
        factor = scale * (np.float32(1) / deviation)
        summand = offset / scale * deviation - mean
    if not all((np.abs(each) <= _LARGEST).all() for each in (summand, factor)):
        return None
    shape = (1, -1, *(1,) * (node.output.type.rank - len("NC")))
    return summand.reshape(shape), factor.reshape(shape)
