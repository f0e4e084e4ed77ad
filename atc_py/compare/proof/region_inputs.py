"""Inputs of one node: which may be drawn, and from which values.

Floats are data wherever they stand. Integers may be data, indices, or shapes: indices are drawn within
what they index, shapes are not drawn at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from atc_py.fix.fixed import Applied
from atc_py.fix.range_rules import Range
from atc_py.onnx_graph.graph import ValueType
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape

_SHAPES: Mapping[str, frozenset[int]] = {
    **dict.fromkeys(
        (
            "AffineGrid", "CenterCropPad", "ConstantOfShape", "CumProd", "CumSum", "Expand",
            "OneHot", "Reshape", "Split", "SplitToSequence", "Squeeze", "Tile", "TopK", "Trilu",
            "Unsqueeze", "SequenceAt", "SequenceErase", "Compress",
            "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
            "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Upsample",
        ),
        frozenset({1}),
    ),
    **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow"), frozenset({0})),
    "Col2Im": frozenset({1, 2}),
    "DFT": frozenset({1, 2}),
    "Loop": frozenset({0, 1}),
    "MaxUnpool": frozenset({1, 2}),
    "MelWeightMatrix": frozenset({0, 1, 2, 3, 4}),
    "Pad": frozenset({1, 3}),
    "Range": frozenset({0, 1, 2}),
    "Resize": frozenset({1, 2, 3}),
    "Slice": frozenset({1, 2, 3, 4}),
    "STFT": frozenset({1, 3}),
    "SequenceInsert": frozenset({2}),
}  # fmt: skip
"""Inputs, by operator, that decide dims; they keep the values that they have in the model's own run."""

_OF_CLASSES = frozenset({"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"})
"""Operators whose indices are classes: none is negative, and the axis is 1."""

_INDEXING = _OF_CLASSES | {"Gather", "GatherElements", "Scatter", "ScatterElements"}
"""Operators whose input 1 has indices into input 0, along an axis."""

_INDEXING_SEVERAL_AXES = frozenset({"GatherND", "ScatterND"})
"""Operators whose input 1 has indices into input 0, of several axes at once."""

_LENGTHS: Mapping[str, int] = {"GRU": 4, "LSTM": 4, "RNN": 4, "ReverseSequence": 1}
"""By operator: the input that has lengths of input 0, along its first axis if none is named."""

_NOT_NEGATIVE: Mapping[str, int] = {"BatchNormalization": 4}
"""By operator: the float input that has no negative number: variances."""

_NOT_ZERO: Mapping[str, int] = {"Div": 1, "Mod": 1}
"""By operator: the integer input by which it divides."""

_STEPS: Mapping[str, int] = {"QuantizeLinear": 1}
"""By operator: the float input by which it divides before it rounds; it keeps the model's own values."""


@dataclass(frozen=True, slots=True)
class DrawnInput:
    """An input that is fed."""

    name: str
    dtype: DType
    shape: Shape
    bounds: Range | None = None  # of integers, both included; None for other dtypes
    drawn: bool = True  # whether data may be drawn; else it keeps the values of the model's own run
    negative: bool = True  # whether floats may be negative
    zero: bool = True  # whether integers may be 0


def inputs_of(step: Applied, name: str) -> DrawnInput | None:
    """The input `name` of the node of `step`, to be drawn; None if its type is open."""
    known = step.types.get(name)
    dtype = None if known is None else dtype_of_element(known.element)
    shape = None if known is None else known.shape
    if dtype is None or shape is None:
        return None
    node = step.node
    at = node.input_names.index(name) if name in node.input_names else -1
    if at in _SHAPES.get(node.op_type, ()) or _STEPS.get(node.op_type) == at:
        return DrawnInput(name, dtype, shape, drawn=False)
    if dtype.is_float:
        return DrawnInput(name, dtype, shape, negative=_NOT_NEGATIVE.get(node.op_type) != at)
    if dtype is DType.BOOL:
        return DrawnInput(name, dtype, shape, Range(0, 1))
    return _integers(step, name, dtype, shape, at)


def _integers(step: Applied, name: str, dtype: DType, shape: Shape, at: int) -> DrawnInput:
    node = step.node
    bounds = step.ranges.get(name)
    indexed = _indexed(step, at)
    if indexed is not None:
        bounds = indexed
    elif dtype.itemsize > 1 and (at < 0 or not _is_data(step, at)):
        return DrawnInput(name, dtype, shape, bounds, drawn=False)
    zero = _NOT_ZERO.get(node.op_type) != at
    return DrawnInput(name, dtype, shape, bounds, zero=zero)


def _indexed(step: Applied, at: int) -> Range | None:
    """Bounds of the indices or lengths at position `at`; None for other inputs."""
    op, shape = step.node.op_type, _shape(step, 0)
    if op in _INDEXING_SEVERAL_AXES and at == 1:
        return Range(0, min(shape) - 1) if shape else None
    if _LENGTHS.get(op) == at:
        axis = step.node.integer("time_axis")
        return Range(1, max(shape[axis], 1)) if shape and axis < len(shape) else None
    if op not in _INDEXING or at != 1:
        return None
    axis = 1 if op in _OF_CLASSES else step.node.integer("axis")
    if not shape or not -len(shape) <= axis < len(shape):
        return None
    most = shape[axis] - 1
    lowest = 0 if op in _OF_CLASSES or op.startswith("Scatter") else -shape[axis]
    return Range(lowest, max(most, 0))


def _is_data(step: Applied, at: int) -> bool:
    """True if the integers at position `at` are data: of the type of the first result."""
    schema = step.node.schema
    if schema is None or not schema.outputs or not schema.inputs:
        return False
    inputs = schema.inputs
    kind = inputs[min(at, len(inputs) - 1)].type_str
    return kind in {schema.outputs[0].type_str, inputs[0].type_str} or len(inputs) == 1


def _shape(step: Applied, at: int) -> Shape | None:
    inputs = step.node.input_names
    name = inputs[at] if at < len(inputs) else ""
    const = step.consts.get(name)
    known: ValueType | None = step.types.get(name)
    if const is not None:
        return const.shape
    return None if known is None else known.shape
