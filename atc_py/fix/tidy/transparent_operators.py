"""Operators that compute the twin of their result from the twins of their operands."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from atc_py.fix.tidy.known_equalities import Narrowed, Relation, Squeezed, Transposed
from atc_py.onnx_graph.source import SourceNode

# Operators of each element by itself; further inputs are scalars. Positions of the data.
_UNARY = dict.fromkeys((
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cast", "Ceil", "Celu", "Clip", "Cos", "Cosh",
    "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "IsNaN",
    "LeakyRelu", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid",
    "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "ThresholdedRelu",
), (0,))  # fmt: skip

# Operators of elements at the same place of operands that are broadcast.
_BROADCAST = frozenset({
    "Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean",
    "Min", "Mul", "Or", "PRelu", "Pow", "Sub", "Sum", "Where", "Xor",
})  # fmt: skip

# Operators whose results are elements of their operands, whatever the dtype.
_CHOOSING = frozenset({"Concat", "Max", "Min"})

_OF_CHANNELS = frozenset({"BatchNormalization", "InstanceNormalization"})

# Operators that move or choose elements, whatever their dtype; positions of the data.
_MOVING: dict[str, tuple[int, ...]] = {
    "Expand": (0,), "Flatten": (0,), "Gather": (0,), "GatherElements": (0,), "GatherND": (0,),
    "Identity": (0,), "ReduceMax": (0,), "ReduceMin": (0,), "Reshape": (0,), "Slice": (0,), "Split": (0,), "Squeeze": (0,), "Tile": (0,),
    "Transpose": (0,), "Unsqueeze": (0,), "Where": (1, 2),
}  # fmt: skip

_REDUCTIONS = frozenset({
    "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare",
})  # fmt: skip

_ALONG_AXIS = frozenset({"Concat", "LogSoftmax", "Softmax", "Split"})

# Opset since which Softmax goes along the last axis by default, and along one alone.
_SOFTMAX_OF_LAST = 13


@dataclass(slots=True)
class Carried:
    """A node on twins."""

    # positions of the inputs that are twins; others stay, or are constants of `numbers`
    data: tuple[int, ...]
    attributes: dict[str, Any] = field(default_factory=dict)  # those that change
    # constants in place of inputs, by position
    numbers: dict[int, list[Any]] = field(default_factory=dict)


def carried(node: SourceNode, relation: Relation) -> Carried | None:
    """The form of a node on twins, whose results are twins; None if it has none."""
    if node.domain or not node.inputs or node.inputs[0] is None or node.inputs[0].dims is None:
        return None
    everything = Carried(tuple(range(len(node.inputs))))
    narrowed = isinstance(relation, Narrowed)
    if node.op_type in (_CHOOSING if narrowed else _BROADCAST):
        return everything
    data = _MOVING.get(node.op_type) if narrowed else _UNARY.get(node.op_type)
    if data is not None or narrowed:
        return None if data is None else Carried(data)
    rank = len(node.inputs[0].dims)
    if isinstance(relation, Transposed) and node.op_type == "Concat":
        return _along_axis(node, rank, lambda axis: relation.perm[axis])
    return _as_image(node, rank, relation.axis) if isinstance(relation, Squeezed) else None


def _as_image(node: SourceNode, rank: int, new: int) -> Carried | None:
    """The form of a node whose operands of `rank` axes gain an axis of 1, at `new`."""

    def moved(axis: int) -> int:
        place = axis % rank
        return place + (place >= new)

    if node.op_type in _OF_CHANNELS:
        alone = new > 1 and all(tensor is None for tensor in node.outputs[1:])
        return Carried((0,)) if alone else None
    if node.op_type in _ALONG_AXIS:
        return _along_axis(node, rank, moved)
    if node.op_type == "Transpose":
        perm = node.attributes.get("perm", tuple(range(rank))[::-1])
        order = [moved(int(axis)) for axis in perm] if isinstance(perm, tuple) else []
        return Carried((0,), {"perm": [*order[:new], new, *order[new:]]})
    if node.op_type in _REDUCTIONS and node.attributes.get("keepdims", 1) == 1:
        return _with_axes(node, 1, moved)
    if node.op_type == "Slice":
        return _with_axes(node, 3, moved)
    return _pad_image(node, rank, new) if node.op_type == "Pad" else None


def _along_axis(node: SourceNode, rank: int, moved: Callable[[int], int]) -> Carried | None:
    default = -1 if node.opset >= _SOFTMAX_OF_LAST else 1
    axis = node.attributes.get("axis", 0 if node.op_type == "Split" else default)
    if not isinstance(axis, int):
        return None
    data = tuple(range(len(node.inputs))) if node.op_type == "Concat" else (0,)
    return Carried(data, {"axis": moved(axis % rank)})


def _with_axes(node: SourceNode, position: int, moved: Callable[[int], int]) -> Carried | None:
    axes = node.attributes.get("axes")
    if isinstance(axes, tuple):
        return Carried((0,), {"axes": [moved(int(axis)) for axis in axes]})
    result = node.inputs[position] if position < len(node.inputs) else None
    if result is None or result.const is None:
        return None
    return Carried((0,), {}, {position: [moved(int(number)) for number in result.const.numpy()]})


def _pad_image(node: SourceNode, rank: int, new: int) -> Carried | None:
    pads: Any = node.attributes.get("pads")
    second = node.inputs[1] if len(node.inputs) > 1 else None
    stated = isinstance(pads, tuple)
    if not stated and second is not None and second.const is not None:
        pads = tuple(int(number) for number in second.const.numpy())
    if not isinstance(pads, tuple) or len(pads) != 2 * rank:
        return None
    begin, end = pads[:rank], pads[rank:]
    wider = [*begin[:new], 0, *begin[new:], *end[:new], 0, *end[new:]]
    return Carried((0,), {"pads": wider}) if stated else Carried((0,), {}, {1: wider})
