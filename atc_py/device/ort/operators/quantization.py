"""Quantization: floats to small integers and back, in float16 where every step is rounded to it."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.node import NoFormError
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import HardwareWords, channel_axis, decode_hardware
from atc_py.text import Text

F16, F32 = DType.FLOAT16, DType.FLOAT32

_ROUNDINGS = {"Round": "Round", "Floor": "Floor", "Ceil": "Ceil", "Trunc": None}
"""ONNX's operators; the cast to an integer cuts toward zero."""


@emulates("AscendQuant")
def ascend_quant(body: Body) -> str:
    """Write `y = saturate(round(x * scale + offset))`, with sqrt_mode times scale once more."""
    node = body.node
    compute = node.dtype_named("compute_type")
    values = body.x()
    if node.dtype() is F32:
        values = body.rounded(values, compute)
    for scale in _factors(body, compute):
        values = body.rounded(body.add("Mul", values, scale), compute)
    if _held(node.number("offset"), compute):
        offset = body.attribute("offset", compute)
        values = body.rounded(body.add("Add", values, offset), compute)
    rounding = _ROUNDINGS[node.text("round_mode")]
    if rounding:
        values = body.add(rounding, values)
    return saturated(body, values, node.dtype_named("dst_type"), nan=True)


def _factors(body: Body, compute: DType) -> list[str]:
    """Factors of x, one after the other; of float32 the root is squared first."""
    if _held(body.node.number("scale"), compute) == 1:
        return []
    scale = body.attribute("scale", compute)
    if not body.node.flag("sqrt_mode"):
        return [scale]
    return [scale, scale] if compute is F16 else [body.add("Mul", scale, scale)]


def _held(value: float, compute: DType) -> np.float32:
    with np.errstate(over="ignore"):
        held: np.float32 = np.float32(np.float16(value) if compute is F16 else value)
    return held


@emulates("AscendAntiQuant")
def ascend_anti_quant(body: Body) -> str:
    """Write `y = (x + offset) * scale`, every step rounded, with sqrt_mode scale twice."""
    node = body.node
    compute = node.dtype_named("compute_type")
    values = body.cast(body.own(), F32)
    if _held(node.number("offset"), compute):
        values = body.rounded(body.add("Add", values, body.attribute("offset", compute)), compute)
    scale = body.attribute("scale", compute)
    values = body.add("Mul", values, scale)
    if node.flag("sqrt_mode"):
        values = body.add("Mul", body.rounded(values, compute), scale)
    return _last(body, values) if compute is F16 else values


@emulates("AscendDequant")
def ascend_dequant(body: Body) -> str:
    """Write `y = x * factor` rounded to float16; relu_flag clears negatives, sqrt_mode repeats it."""
    node = body.node
    scale, finite = factor(body)
    values = body.add("Mul", body.cast(body.own(), F32), scale)
    if node.flag("relu_flag"):
        values = body.add("Relu", values) if finite else cleared(body, values)
    if node.flag("sqrt_mode"):
        values = body.add("Mul", body.rounded(values, F16), scale)
    return _last(body, values)


def _last(body: Body, values: str) -> str:
    """Results rounded to float16, which is left to the declared dtype where that is it."""
    return values if body.node.outputs[0].dtype is F16 else body.rounded(values, F16)


_ADDEND = 2

_LOW, _HIGH = -(2**15), 2**15 - 1


@emulates("AscendRequant")
def ascend_requant(body: Body) -> str:
    """Write `y = saturate(round(x * factor) + offset)`; relu_flag clears negative products."""
    return _requantized(body, body.own(), relu=body.node.flag("relu_flag"))


@emulates("AscendRequantS16")
def ascend_requant_s16(body: Body) -> list[str]:
    """Write `y1 = saturate(x0 + x1)`, cleared by relu_flag, and `y0`, which is y1 requantized."""
    node = body.node
    total = body.cast(body.own(), DType.INT32)
    if node.has(_ADDEND):
        addend = body.cast(body.own(_ADDEND), DType.INT32)
        total = _clipped(body, body.add("Add", total, addend))
    if node.flag("relu_flag"):
        total = body.add("Max", total, body.const(0, DType.INT32))
    result = _requantized(body, total, relu=False)
    if not node.flag("dual_output"):
        return [result]
    return [result, body.cast(total, DType.INT16)]


@emulates("AscendDequantS16")
def ascend_dequant_s16(body: Body) -> str:
    """Write `y = saturate(saturate(x0 >> N) + x1)`; relu_flag clears negatives before x1."""
    node, wide = body.node, DType.FLOAT64
    product = body.add("Mul", body.cast(body.own(), wide), halves(body))
    shifted = body.add("Floor", product)
    low = 0 if node.flag("relu_flag") else _LOW
    limits = body.const(low, wide), body.const(_HIGH, wide)
    total = body.cast(body.add("Clip", shifted, *limits), DType.INT32)
    if node.has(_ADDEND):
        addend = body.cast(body.own(_ADDEND), DType.INT32)
        if node.required(_ADDEND).dims != node.required(0).dims:
            addend = along_channels(body, addend, _ADDEND)
        total = _clipped(body, body.add("Add", total, addend))
    return body.cast(total, DType.INT16)


def _requantized(body: Body, x: str, *, relu: bool) -> str:
    """`saturate(round(x * factor) + offset)`, x and product rounded to float32."""
    scale, finite = factor(body)
    values = body.add("Mul", body.cast(x, DType.FLOAT32), scale)
    if relu:
        values = cleared(body, values)
    values = body.add("Round", values)
    zero = offset(body)
    if zero is not None:
        values = body.add("Add", values, zero)
    return saturated(body, values, DType.INT8, nan=not finite)


def _clipped(body: Body, values: str) -> str:
    return body.add("Clip", values, *(body.const(end, DType.INT32) for end in (_LOW, _HIGH)))


_SCALE = 1
"""Position of the words or factors."""

_FRACTION, _EXPONENT, _SIGN = (13, 10), (23, 8), (31, 1)
"""First bit and number of bits of the parts of a word's factor, which is a float32 cut off."""

_SHIFT, _OFFSET = (32, 4), (37, 9)
"""The same of the other parts."""


def factor(body: Body) -> tuple[str, bool]:
    """The factors as float32, and whether they are known to be finite."""
    if body.node.dtype(_SCALE) is not DType.UINT64:
        return along_channels(body, body.x(_SCALE), _SCALE), False
    found = _words(body)
    finite = found is not None and bool(np.isfinite(decode_hardware(found).scale).all())
    return _part(body, "factor", lambda words: words.scale, _factor_nodes), finite


def offset(body: Body) -> str | None:
    """The offsets of the results as float32; None where all are known to be 0."""
    found = _words(body)
    if found is not None and not decode_hardware(found).offset.any():
        return None
    return _part(body, "offset", lambda words: words.offset.astype(np.float32), _offset_nodes)


def halves(body: Body) -> str:
    """2^-N for a shift by N, as float64."""
    return _part(body, "halves", lambda words: np.ldexp(1.0, -words.shift), _halves_nodes)


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


def _part(
    body: Body,
    name: str,
    of_words: Callable[[HardwareWords], NDArray[Any]],
    of_nodes: Callable[[Body], str],
) -> str:
    dims = _dims(body, _SCALE)
    if _words(body) is None:
        return along_channels(body, of_nodes(body), _SCALE)

    def make(words: NDArray[Any]) -> NDArray[Any]:
        return of_words(decode_hardware(words)).reshape(dims)

    return body.form(_SCALE, "_".join([name, *map(str, dims)]), make)


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
