"""Relations: a value of the model is another one, its twin, under a node that loses nothing.

Rules leave such a node after what they write (Squeeze, Cast to int64, Transpose, Reshape) and put
its inverse before it. Where the twin of a value is there, the inverse need not be computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.fix.range_rules import INT32, axes_of
from atc_py.onnx_graph.reading.tensors import dtype_of_element, element_of_dtype
from atc_py.onnx_graph.source import SourceNode
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape

AXES_AS_INPUT = 13

# The dtype that rules narrow each dtype to.
_NARROW = {
    DType.INT64: DType.INT32, DType.UINT32: DType.INT32, DType.UINT64: DType.INT32,
    DType.FLOAT64: DType.FLOAT32,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TwinStep:
    """A node that leads from a twin to its value, or back."""

    op_type: str
    numbers: tuple[int, ...] | None  # its second input, or None
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Squeezed:
    """The value is its twin without an axis of 1."""

    axis: int  # of the twin
    label = "image"

    def entered(self, value: NDArray[Any]) -> NDArray[Any]:
        """The data of the twin."""
        return np.expand_dims(value, self.axis)

    def operand(self, value: NDArray[Any], rank: int) -> NDArray[Any] | None:
        """A constant as an operand beside twins of values of `rank` axes; None if it has no form."""
        after = rank - self.axis
        if after < 0:  # values of so few axes have no such twin
            return None
        return value if value.ndim <= after else np.expand_dims(value, value.ndim - after)

    def leave(self, opset: int) -> TwinStep:
        """The node from the twin to the value."""
        return self._step("Squeeze", opset)

    def enter(self, opset: int) -> TwinStep:
        """The node from the value to the twin."""
        return self._step("Unsqueeze", opset)

    def _step(self, op_type: str, opset: int) -> TwinStep:
        if opset >= AXES_AS_INPUT:
            return TwinStep(op_type, (self.axis,), {})
        return TwinStep(op_type, None, {"axes": [self.axis]})


@dataclass(frozen=True, slots=True)
class Transposed:
    """The value is its twin with its axes in another order."""

    perm: tuple[int, ...]  # the axes of the twin, in the order of the value's
    label = "turned"

    @property
    def back(self) -> tuple[int, ...]:
        return tuple(int(axis) for axis in np.argsort(self.perm))

    def entered(self, value: NDArray[Any]) -> NDArray[Any]:
        return np.ascontiguousarray(value.transpose(self.back))

    def operand(self, value: NDArray[Any], rank: int) -> NDArray[Any] | None:
        if value.size == 1 and value.ndim <= rank:
            return value
        if value.ndim > rank or rank != len(self.perm):
            return None
        return self.entered(value.reshape((1,) * (rank - value.ndim) + value.shape))

    def leave(self, _opset: int) -> TwinStep:
        return TwinStep("Transpose", None, {"perm": list(self.perm)})

    def enter(self, _opset: int) -> TwinStep:
        return TwinStep("Transpose", None, {"perm": list(self.back)})


@dataclass(frozen=True, slots=True)
class Reshaped:
    """The value is its twin in other dims."""

    twin: Shape  # dims of the twin
    value: Shape  # dims of the value
    label = "reshaped"

    def entered(self, value: NDArray[Any]) -> NDArray[Any]:
        return value.reshape(self.twin)

    def operand(self, value: NDArray[Any], rank: int) -> NDArray[Any] | None:
        fits = value.size == 1 and value.ndim <= rank
        return value.reshape(()) if fits else None

    def leave(self, _opset: int) -> TwinStep:
        return TwinStep("Reshape", self.value, {})

    def enter(self, _opset: int) -> TwinStep:
        return TwinStep("Reshape", self.twin, {})


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The value is its twin, of int32 or float32, in a wider dtype."""

    wide: DType  # the dtype of the value
    label = "narrow"

    @property
    def narrow(self) -> DType:
        return _NARROW[self.wide]

    def entered(self, value: NDArray[Any]) -> NDArray[Any]:
        """The data of the twin; infinite beyond its range."""
        with np.errstate(over="ignore"):
            return value.astype(self.narrow.numpy)

    def operand(self, value: NDArray[Any], _rank: int) -> NDArray[Any] | None:
        """A constant as an operand beside twins; None if their dtype does not hold it."""
        if self.wide.is_float:
            twin = self.entered(value)
            return twin if np.array_equal(twin, value, equal_nan=True) else None
        fits = not value.size or (INT32.low <= value.min() and value.max() <= INT32.high)
        return self.entered(value) if fits else None

    def leave(self, _opset: int) -> TwinStep:
        return TwinStep("Cast", None, {"to": element_of_dtype(self.wide)})

    def enter(self, _opset: int) -> TwinStep:
        return TwinStep("Cast", None, {"to": element_of_dtype(self.narrow)})


Relation: TypeAlias = "Squeezed | Transposed | Reshaped | Narrowed"


def leaves(node: SourceNode) -> Relation | None:
    """The relation of a node's result to its first input, as its twin."""
    return _relation(node, inverse=False)


def enters(node: SourceNode) -> Relation | None:
    """The relation of a node's first input to its result, as its twin."""
    return _relation(node, inverse=True)


def rounds(relation: Relation | None) -> bool:
    """True if not every value of the wide dtype has a twin: a Cast to that of the twin rounds others."""
    return isinstance(relation, Narrowed) and relation.wide.is_float


def _relation(node: SourceNode, *, inverse: bool) -> Relation | None:
    """`inverse`: the relation of the input to the result."""
    source, result = next(iter(node.inputs), None), node.outputs[0]
    if source is None or result is None:
        return None
    twin, value = (result, source) if inverse else (source, result)
    perm = node.attributes.get("perm")
    if node.op_type == "Transpose" and isinstance(perm, tuple):
        transposed = Transposed(tuple(int(axis) for axis in perm))
        return Transposed(transposed.back) if inverse else transposed
    if node.op_type == "Reshape" and not source.is_open and not result.is_open:
        same = prod(source.shape) == prod(result.shape)
        return Reshaped(twin.shape, value.shape) if same else None
    if twin.dims is None or value.dims is None:
        return None
    squeezes = node.op_type == ("Unsqueeze" if inverse else "Squeeze")
    if squeezes and len(value.dims) == len(twin.dims) - 1:
        axes = axes_of(node)
        return Squeezed(axes[0] % len(twin.dims)) if axes is not None and len(axes) == 1 else None
    to = node.attributes.get("to")
    target = dtype_of_element(to) if isinstance(to, int) else None
    narrow, wide = target if inverse else twin.dtype, value.dtype
    narrows = node.op_type == "Cast" and wide in _NARROW and narrow is _NARROW[wide]
    return Narrowed(value.required_dtype) if narrows else None
