"""Batch normalization of other ranks than that of images is computed on images."""

from math import prod

import numpy as np

from atc_py.ir import DenseConst, Graph, Node, TensorType, Value
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
