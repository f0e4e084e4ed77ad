"""Activations that dequantization can apply."""

from atc_py.ir import Node


def is_activation(node: Node) -> bool:
    """True if a node is a Relu, leaky or not, whose result one input alone reads."""
    return node.op in {"Relu", "LeakyRelu"} and len(node.output.uses) == 1


def counts_as_relu(node: Node, flat_slope: float) -> bool:
    """True for Relu, and for LeakyRelu whose slope is nearer to 0 than `flat_slope`."""
    slope = node.attributes.get("negative_slope", 0.0)
    if node.op == "Relu":
        return True
    return node.op == "LeakyRelu" and isinstance(slope, float) and abs(slope) < flat_slope
