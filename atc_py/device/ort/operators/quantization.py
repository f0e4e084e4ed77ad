"""Quantization: floats to small integers and back, in float16 where every step is rounded to it."""

import numpy as np

from atc_py.device.ort.body import Body
from atc_py.device.ort.registry import emulates
from atc_py.device.ort.scales import along_channels, cleared, factor, halves, offset, saturated
from atc_py.tensor.dtypes import DType

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
        total = _clipped(body, body.add("Add", total, addend), _LOW, _HIGH)
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
        total = _clipped(body, body.add("Add", total, addend), _LOW, _HIGH)
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


def _clipped(body: Body, values: str, low: int, high: int) -> str:
    return body.add("Clip", values, body.const(low, DType.INT32), body.const(high, DType.INT32))
