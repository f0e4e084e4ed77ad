"""Parameters of QuantizeLinear and DequantizeLinear: scales, zero points and axis.

AscendQuant and AscendAntiQuant carry them as factors that the device holds as float16. Where a part
of a quantized model has no integer form, the reason is one of those at the end.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.tensors import dtype_of_element, element_name, known_type
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

MIDDLE = 128
"""Difference between uint8 codes and the int8 codes made of them."""

_DEFAULT_AXIS = 1
_QUANTIZED = {DType.INT8, DType.UINT8}
_SCALE, _ZERO = 1, 2
"""Positions of scale and zero point among the inputs."""


class Parameters(msgspec.Struct, frozen=True, eq=False):
    """A real number is (code - zero) * scale."""

    # positive float32 factors; a scalar for the whole tensor, else one per channel
    scale: NDArray[np.float32]
    zero: NDArray[np.int64]  # zero points as int64, in the shape of `scale`
    axis: int | None  # the axis of the channels as the file counts it; None for the whole tensor
    kind: DType  # dtype of the codes: int8, uint8, or int32 of a bias
    real: DType  # dtype of the real numbers: float32 or float16

    @property
    def signed(self) -> Parameters:
        """The same for codes moved from uint8 to int8."""
        if self.kind is not DType.UINT8:
            return self
        return replace(self, zero=self.zero - MIDDLE, kind=DType.INT8)

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
        return values if self.axis is None else broadcast_along(values, self.axis, rank)

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


def broadcast_along(values: NDArray[Any], axis: int, rank: int) -> NDArray[Any]:
    """`values`, one per channel or a scalar, shaped to broadcast over `rank` axes."""
    shape = [1] * rank
    shape[axis] = values.size
    return values.reshape(shape) if values.ndim else values


def read_parameters(graph: OnnxGraph, node: OnnxNode) -> Parameters:
    """The parameters of a QuantizeLinear or DequantizeLinear."""
    if node.integer("block_size"):
        raise NoCounterpartError(Reason.IN_BLOCKS)
    scale, zero = _constant(graph, node, _SCALE), _constant(graph, node, _ZERO)
    if scale is None:
        raise other_scale("absent")
    kind = _kind(graph, node, zero)
    if scale.dtype not in {np.dtype(np.float32), np.dtype(np.float16)}:
        raise other_scale(scale.dtype.name)
    if not scale.size or (scale.ndim > 1 and scale.size > 1):
        raise other_scale(f"of the shape {list(scale.shape)}")
    wrong = scale[~((scale > 0) & np.isfinite(scale))]
    if wrong.size:
        raise other_scale(wrong.flat[0])
    factors = scale.astype(np.float32).reshape(() if scale.size == 1 else -1)
    zeros = np.zeros(1, np.int64) if zero is None else zero.astype(np.int64).reshape(-1)
    if zeros.size not in {1, factors.size}:
        raise other_parameters(f"{zeros.size} zero points, {factors.size} scales")
    if kind is DType.INT32 and zeros.any():
        raise other_parameters(f"the zero point {zeros.max()} of int32")
    axis = node.integer("axis", _DEFAULT_AXIS)
    parameters = Parameters(
        scale=factors,
        zero=np.broadcast_to(zeros, (factors.size,)).reshape(factors.shape),
        axis=axis if factors.ndim else None,
        kind=kind,
        real=DType.from_numpy(scale.dtype),
    )
    known = known_type(graph, node.input_names[0])
    if known is not None and known.dims is not None and not parameters.fits(known.dims):
        raise other_parameters(f"{factors.size} scales along axis {axis}")
    return parameters


def _constant(graph: OnnxGraph, node: OnnxNode, position: int) -> NDArray[Any] | None:
    """An input that must be known; None where it is absent."""
    name = node.input_name(position)
    if not name:
        return None
    const, foreign = graph.consts.get(name), graph.foreign.get(name)
    if foreign is not None:
        raise NoCounterpartError(other_kind(element_name(foreign.element)))
    if const is None:
        raise NoCounterpartError(Reason.COMPUTED_PARAMETERS)
    return const.numpy()


def _kind(graph: OnnxGraph, node: OnnxNode, zero: NDArray[Any] | None) -> DType:
    known = known_type(graph, node.input_names[0])
    kinds: set[DType | str] = set()
    if zero is not None:
        kinds.add(DType.from_numpy(zero.dtype))
    if node.op_type == "DequantizeLinear":
        if known is not None and known.element:
            kinds.add(_type_name(known.element))
        allowed = {*_QUANTIZED, DType.INT32}
    else:
        wanted = node.integer("output_dtype")
        if wanted:
            kinds.add(_type_name(wanted))
        kinds = kinds or {DType.UINT8}
        allowed = _QUANTIZED
    odd = sorted(str(kind.value if isinstance(kind, DType) else kind) for kind in kinds - allowed)
    if odd:
        raise NoCounterpartError(other_kind(odd[0]))
    if len(kinds) != 1:
        raise NoCounterpartError(Reason.UNKNOWN_KIND)
    return next(kind for kind in allowed if kind in kinds)


def _type_name(element: int) -> DType | str:
    """An element type; one that no tensor can have here by ONNX's name."""
    return dtype_of_element(element) or element_name(element)


_LEAST, _MOST = 2.0**-14, 65504.0
"""Between these, factors are normal float16 numbers."""

_NUMBERS = {DType.FLOAT32: 0, DType.FLOAT16: 1}


def number_of(real: DType) -> int:
    """The value of CANN's attribute dtype: 0 for float32, 1 for float16."""
    return _NUMBERS[real]


def quantizing(parameters: Parameters) -> dict[str, Any] | None:
    """AscendQuant of a whole tensor: times 1 / scale, plus the zero point.

    The factor is whole: the compiler takes the root where float16 does not hold it, as ATC does,
    which reads `scale` alone and sets sqrt_mode itself.

    None where it cannot carry them: channels, and factors beyond what the device can hold.
    """
    if parameters.axis is not None:
        return None
    factor = 1.0 / parameters.factor
    if _factor_attributes(factor) is None:
        return None
    return {"scale": factor, "sqrt_mode": 0, **_quant(parameters.offset)}


def recoding(offset: int) -> dict[str, Any]:
    """AscendQuant of whole numbers, which adds an offset."""
    return {"scale": 1.0, "sqrt_mode": 0, **_quant(offset)}


def dequantizing(parameters: Parameters) -> dict[str, Any] | None:
    """AscendAntiQuant of a whole tensor: (x - zero point) * scale.

    None where it cannot carry them: channels, and factors beyond what the device can hold.
    """
    if parameters.axis is not None:
        return None
    scaled = _factor_attributes(parameters.factor)
    if scaled is None:
        return None
    return {**scaled, "offset": float(parameters.offset), "dtype": number_of(parameters.real)}


def widening(real: DType, offset: int = 0) -> dict[str, Any]:
    """AscendAntiQuant to whole numbers, which subtracts an offset."""
    return {"scale": 1.0, "sqrt_mode": 0, "offset": float(offset), "dtype": number_of(real)}


def _quant(offset: int) -> dict[str, Any]:
    """The attributes that every AscendQuant has."""
    return {"offset": float(offset), "round_mode": "Round", "dst_type": "INT8"}


def _factor_attributes(factor: float) -> dict[str, Any] | None:
    """A factor, or its root, applied twice, if it is not a normal float16 number."""
    root = not _LEAST <= factor <= _MOST
    scale = math.sqrt(factor) if root else factor
    return {"scale": scale, "sqrt_mode": int(root)} if _LEAST <= scale <= _MOST else None


class NoCounterpartError(Exception):
    """A node has no integer form."""

    def __init__(self, reason: Text, help_: Text | None = None) -> None:
        super().__init__(reason.en)
        self.reason = reason  # a sentence without full stop
        self.help = help_  # None for the usual thing


class Reason:
    """Reasons for which a node has no integer form, but for those made of parts."""

    NOT_REWRITTEN = Text("it reads a DequantizeLinear that cannot be rewritten")
    NO_WORD = Text("it has several zero points, and no AscendDequant follows that could carry them")
    IN_BLOCKS = Text("it quantizes in blocks")
    COMPUTED_PARAMETERS = Text("its scale or zero point is computed at run time")
    UNKNOWN_KIND = Text("the dtype of its data is not known")
    DATA_NOT_QUANTIZED = Text("its data is not quantized")
    DATA_PER_CHANNEL = Text("its data is quantized per channel")
    WEIGHTS_NOT_QUANTIZED = Text("its weights are not quantized")
    COMPUTED_WEIGHTS = Text("its weights are computed at run time")
    COMPUTED_BIAS = Text("its bias is computed at run time")
    SUMS_NOT_CONSTANT = Text("it reads int32 that is computed at run time")
    BOTH_CONSTANT = Text("it is computed when the model is converted")
    VOLUMES = Text("it is a 3-D convolution that is transposed or dilated along its depth")
    VOLUME_OFFSET = Text("it is a 3-D convolution, and the zero point of its data is not 0")
    VECTOR = Text("one of its operands is a vector, and their zero points are not 0")
    ODD_WEIGHTS = Text("its weights have too few axes")
    ODD_GROUPS = Text("its groups do not divide its channels")
    ODD_BIAS = Text("its bias does not fit its channels")
    OPERAND_NOT_QUANTIZED = Text("one of its operands is not quantized as a whole")
    OPEN_LENGTH = Text("its zero points are summed up over a dim that is open")
    UNKNOWN_RANK = Text("it is not known how many axes its operands have")
    OPEN_RESULT = Text(
        "its weights have a scale per channel, and more than one dim of its result is open"
    )
    EMPTY_RESULT = Text("its result has no elements")
    STACKED_WEIGHTS = Text("its weights have a scale per channel and are not a matrix")


def other_kind(kind: DType | str) -> Text:
    """The reason of codes of a dtype that the device does not have."""
    name = kind if isinstance(kind, str) else kind.value
    return Text("its codes are {name}; the device has only int8", name=name)


def other_scale(actual: object) -> NoCounterpartError:
    """The refusal of a value that cannot be a scale."""
    reason = Text("its scale is {actual}; a positive float32 or float16 is needed", actual=actual)
    return NoCounterpartError(
        reason,
        Text(
            "write positive, finite scales into the file, in float32 or float16: one, or one "
            "a channel"
        ),
    )


def other_parameters(actual: str) -> NoCounterpartError:
    """The refusal of parameters that do not fit each other or the data."""
    reason = Text("its parameters do not fit: {actual}", actual=actual)
    return NoCounterpartError(
        reason,
        Text(
            "give it one scale and one zero point, or one of each for every channel along an "
            "axis that the tensor has"
        ),
    )


def channels_elsewhere(actual: int, wanted: int) -> Text:
    """The reason for weights whose scales are not per output channel."""
    return Text(
        "its weights are quantized along axis {actual}, its channels are along axis {wanted}",
        actual=actual,
        wanted=wanted,
    )
