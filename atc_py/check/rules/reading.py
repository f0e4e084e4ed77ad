"""How predicates read a node: attributes by type, dims as far as known, data of constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from atc_py.onnx_graph.source import SourceTensor
from atc_py.spec import AttributeType
from atc_py.tensor.dtypes import DType, UnknownDTypeError
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.check.bound_node import BoundNode


READ_LIMIT = 2**20
"""Elements of a constant that rules on values look at; a larger one is not a list of axes."""

_CEILING = 2**64
"""Counts of elements stop here: no tensor has as many."""


# Attributes -------------------------------------------------------------------------------------


def attribute(node: BoundNode, name: str) -> Any:
    """The attribute's value or default; None if it has none or cannot be on the node."""
    return node.value(name) if node.has_attribute(name) else None


def elements(node: BoundNode, name: str, value: Any) -> tuple[Any, ...] | None:
    """The elements of a list, or the one value of another attribute.

    None where the value is not of the attribute's type.
    """
    row = node.spec.attribute(name)
    is_list = isinstance(value, tuple)
    if row is None or is_list != row.type.is_list:
        return None
    items: tuple[Any, ...] = value if is_list else (value,)
    return items if all(_has_type(item, row.type.element) for item in items) else None


def integers(value: Any) -> tuple[int, ...] | None:
    """An integer or a list of integers as a tuple; None where it is anything else."""
    items: tuple[Any, ...] = value if isinstance(value, tuple) else (value,)
    return items if all(_has_type(item, AttributeType.INT) for item in items) else None


def _has_type(value: Any, kind: AttributeType) -> bool:
    """True if a value can be one of an attribute of type `kind`; a boolean is not an integer."""
    if kind is AttributeType.BOOL or isinstance(value, bool):
        return kind is AttributeType.BOOL and isinstance(value, bool)
    if kind is AttributeType.INT:
        return isinstance(value, int)
    if kind is AttributeType.FLOAT:
        return isinstance(value, int | float)
    return kind is AttributeType.STRING and isinstance(value, str)


# Shapes -----------------------------------------------------------------------------------------


def dims_of(tensor: SourceTensor) -> tuple[int | None, ...] | None:
    """Its dims, which of a constant are those of its data."""
    return tensor.dims if tensor.const is None else tensor.const.shape


def rank_of(tensor: SourceTensor) -> int | None:
    """Its number of axes where that is known."""
    dims = dims_of(tensor)
    return None if dims is None else len(dims)


def lengths(node: BoundNode, name: str, dim: str) -> Iterator[tuple[SourceTensor, int | None]]:
    """Yield each tensor of the operand with its dim `dim`, None where that is open.

    A tensor of another rank than the layouts' has no such dimension and is left out: the rule on
    its rank reports it.
    """
    operand = node.operand(name)
    for tensor in node.tensors(name):
        dims = dims_of(tensor)
        if dims is None:
            yield tensor, None
            continue
        layout = operand.layout_of(len(dims)) or ""
        if dim in layout:
            yield tensor, dims[layout.index(dim)]


def count_of(dims: Sequence[int | None] | None) -> int | None:
    """The number of elements, at most 2**64; None if it depends on an open dim."""
    if dims is None:
        return None
    if 0 in dims:
        return 0
    count: int = 1
    for dim in dims:
        if dim is None:
            return None
        count = min(count * dim, _CEILING)
    return count


# Data of constants ------------------------------------------------------------------------------


def is_known(tensor: SourceTensor) -> bool:
    """True if its values are known at compile time; those of an empty tensor are."""
    return tensor.const is not None or 0 in (tensor.dims or ())


def may_be_known(node: BoundNode, tensor: SourceTensor) -> bool:
    """Tell whether a choice of dims may make its values known, or leave it without any."""
    return node.waits and (tensor.settles or tensor.dims is None or None in tensor.dims)


def constant(name: str, tensor: SourceTensor) -> npt.NDArray[Any] | Text:
    """The data of a tensor of the operand `name`, or why it is not looked at."""
    if not is_known(tensor):
        return Text("{name} is not constant", name=name)
    if tensor.const is None:
        import numpy as np

        return np.empty(0, np.int64)
    if (count_of(tensor.const.shape) or 0) > READ_LIMIT:
        return Text(
            "{name} has more than {read_limit} elements, which are not read",
            name=name,
            read_limit=READ_LIMIT,
        )
    return tensor.const.numpy()


def numbers(data: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """The data as integers or float64, flat; None where it is not numbers."""
    try:
        dtype = DType.from_numpy(data.dtype)
    except UnknownDTypeError:
        return None
    if dtype.is_float:
        import numpy as np

        with np.errstate(invalid="ignore"):  # a signalling NaN is a value like any other here
            return data.ravel().astype(np.float64)
    return data.ravel() if dtype.is_integer else None


def whole_numbers(data: npt.NDArray[Any]) -> tuple[int, ...] | None:
    """The data as a tuple of integers, row by row; None where it is not integers."""
    found = numbers(data)
    if found is None or (found.size and found.dtype.kind == "f"):
        return None
    return tuple(found.tolist())
