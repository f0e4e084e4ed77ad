"""Operands of quantization: factors, shifts and offsets along channels, taken out of scale words.

Words that are constants are taken apart when the model is written, others by nodes in the run.
"""

from collections.abc import Callable
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from atc_py.device.ort.body import Body
from atc_py.device.ort.node import NoFormError
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import channel_axis, decode_hardware
from atc_py.text import Text

_SCALE = 1
"""Position of the words or factors."""

_FRACTION, _EXPONENT, _SIGN = (13, 10), (23, 8), (31, 1)
"""First bit and number of bits of the parts of a word's factor, which is a float32 cut off."""

_SHIFT, _OFFSET = (32, 4), (37, 9)
"""The same of the other parts."""


class _Part(Protocol):
    """A part of a word: of data, and as nodes."""

    def __call__(self, words: NDArray[np.uint64]) -> NDArray[Any]: ...


def factor(body: Body) -> tuple[str, bool]:
    """The factors as float32, and whether they are known to be finite."""
    if body.node.dtype(_SCALE) is not DType.UINT64:
        return along_channels(body, body.x(_SCALE), _SCALE), False
    found = _words(body)
    finite = found is not None and bool(np.isfinite(decode_hardware(found).scale).all())
    return _part(body, "factor", _factor, _factor_nodes), finite


def offset(body: Body) -> str | None:
    """The offsets of the results as float32; None where all are known to be 0."""
    found = _words(body)
    if found is not None and not decode_hardware(found).offset.any():
        return None
    return _part(body, "offset", _offset, _offset_nodes)


def halves(body: Body) -> str:
    """2^-N for a shift by N, as float64."""
    return _part(body, "halves", _halves, _halves_nodes)


def along_channels(body: Body, value: str, position: int) -> str:
    """An operand of one element, or one for each channel of `x`, such that it broadcasts."""
    dims = _dims(body, position)
    if body.node.required(position).dims == dims:
        return value
    return body.add("Reshape", value, body.ints(*dims))


def cleared(body: Body, values: str) -> str:
    """Values with 0 for negative ones; NaN stays."""
    return body.add("Max", values, body.const(0.0))


def saturated(body: Body, values: str, dtype: DType, *, nan: bool) -> str:
    """Float32 in an integer dtype: held within it, cut toward zero, 0 for NaN.

    `dtype` is INT4, INT8 or INT16; `nan` is true if there may be NaN.
    """
    if nan:
        values = body.add("Where", body.add("IsNaN", values), body.const(0.0), values)
    low, high = -(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1
    return body.cast(body.add("Clip", values, body.const(low), body.const(high)), dtype)


def _words(body: Body) -> NDArray[Any] | None:
    return body.node.constant(_SCALE)


def _dims(body: Body, position: int) -> tuple[int, ...]:
    """Dims in which an operand of one element, or one for each channel, broadcasts."""
    node = body.node
    dims, count = node.required(0).dims, prod(node.shape(position))
    if count == 1:
        return (1,) * len(dims)
    axis = channel_axis(dims, count)
    if None in dims and axis != 1 and len(dims) > 1:
        open_dims = [at for at in {1, len(dims) - 1} if dims[at] is None]
        if len(open_dims) + (axis is not None) != 1:
            raise NoFormError(Text("with open dims it is not known which axis holds the channels"))
        axis = open_dims[0] if axis is None else axis
    axis = len(dims) - 1 if axis is None else axis
    return tuple(count if at == axis else 1 for at in range(len(dims)))


def _part(body: Body, name: str, of_data: _Part, of_nodes: Callable[[Body], str]) -> str:
    dims = _dims(body, _SCALE)
    if _words(body) is None:
        return along_channels(body, of_nodes(body), _SCALE)

    def make(words: NDArray[Any]) -> NDArray[Any]:
        return of_data(words).reshape(dims)

    return body.form(_SCALE, "_".join([name, *map(str, dims)]), make)


def _factor(words: NDArray[np.uint64]) -> NDArray[np.float32]:
    return decode_hardware(words).scale


def _offset(words: NDArray[np.uint64]) -> NDArray[np.float32]:
    return decode_hardware(words).offset.astype(np.float32)


def _halves(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    return np.ldexp(1.0, -decode_hardware(words).shift)


# In the run -------------------------------------------------------------------------------------


def _field(body: Body, first: int, bits: int) -> str:
    """The number in `bits` bits of each word from bit `first` on, as int64."""
    dtype = DType.UINT64
    low = body.add("BitShift", body.own(_SCALE), body.const(first, dtype), direction="RIGHT")
    return body.cast(body.add("BitwiseAnd", low, body.const((1 << bits) - 1, dtype)), DType.INT64)


def _factor_nodes(body: Body) -> str:
    """The factors: the fraction, with its leading one, times a power of two."""
    fraction, exponent = _field(body, *_FRACTION), _field(body, *_EXPONENT)
    bits = _FRACTION[1]
    powers = np.ldexp(1.0, np.maximum(np.arange(255), 1) - 127 - bits)
    power = body.add("Gather", body.const([*powers, np.inf]), exponent)
    zero, one = body.const(0, DType.INT64), body.const(1 << bits, DType.INT64)
    leading = body.add("Where", body.add("Equal", exponent, zero), zero, one)
    whole = body.cast(body.add("Add", fraction, leading), DType.FLOAT32)
    value = body.add("Mul", whole, power)
    special = body.add("Equal", exponent, body.const(255, DType.INT64))
    nan = body.add("And", special, body.cast(fraction, DType.BOOL))
    value = body.add("Where", nan, body.const(np.nan), value)
    negative = body.cast(_field(body, *_SIGN), DType.BOOL)
    return body.add("Where", negative, body.add("Neg", value), value)


def _offset_nodes(body: Body) -> str:
    sign = body.const(1 << _OFFSET[1] - 1, DType.INT64)
    signed = body.add("Sub", body.add("BitwiseXor", _field(body, *_OFFSET), sign), sign)
    return body.cast(signed, DType.FLOAT32)


def _halves_nodes(body: Body) -> str:
    powers = body.const(np.ldexp(1.0, -np.arange(1, 17)), DType.FLOAT64)
    return body.add("Gather", powers, _field(body, *_SHIFT))
