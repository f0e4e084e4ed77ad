"""Nodes that onnx must not see before the types in front of them have been looked at.

onnx's inference of Slice, and of GatherND's indices, stops the whole process on a negative extent,
and its inference of some other operators gives such extents, of windows larger than their input
for instance. Its inference of Expand makes as many axes as a shape has extents that is not
constant, however many those are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.frontend.reading.attributes import numeric_attributes
from atc_py.tensor.shapes import MAX_RANK

if TYPE_CHECKING:
    from atc_py.frontend.folding.graph import ValueType, WorkGraph, WorkNode
    from atc_py.source import SourceAttr

__all__ = ["LOOKED_AT", "doubtful_nodes", "has_too_many_axes"]

LOOKED_AT = {"Expand": 1, "GatherND": 1, "Slice": 0}
"""Operators that can stop the process, by the position of the input whose extents matter."""

_STEADY = frozenset(
    {
        "Abs",
        "Add",
        "And",
        "BatchNormalization",
        "Cast",
        "Ceil",
        "Clip",
        "Concat",
        "Constant",
        "Div",
        "Dropout",
        "Elu",
        "Equal",
        "Erf",
        "Exp",
        "Flatten",
        "Floor",
        "Gather",
        "Gelu",
        "Gemm",
        "GlobalAveragePool",
        "GlobalMaxPool",
        "Greater",
        "HardSigmoid",
        "HardSwish",
        "Identity",
        "InstanceNormalization",
        "LayerNormalization",
        "LeakyRelu",
        "Less",
        "Log",
        "LogSoftmax",
        "MatMul",
        "Max",
        "Mean",
        "Min",
        "Mish",
        "Mul",
        "Neg",
        "Not",
        "Or",
        "PRelu",
        "Pow",
        "Reciprocal",
        "ReduceMax",
        "ReduceMean",
        "ReduceSum",
        "Relu",
        "Reshape",
        "Round",
        "Selu",
        "Shape",
        "Sigmoid",
        "Sign",
        "Size",
        "Softmax",
        "Softplus",
        "Softsign",
        "Sqrt",
        "Squeeze",
        "Sub",
        "Sum",
        "Tanh",
        "Transpose",
        "Unsqueeze",
        "Where",
    }
)
"""Operators that make no negative extent from others; one that is missing costs an inference."""

_WINDOWS = frozenset({"AveragePool", "Conv", "MaxPool"})
_SAME = frozenset({b"SAME_UPPER", b"SAME_LOWER"})


def doubtful_nodes(graph: WorkGraph) -> set[WorkNode]:
    """Return the nodes of those operators whose input may have bad extents by onnx's inference.

    What a Slice makes is sound again, so that Slices in a row wait for the first one only.
    """
    doubtful: set[str] = set()
    found: set[WorkNode] = set()
    for node in graph.nodes:
        inherits = any(name in doubtful for name in node.reads)
        if not node.domain and node.op_type in LOOKED_AT:
            computed = any(name not in graph.consts for name in node.inputs[1:])
            if computed if node.op_type == "Expand" else inherits:
                found.add(node)
        is_slice = not node.domain and node.op_type == "Slice"
        if not is_slice and (inherits or not _is_steady(node)):
            doubtful.update(node.writes)
    return found


def has_too_many_axes(node: WorkNode, shape: ValueType | None) -> bool:
    """Return True if the node is an Expand to more axes than a tensor can have."""
    if node.domain or node.op_type != "Expand" or shape is None:
        return False
    return any((extent or 0) > MAX_RANK for extent in shape.dims or ())


def _is_steady(node: WorkNode) -> bool:
    """Return True if a node makes no negative extent from sound ones."""
    if node.domain:
        return False
    return node.op_type in _STEADY or (node.op_type in _WINDOWS and _always_fits(node))


def _always_fits(node: WorkNode) -> bool:
    """Return True if a window fits its padded input even where that has a single element."""
    auto_pad = [each.s for each in node.proto.attribute if each.name == "auto_pad"]
    if auto_pad and auto_pad[0] != b"NOTSET":
        return auto_pad[0] in _SAME
    attributes = numeric_attributes(node)
    kernel = _numbers(attributes.get("kernel_shape"))
    axes = len(kernel)
    pads = _numbers(attributes.get("pads")) or [0] * 2 * axes
    dilations = _numbers(attributes.get("dilations")) or [1] * axes
    if not kernel or len(pads) != 2 * axes or len(dilations) != axes:
        return False
    return all(
        (kernel[axis] - 1) * dilations[axis] <= pads[axis] + pads[axes + axis]
        for axis in range(axes)
    )


def _numbers(value: SourceAttr | None) -> list[int]:
    """Return an attribute that is a list of integers; empty where it is none."""
    items = value if isinstance(value, tuple) else ()
    return [each for each in items if isinstance(each, int)]
