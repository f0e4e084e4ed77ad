"""Nodes that are alike: a decision by types and attributes about one holds for all."""

from collections.abc import Hashable
from typing import TypeAlias

from atc_py.ir import ConstData
from atc_py.onnx_graph.source import SourceAttr, SourceNode, SourceTensor
from atc_py.tensor.shapes import element_count

Likeness: TypeAlias = Hashable


_SHORT = 16
"""Constants of up to this many elements are compared by value: shapes, axes, bounds, scales."""


_ARITHMETIC = frozenset(
    {
        "Add",
        "BatchNormalization",
        "Concat",
        "Conv",
        "ConvTranspose",
        "Div",
        "Equal",
        "Gemm",
        "Greater",
        "Less",
        "MatMul",
        "Max",
        "Mean",
        "Min",
        "Mul",
        "PRelu",
        "Pow",
        "Sub",
        "Sum",
        "Where",
    }
)
"""Operators whose compiled form does not depend on the floats among their inputs."""


def likeness(view: SourceNode, *, weights: bool) -> Likeness:
    """A key that nodes share if their inputs, outputs and attributes are the same.

    Names and places do not count, nor which inputs of the model are open. A long constant is like
    itself only.

    Args:
        view: the node.
        weights: whether the data of weights counts, constants of floats that are long or of which
            nothing but results depends; else their type does.
    """
    tensor = _tensor_key if weights else _tensor_type if view.op_type in _ARITHMETIC else _tensor
    attributes = view.attributes
    return (
        view.op_type,
        view.domain,
        view.opset,
        tuple(map(tensor, view.inputs)),
        tuple(map(tensor, view.outputs)),
        tuple(map(_attribute, attributes, attributes.values())) if attributes else (),
    )


def _content(const: ConstData) -> Likeness:
    """A key of the data of a constant; a long one is like itself only.

    It tells data of one type from another's only beside that type.
    """
    if element_count(const.shape) <= _SHORT:
        return const.dtype, const.numpy().tobytes()
    return id(const)


def _tensor(tensor: SourceTensor | None) -> Likeness:
    """The key of a tensor; for a long constant of floats its type."""
    if tensor is None:
        return None
    known = tensor.const
    if known is None:
        return tensor.element, tensor.dims
    if "float" in tensor.element and element_count(known.shape) > _SHORT:
        return tensor.element, tensor.dims, None
    return tensor.element, tensor.dims, _content(known)


def _tensor_type(tensor: SourceTensor | None) -> Likeness:
    """The key of a tensor whose floats only enter computations: its type."""
    if tensor is None or tensor.const is None or "float" not in tensor.element:
        return _tensor(tensor)
    return tensor.element, tensor.dims, None


def _tensor_key(tensor: SourceTensor | None) -> Likeness:
    if tensor is None:
        return None
    known = tensor.const
    if known is None:
        return tensor.element, tensor.dims
    return tensor.element, tensor.dims, _content(known)


def _attribute(name: str, value: SourceAttr) -> Likeness:
    """The key of an attribute; 1 and 1.0 are two values."""
    if isinstance(value, tuple):
        return name, tuple(map(type, value[:1])), value
    if isinstance(value, int | float | str):
        return name, type(value), value
    return name, id(value)
