"""Parameters of QuantizeLinear and DequantizeLinear: scales, zero points and axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.folding.graph import WorkGraph, WorkNode
from atc_py.onnx_graph.reading.attributes import numeric_attributes
from atc_py.onnx_graph.reading.tensors import dtype_of_element, element_name
from atc_py.onnx_graph.rewriting.qdq.reasons import (
    COMPUTED_PARAMETERS,
    IN_BLOCKS,
    UNKNOWN_KIND,
    NoCounterpartError,
    other_kind,
    other_parameters,
    other_scale,
)
from atc_py.onnx_graph.source import SourceAttr
from atc_py.onnx_graph.typing.known_type import known_type
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType

MIDDLE = 128
"""Difference between uint8 codes and the int8 codes made of them."""

_DEFAULT_AXIS = 1
_QUANTIZED = {DType.INT8, DType.UINT8}
_SCALE, _ZERO = 1, 2
"""Positions of scale and zero point among the inputs."""


class Parameters(msgspec.Struct, frozen=True, eq=False):
    """A real number is (code - zero) * scale.

    Attributes:
        scale: positive float32 factors; a scalar for the whole tensor, else one per channel.
        zero: zero points as int64, in the shape of `scale`.
        axis: the axis of the channels as the file counts it; None for the whole tensor.
        kind: dtype of the codes: int8, uint8, or int32 of a bias.
        real: dtype of the real numbers: float32 or float16.
    """

    scale: NDArray[np.float32]
    zero: NDArray[np.int64]
    axis: int | None
    kind: DType
    real: DType

    @property
    def signed(self) -> Parameters:
        """The same for codes moved from uint8 to int8."""
        if self.kind is not DType.UINT8:
            return self
        return replace(self, zero=self.zero - MIDDLE, kind=DType.INT8)

    def moved(self, axis: int) -> Parameters:
        """The same with the channels along another axis."""
        return replace(self, axis=axis)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for equal parameters."""
        return (self.scale.tobytes(), self.zero.tobytes(), self.axis, self.kind, self.real)

    @property
    def factor(self) -> float:
        """The scale of the whole tensor."""
        return float(self.scale)

    @property
    def offset(self) -> int:
        """The zero point of the whole tensor."""
        return int(self.zero)

    def along(self, values: NDArray[Any], rank: int) -> NDArray[Any]:
        """`values`, one per channel or a scalar, shaped to broadcast over `rank` axes."""
        if self.axis is None:
            return values
        shape = [1] * rank
        shape[self.axis] = values.size
        return values.reshape(shape)

    def quantized(self, real: NDArray[Any]) -> NDArray[Any]:
        """Codes of real numbers, as QuantizeLinear has them: ties go to the even number."""
        limits = np.iinfo(self.kind.numpy)
        scale = self.along(self.scale.astype(real.dtype), real.ndim)
        with np.errstate(all="ignore"):
            whole = np.rint(real / scale).astype(np.float64) + self.along(self.zero, real.ndim)
            codes: NDArray[Any] = np.clip(whole, limits.min, limits.max).astype(self.kind.numpy)
        return codes

    def dequantized(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Real numbers of codes, as DequantizeLinear has them."""
        apart = codes.astype(np.int64) - self.along(self.zero, codes.ndim)
        scale = self.along(self.scale, codes.ndim)
        real: NDArray[Any] = (apart.astype(np.float32) * scale).astype(self.real.numpy)
        return real

    def fits(self, shape: tuple[int | None, ...]) -> bool:
        """True if a tensor of these dims has the axis, and a channel for each scale."""
        if self.axis is None:
            return True
        if not -len(shape) <= self.axis < len(shape):
            return False
        return shape[self.axis] in {None, self.scale.size}


def read_parameters(graph: WorkGraph, node: WorkNode) -> Parameters:
    """The parameters of a QuantizeLinear or DequantizeLinear.

    Raises:
        NoCounterpartError: the device has no such form.
    """
    attributes = numeric_attributes(node)
    if attributes.get("block_size"):
        raise NoCounterpartError(IN_BLOCKS)
    scale, zero = _constant(graph, node, _SCALE), _constant(graph, node, _ZERO)
    if scale is None:
        raise other_scale("absent")
    kind = _kind(graph, node, zero, attributes)
    _check_scale(scale)
    factors = scale.astype(np.float32).reshape(() if scale.size == 1 else -1)
    zeros = np.zeros(1, np.int64) if zero is None else zero.astype(np.int64).reshape(-1)
    if zeros.size not in {1, factors.size}:
        raise other_parameters(f"{zeros.size} zero points, {factors.size} scales")
    if kind is DType.INT32 and zeros.any():
        raise other_parameters(f"the zero point {zeros.max()} of int32")
    axis = attributes.get("axis", _DEFAULT_AXIS)
    found = Parameters(
        scale=factors,
        zero=np.broadcast_to(zeros, (factors.size,)).reshape(factors.shape),
        axis=axis if factors.ndim and isinstance(axis, int) else None,
        kind=kind,
        real=DType.from_numpy(scale.dtype),
    )
    known = known_type(graph, node.inputs[0])
    if known is not None and known.dims is not None and not found.fits(known.dims):
        raise other_parameters(f"{factors.size} scales along axis {axis}")
    return found


def _constant(graph: WorkGraph, node: WorkNode, position: int) -> NDArray[Any] | None:
    """An input that must be known; None where it is absent."""
    name = node.inputs[position] if position < len(node.inputs) else ""
    if not name:
        return None
    const, foreign = graph.consts.get(name), graph.foreign.get(name)
    if foreign is not None:
        raise NoCounterpartError(other_kind(element_name(foreign.element)))
    if const is None:
        raise NoCounterpartError(COMPUTED_PARAMETERS)
    return const.numpy()


def _kind(
    graph: WorkGraph,
    node: WorkNode,
    zero: NDArray[Any] | None,
    attributes: Mapping[str, SourceAttr],
) -> DType:
    known = known_type(graph, node.inputs[0])
    kinds: set[DType | str] = set()
    if zero is not None:
        kinds.add(DType.from_numpy(zero.dtype))
    if node.op_type == "DequantizeLinear":
        if known is not None and known.element:
            kinds.add(_type_name(known.element))
        allowed = {*_QUANTIZED, DType.INT32}
    else:
        wanted = attributes.get("output_dtype", 0)
        if isinstance(wanted, int) and wanted:
            kinds.add(_type_name(wanted))
        kinds = kinds or {DType.UINT8}
        allowed = _QUANTIZED
    odd = sorted(str(each.value if isinstance(each, DType) else each) for each in kinds - allowed)
    if odd:
        raise NoCounterpartError(other_kind(odd[0]))
    if len(kinds) != 1:
        raise NoCounterpartError(UNKNOWN_KIND)
    return next(kind for kind in allowed if kind in kinds)


def _type_name(element: int) -> DType | str:
    """An element type; one that no tensor can have here by ONNX's name."""
    return dtype_of_element(element) or element_name(element)


def _check_scale(scale: NDArray[Any]) -> None:
    if scale.dtype not in {np.dtype(np.float32), np.dtype(np.float16)}:
        raise other_scale(scale.dtype.name)
    if not scale.size or (scale.ndim > 1 and scale.size > 1):
        raise other_scale(f"of the shape {list(scale.shape)}")
    wrong = scale[~((scale > 0) & np.isfinite(scale))]
    if wrong.size:
        raise other_scale(wrong.flat[0])
