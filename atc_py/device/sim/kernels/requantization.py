"""Requantization: sums of products to small integers in one step, or over int16.

Operands are hardware words (`atc_py.tensor.scale_words`). Two things are not published of the units that
read them: how they round a product to an integer (taken as half to even, the offset added after
that) and how they shift (taken as toward minus infinity). Both are what CANN's quantization toolkit
simulates. The bits for relu and for the sign of the result are not read; the attribute relu_flag and
the dtype of the result say the same.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, kernel
from atc_py.device.sim.numerics.scaling import (
    along_channels,
    check_channels,
    check_dtype,
    check_scale,
    clear_negative,
    saturate,
)
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import decode_hardware
from atc_py.text import Text

I8, I16, I32, U64 = DType.INT8, DType.INT16, DType.INT32, DType.UINT64

_LOW, _HIGH = -(2**15), 2**15 - 1


def _requant_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The shape of x in int8."""
    check_dtype(node.x.dtype, "x", I32)
    check_scale(node, "req_scale", U64)
    return (TensorFacts(I8, node.x.dims),)


@kernel("AscendRequant", _requant_types)
def ascend_requant(call: Call) -> None:
    """Compute `y = saturate(round(x * factor) + offset)`; relu_flag clears negative products."""
    _requantize(call.x, call.input(1), call.out, relu=call.node.flag("relu_flag"))


def _requantize(
    x: NDArray[Any], words: NDArray[np.uint64], out: NDArray[Any], *, relu: bool
) -> None:
    """Compute `out = saturate(round(x * factor) + offset)`, x and product rounded to float32."""
    parts = decode_hardware(words)
    values = np.array(
        x, np.float32
    )  # of a scalar, too, which numpy's functions return no array for
    np.multiply(values, along_channels(parts.scale, x), out=values)
    if relu:
        clear_negative(values)
    np.rint(values, out=values)
    if parts.offset.any():
        values += along_channels(parts.offset.astype(np.float32), x)
    saturate(values, I8, out)


def _requant_s16_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The shape of x0 in int8; with dual_output in int16 as well."""
    check_dtype(node.x.dtype, "x0", I16)
    check_scale(node, "req_scale", U64)
    addend = node.input(2)
    if addend is not None and addend != node.x:
        raise NodeError(Text("x1 must be {x} like x0, found {found}", x=node.x, found=addend))
    requantized = TensorFacts(I8, node.x.dims)
    return (requantized, node.x) if node.flag("dual_output") else (requantized,)


@kernel("AscendRequantS16", _requant_s16_types)
def ascend_requant_s16(call: Call) -> None:
    """Compute `y1 = saturate(x0 + x1)`, cleared of negatives by relu_flag, and y0 requantized.

    `y0 = saturate(round(y1 * factor) + offset)`; y1 is an output with dual_output only.
    """
    addend = call.optional(2)
    total = call.x if addend is None else _sum(call.x, addend)
    if call.node.flag("relu_flag"):
        total = np.maximum(total, np.int16(0))
    if call.node.flag("dual_output"):
        np.copyto(call.outputs[1], total)
    _requantize(total, call.input(1), call.out, relu=False)


def _dequant_s16_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The shape of x0 in int16; x1 has one element for each channel, or the shape of x0."""
    check_dtype(node.x.dtype, "x0", I32)
    check_scale(node, "deq_scale", U64)
    addend = node.input(2)
    if addend is not None:
        check_dtype(addend.dtype, "x1", I16)
        if addend.shape != node.x.shape:
            check_channels(node.x, addend, "x1")
    return (TensorFacts(I16, node.x.dims),)


@kernel("AscendDequantS16", _dequant_s16_types)
def ascend_dequant_s16(call: Call) -> None:
    """Compute `y = saturate(saturate(x0 >> N) + x1)`; relu_flag clears negatives before x1."""
    shift = along_channels(decode_hardware(call.input(1)).shift.astype(np.int32), call.x)
    low = 0 if call.node.flag("relu_flag") else _LOW
    shifted = np.clip(call.x >> shift, low, _HIGH).astype(np.int16)
    addend = call.optional(2)
    if addend is not None:
        whole = addend.shape == call.x.shape
        shifted = _sum(shifted, addend if whole else along_channels(addend, call.x))
    np.copyto(call.out, shifted)


def _sum(one: NDArray[np.int16], other: NDArray[np.int16]) -> NDArray[np.int16]:
    """The sum of two int16 tensors, held within int16."""
    return np.clip(np.add(one, other, dtype=np.int32), _LOW, _HIGH).astype(np.int16)
