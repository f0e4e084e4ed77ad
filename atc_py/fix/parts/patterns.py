"""Patterns of several nodes that rules for float16 recognize: means, squares, small constants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from atc_py.fix.site import Site
    from atc_py.source import SourceNode, SourceTensor

__all__ = [
    "LEAST",
    "LEAST_NORMAL",
    "Mean",
    "beside_number",
    "mean_of",
    "number_of",
    "require_float32",
    "shaped",
    "square_of",
]

LEAST_NORMAL = 2.0**-14
"""Least normal number of float16; below, it has fewer digits."""

LEAST = 2.0**-24
"""Least positive number of float16."""

_TWO = 2
_REDUCTIONS = frozenset({"ReduceMean", "ReduceSum", "ReduceSumSquare"})


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean times a factor, however it is written.

    Attributes:
        source: the tensor whose elements are averaged.
        axes: the axes, counted from the front.
        keepdims: whether they stay as axes of 1.
        factor: the mean is multiplied by it: the number of elements for a sum.
        squared: whether the squares of the elements are averaged.
    """

    source: SourceTensor
    axes: tuple[int, ...]
    keepdims: bool
    factor: float
    squared: bool = False

    @property
    def count(self) -> int:
        """Number of elements that are averaged."""
        return prod(self.source.shape[axis] for axis in self.axes)


def require_float32(site: Site) -> None:
    """Require float32: a model in float16 has lost already what these rules save."""
    require(site.element is DType.FLOAT32, "the dtype is float32", "数据类型为 float32")


def number_of(tensor: SourceTensor | None) -> float | None:
    """Return the value of a constant whose elements are all the same; None for others."""
    if tensor is None or tensor.const is None or not prod(tensor.const.shape):
        return None
    data = tensor.const.numpy().reshape(-1)
    return float(data[0]) if bool((data == data[0]).all()) else None


def beside_number(node: SourceNode | None) -> tuple[SourceTensor, float] | None:
    """Return the operand and the constant of a node with two inputs; None if it has no such."""
    if node is None or len(node.inputs) != _TWO:
        return None
    first, second = node.inputs
    if first is not None and first.const is None:
        value = number_of(second)
        return None if value is None else (first, value)
    value = number_of(first)
    if second is None or second.const is not None or value is None or node.op_type == "Div":
        return None
    return second, value


def square_of(site: Site, tensor: SourceTensor | None) -> SourceTensor | None:
    """Return the tensor whose squares `tensor` has; None if it is no square."""
    node = site.maker(tensor)
    if node is None or len(node.inputs) != _TWO:
        return None
    first, second = node.inputs
    if first is None or second is None:
        return None
    same = node.op_type == "Mul" and first.name == second.name
    power = node.op_type == "Pow" and number_of(second) == _TWO
    return first if same or power else None


def shaped(site: Site, tensor: SourceTensor | None) -> SourceTensor | None:
    """Return what a tensor has the values of, without the nodes that only give it other dims."""
    node = site.maker(tensor)
    while node is not None and node.op_type in {
        "Expand",
        "Identity",
        "Reshape",
        "Squeeze",
        "Unsqueeze",
    }:
        tensor = node.inputs[0]
        node = site.maker(tensor)
    return tensor


def mean_of(site: Site, tensor: SourceTensor | None) -> Mean | None:
    """Return the mean that a tensor is: ReduceMean, or ReduceSum with a factor or divisor."""
    node = site.maker(tensor)
    if node is None:
        return None
    if node.op_type in _REDUCTIONS:
        return _reduction(site, node)
    known = beside_number(node)
    if known is None or node.op_type not in {"Div", "Mul"} or not known[1]:
        return None
    inner = site.maker(known[0])
    found = _reduction(site, inner) if inner is not None and inner.op_type in _REDUCTIONS else None
    if found is None:
        return None
    factor = known[1] if node.op_type == "Mul" else 1 / known[1]
    return replace(found, factor=found.factor * factor)


def _reduction(site: Site, node: SourceNode) -> Mean | None:
    """Return the mean of a reduction over known dims."""
    source = node.inputs[0]
    if source is None or source.is_open or source.dtype is not DType.FLOAT32:
        return None
    axes: Any = node.attributes.get("axes")
    second = node.inputs[1] if len(node.inputs) > 1 else None
    if axes is None and second is not None:
        if second.const is None:
            return None
        axes = tuple(int(each) for each in second.const.numpy().reshape(-1))
    if not axes and node.attributes.get("noop_with_empty_axes", 0):
        return None
    whole = tuple(sorted({int(axis) % source.rank for axis in axes or range(source.rank)}))
    keepdims = node.attributes.get("keepdims", 1) == 1
    found = Mean(source, whole, keepdims, 1.0)
    if not found.count:
        return None
    if node.op_type != "ReduceMean":
        found = replace(found, factor=float(found.count))
    if node.op_type == "ReduceSumSquare":
        return replace(found, squared=True)
    square = square_of(site, source)
    return found if square is None else replace(found, source=square, squared=True)
