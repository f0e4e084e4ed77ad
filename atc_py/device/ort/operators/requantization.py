"""Requantization: sums of products to small integers in one step, or over int16."""

from atc_py.device.ort.body import Body
from atc_py.device.ort.registry import emulates
from atc_py.device.ort.scales import along_channels, cleared, factor, halves, offset, saturated
from atc_py.tensor.dtypes import DType

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
        total = _held(body, body.add("Add", total, addend), _LOW, _HIGH)
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
        total = _held(body, body.add("Add", total, addend), _LOW, _HIGH)
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


def _held(body: Body, values: str, low: int, high: int) -> str:
    """Int32 within bounds."""
    return body.add("Clip", values, body.const(low, DType.INT32), body.const(high, DType.INT32))
