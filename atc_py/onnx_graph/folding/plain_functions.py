"""Operators that ONNX's reference computes by a call or two of numpy, computed in the same way.

Most models fold no others, and to import the reference takes longer than to convert a small model.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.graph import OnnxNode
from atc_py.onnx_graph.reading.tensors import dtype_of_element

_Array: TypeAlias = NDArray[Any]

_KINDS = frozenset("biuf")
"""Kinds of dtypes that numpy has itself."""

_SLICED_BY_INPUTS = 10
"""The opset since which the bounds of a Slice are inputs."""


def plain_result(node: OnnxNode, arrays: Mapping[str, _Array]) -> _Array | None:
    """The result of a node; None for operators and forms that are left to the reference.

    What numpy raises for operands that contradict each other is passed on.
    """
    operands = [arrays[name] if name else None for name in node.input_names]
    present = [operand for operand in operands if operand is not None]
    if len(node.output_names) != 1 or any(each.dtype.kind not in _KINDS for each in present):
        return None
    if node.op_type == "Slice":
        return _slice(node, operands)
    if node.op_type in _BINARY:
        x, y = present
        # Before opset 7 attributes say along which axes y is broadcast.
        is_plain = x.dtype == y.dtype and not node.plain_attributes
        return _BINARY[node.op_type](x, y) if is_plain else None
    function = _OTHERS.get(node.op_type) if len(present) == len(operands) else None
    return None if function is None else function(node, present)


def _divide(x: _Array, y: _Array) -> _Array:
    """A quotient; that of integers is cut off towards zero."""
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    quotient, rest = np.floor_divide(x, y), np.remainder(x, y)
    cut: _Array = quotient + ((rest != 0) & ((x < 0) ^ (y < 0))).astype(quotient.dtype)
    return cut


_BINARY: Mapping[str, Callable[[_Array, _Array], _Array]] = {
    "Add": np.add,
    "And": np.logical_and,
    "Div": _divide,
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Mul": np.multiply,
    "Or": np.logical_or,
    "Sub": np.subtract,
}


def _slice(node: OnnxNode, operands: Sequence[_Array | None]) -> _Array | None:
    data, starts, ends, axes, steps = (*operands, None, None)[:5]
    if node.opset < _SLICED_BY_INPUTS or data is None or starts is None or ends is None:
        return None
    bounds = list(zip(np.atleast_1d(starts), np.atleast_1d(ends), strict=False))
    slices = [slice(0, length) for length in data.shape]
    for (start, end), axis, step in zip(
        bounds,
        range(data.ndim) if axes is None else axes,
        [None] * len(bounds) if steps is None else steps,
        strict=False,
    ):
        slices[axis] = slice(start, end, step)
    part: _Array = data[tuple(slices)]
    return part


def _cast(node: OnnxNode, operands: Sequence[_Array]) -> _Array | None:
    to = dtype_of_element(node.integer("to"))
    return None if to is None or to.numpy.kind not in _KINDS else operands[0].astype(to.numpy)


def _concat(node: OnnxNode, operands: Sequence[_Array]) -> _Array | None:
    stated = "axis" in node.plain_attributes
    return np.concatenate(operands, node.integer("axis")) if stated else None


def _expand(_: OnnxNode, operands: Sequence[_Array]) -> _Array:
    data, shape = operands
    expanded: _Array = data * np.ones(shape, data.dtype)
    return expanded


def _gather(node: OnnxNode, operands: Sequence[_Array]) -> _Array:
    data, indices = operands
    taken: _Array = np.take(data, indices, node.integer("axis"))
    return taken


def _mod(node: OnnxNode, operands: Sequence[_Array]) -> _Array:
    x, y = operands
    return np.fmod(x, y) if node.integer("fmod") == 1 else np.mod(x, y)


def _range(_: OnnxNode, operands: Sequence[_Array]) -> _Array:
    start, end, step = operands
    return np.arange(start.item(), end.item(), step.item()).astype(start.dtype)


def _where(_: OnnxNode, operands: Sequence[_Array]) -> _Array | None:
    condition, x, y = operands
    return np.where(condition, x, y) if x.dtype == y.dtype else None


_OTHERS: Mapping[str, Callable[[OnnxNode, Sequence[_Array]], _Array | None]] = {
    "Cast": _cast,
    "Concat": _concat,
    "Expand": _expand,
    "Gather": _gather,
    "Mod": _mod,
    "Not": lambda _, operands: np.logical_not(operands[0]),
    "Range": _range,
    "Where": _where,
}
