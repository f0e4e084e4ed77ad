"""Values that may have negative dims by onnx's inference.

Its inference of some operators gives such dims, for windows larger than their input for instance.
Its inference of Slice and of GatherND aborts the whole process on them, so rules withhold these.
"""

from __future__ import annotations

from atc_py.onnx_graph.folding.graph import WorkGraph, WorkNode
from atc_py.onnx_graph.reading.attributes import numeric_attributes
from atc_py.onnx_graph.source import SourceAttr

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
"""Operators that make no negative dim of others; one that is missing costs an inference."""

_WINDOWS = frozenset({"AveragePool", "Conv", "MaxPool"})
_SAME = frozenset({b"SAME_UPPER", b"SAME_LOWER"})


def doubtful_values(graph: WorkGraph) -> set[str]:
    """The names of the values that may have negative dims by onnx's inference.

    What a Slice makes is sound again, so that Slices in a row wait for the first one only.
    """
    doubtful: set[str] = set()
    for node in graph.nodes:
        if node.op_type == "Slice" and not node.domain:
            continue
        if not _is_steady(node) or not doubtful.isdisjoint(node.reads):
            doubtful.update(node.writes)
    return doubtful


def _is_steady(node: WorkNode) -> bool:
    """True if a node makes no negative dim of sound ones."""
    if node.domain:
        return False
    return node.op_type in _STEADY or (node.op_type in _WINDOWS and _always_fits(node))


def _always_fits(node: WorkNode) -> bool:
    """True if a window fits its padded input even where that has a single element."""
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
    """An attribute that is a list of integers; empty where it is none."""
    items = value if isinstance(value, tuple) else ()
    return [each for each in items if isinstance(each, int)]
