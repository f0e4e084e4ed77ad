"""Weights of integer layers, their scale words, and biases as int32."""

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.ir import ConstData
from atc_py.onnx_graph.rewriting.qdq.parameters import (
    NoCounterpartError,
    Reason,
    broadcast_along,
    channels_elsewhere,
)
from atc_py.onnx_graph.rewriting.qdq.tensors import Codes, KnownTensors
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import GraphWords, encode_graph
from atc_py.tensor.shapes import Shape
from atc_py.text import Text, verbatim

_INT8 = np.iinfo(np.int8)
_INT32 = np.iinfo(np.int32)

_LEAST, _MOST = 2.0**-14 / 2**31, 65504.0
"""Below, no int32 becomes a normal float16 number; above, all but 0 overflow."""

_SAME_SCALE = 2.0**-20
"""Largest relative difference between the scale of a bias and that of its layer."""


class Weights(msgspec.Struct, frozen=True, eq=False):
    """Constant int8 weights, (code - offset) * scale."""

    name: str  # the codes, in the graph
    const: ConstData
    scale: NDArray[np.float32]  # one factor, or one per channel
    # the zero point left in the int8 codes, in the shape of `scale`; 0 in most models
    offset: NDArray[np.int64]
    axis: int  # the axis of the channels, from 0

    @property
    def shape(self) -> Shape:
        return self.const.shape

    def sums(self, axes: tuple[int, ...], *, keepdims: bool = False) -> NDArray[np.int64]:
        """Sums of code - offset over some axes."""
        offset = broadcast_along(self.offset, self.axis, len(self.shape))
        minus = np.broadcast_to(offset, self.shape)
        codes: NDArray[Any] = self.const.numpy()
        totals = (part.sum(axes, np.int64, keepdims=keepdims) for part in (codes, minus))
        total: NDArray[np.int64] = next(totals) - next(totals)
        self.const.release()
        return total


def prepared(writer: Writer, codes: Codes, axis: int) -> Weights:
    """Weights whose channels, if each has its own scale, are along `axis`.

    A zero point is subtracted from the codes if the result is still int8.
    """
    stored, parameters = codes.stored, codes.parameters
    const = stored.const
    if const is None:
        raise TypeError("weights are constant")
    shape = const.shape
    if len(shape) <= axis:
        raise NoCounterpartError(Reason.ODD_WEIGHTS)
    if parameters.axis is not None and parameters.axis % len(shape) != axis:
        raise NoCounterpartError(channels_elsewhere(parameters.axis % len(shape), axis))
    zero = parameters.zero
    if not zero.any():
        return Weights(stored.name, const, parameters.scale, np.zeros_like(zero), axis)
    minus = broadcast_along(zero.astype(np.int16), axis, len(shape))
    apart = const.numpy().astype(np.int16) - minus
    fits = not apart.size or (apart.min() >= _INT8.min and apart.max() <= _INT8.max)
    if not fits:
        return Weights(stored.name, const, parameters.scale, zero, axis)
    name = writer.derived(
        f"{stored.name}/apart",
        const,
        DType.INT8,
        lambda codes: (codes.astype(np.int16) - minus).astype(np.int8),
    )
    none = np.zeros_like(zero)
    return Weights(name, writer.graph.consts[name], parameters.scale, none, axis)


def scale_words(scale: NDArray[Any], offset: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Words of AscendDequant, in a list.

    Its results are float16 numbers, so there are none of factors by which all would be 0 or
    infinity.
    """
    with np.errstate(all="ignore"):
        factors = np.atleast_1d(np.asarray(scale, np.float64).astype(np.float32))
    wrong = factors[~((factors >= _LEAST) & (factors <= _MOST))]
    if wrong.size:
        raise NoCounterpartError(
            Text(
                "the product of its scales is {factor}, its results are beyond float16",
                factor=f"{float(wrong[0]):.3g}",
            )
        )
    offsets = np.broadcast_to(np.atleast_1d(offset), factors.shape)
    return encode_graph(GraphWords(factors, np.zeros(factors.shape, np.int64), offsets))


def real_bias(tensors: KnownTensors, writer: Writer, name: str) -> NDArray[np.float64]:
    """A bias, which must be constant, as real numbers."""
    codes, const = tensors.codes.get(name), writer.graph.consts.get(name)
    if codes is not None and codes.stored.const is not None:
        parameters = codes.parameters
        values = codes.stored.const.numpy().astype(np.float64)
        zero, scale = (
            parameters.along(part, values.ndim) for part in (parameters.zero, parameters.scale)
        )
        real: NDArray[np.float64] = (values - zero) * np.asarray(scale, np.float64)
        return real
    if const is None:
        raise NoCounterpartError(Reason.COMPUTED_BIAS)
    return const.numpy().astype(np.float64)


def integers(
    tensors: KnownTensors, name: str, scale: NDArray[np.float64]
) -> NDArray[np.int64] | None:
    """The bias called `name` if the file already has it as int32 of that scale."""
    codes = tensors.codes.get(name)
    if codes is None or codes.stored.const is None or codes.parameters.kind is not DType.INT32:
        return None
    numbers = codes.stored.const.numpy().astype(np.int64).reshape(-1)
    ratio = codes.parameters.scale.astype(np.float64).reshape(-1) / scale.reshape(-1)
    if ratio.size not in {1, numbers.size} or (np.abs(ratio - 1) > _SAME_SCALE).any():
        return None
    return numbers


def within_int32(name: Text, values: NDArray[Any]) -> NDArray[np.int32]:
    """`values` as int32; refused if one of them does not fit."""
    values = np.asarray(values)
    wrong = values[~((values >= _INT32.min) & (values <= _INT32.max))]
    if wrong.size:
        actual = verbatim(f"{float(wrong.flat[0]):.6g}")
        leaves = Text(" leaves int32: ")
        raise NoCounterpartError(name + leaves + actual)
    return values.astype(np.int32)
