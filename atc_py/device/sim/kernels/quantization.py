"""Quantization: floats to small integers and back.

Arithmetic is that of CANN's kernels: in float16, every step rounded, but for AscendQuant on SoCs
where it computes in float32, and for AscendDequant with words, whose factor is a float32 of 19 bits.
The bit of a word that clears negative values is not read; the attribute relu_flag says the same.
Integers saturate; NaN becomes 0, infinities the ends of the range.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Rounding, kernel
from atc_py.device.sim.numerics.rounding import round_to_grid
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.tensor.scale_words import channel_axis, decode_hardware, is_a_list
from atc_py.text import Text

Floats = NDArray[np.float32]


Flat: TypeAlias = Callable[[NDArray[Any], NDArray[Any], Floats], None]


_BLOCK = 32 * 1024
"""Elements at a time: operand, result and scratch of a block stay in the L2 cache.

One thread does all blocks, for the reason that `numerics` gives for rounding.
"""

_ZEROS = np.zeros(_BLOCK, np.float32)
_ZEROS.flags.writeable = False  # an array, because numpy's maximum with a scalar is 3 times slower

_LIMITS = {
    dtype: (np.float32(-(2 ** (dtype.bits - 1))), np.float32(2 ** (dtype.bits - 1) - 1))
    for dtype in (DType.INT4, DType.INT8, DType.INT16)
}
"""The ends of integer dtypes."""


def saturate(values: Floats, dtype: DType, out: NDArray[Any]) -> None:
    """Saturate whole numbers to `dtype`, in its carrier. Changes `values`, which are not empty."""
    low, high = _LIMITS[dtype]
    np.clip(values, low, high, out=values)
    if np.isnan(np.maximum.reduce(values, axis=None)):
        np.copyto(values, 0, where=np.isnan(values))
    np.copyto(out, values, casting="unsafe")


def clear_negative(values: Floats) -> None:
    """Set negative values and -0 to 0, in place; NaN stays. `values` are in C order."""
    flat = values.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        np.maximum(block, _ZEROS[: block.size], out=block)
        np.add(block, np.float32(0), out=block)


def by_flat_blocks(call: Call, formula: Flat) -> None:
    """Call `formula(x, out, scratch)` on flat blocks of the first input and the first output.

    It fills `out`, which has as many elements as x; `scratch` is float32 that nothing else uses.
    """
    x, out = call.x.reshape(-1), call.out.reshape(-1)
    scratch = call.workspace.take("block", (min(_BLOCK, x.size),), np.float32)
    for start in range(0, x.size, _BLOCK):
        target = out[start : start + _BLOCK]
        formula(x[start : start + _BLOCK], target, scratch[: target.size])


def along_channels(parts: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """One element, or one per channel of `x`, in a shape that broadcasts against `x`."""
    axis = channel_axis(x.shape, parts.size)
    if parts.size == 1 or axis is None:
        return parts.reshape((1,) * x.ndim)
    return parts.reshape(-1, *(1,) * (x.ndim - 1 - axis))


def check_scale(node: NodeView, name: str, *dtypes: DType) -> None:
    scale = node.required(1)
    check_dtype(scale.dtype, name, *dtypes)
    check_channels(node.x, scale, name)


def check_channels(x: TensorFacts, facts: TensorFacts, name: str) -> None:
    fits = channel_axis(x.shape, facts.elements) is not None and is_a_list(facts.shape)
    if facts.elements != 1 and not fits:
        text = Text("{name} must have 1 element or 1 for each channel of {x}, found {found}")
        raise NodeError(text.with_values(name=name, x=x, found=facts))


def check_dtype(found: DType, name: str, *dtypes: DType) -> DType:
    if found not in dtypes:
        listed = " or ".join(dtype.value for dtype in dtypes)
        text = Text("{name} must be {allowed} on this device, found {found}")
        raise NodeError(text.with_values(name=name, allowed=listed, found=found.value))
    return found


F16, F32 = DType.FLOAT16, DType.FLOAT32
I4, I8, I16, I32, U64 = DType.INT4, DType.INT8, DType.INT16, DType.INT32, DType.UINT64

_ROUNDINGS: Mapping[str, np.ufunc] = {
    "Round": np.rint,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Trunc": np.trunc,
}


def _quant_types(node: NodeView) -> tuple[TensorFacts, ...]:
    check_dtype(node.x.dtype, "x", F16, F32)
    check_dtype(node.dtype_named("compute_type"), "compute_type", F16, F32)
    target = check_dtype(node.dtype_named("dst_type"), "dst_type", I4, I8, I16)
    mode = node.text("round_mode")
    if mode not in _ROUNDINGS:
        text = Text("round_mode must be one of {known}, found {found}")
        raise NodeError(text.with_values(known=", ".join(_ROUNDINGS), found=mode))
    return (TensorFacts(target, node.x.dims),)


@kernel("AscendQuant", _quant_types)
def ascend_quant(call: Call) -> None:
    """Compute `y = saturate(round(x * scale + offset))`, with sqrt_mode times scale once more.

    In float16 x, scale, offset and the result of every step are rounded to float16. In float32
    they are rounded to float32, and sqrt_mode squares the factor first.
    """
    node = call.node
    compute, target = node.dtype_named("compute_type"), node.dtype_named("dst_type")
    factors = _factors(node, compute)
    offset = _constant(node.number("offset"), compute)
    rounding = _ROUNDINGS[node.text("round_mode")]
    narrows = node.x.dtype is F32 and compute is F16

    def in_steps(values: Floats) -> Floats:
        return round_to_grid(values, F16, values) if compute is F16 else values

    def formula(x: Floats, out: NDArray[Any], values: Floats) -> None:
        if narrows:
            x = round_to_grid(x, compute, values)
        for factor in factors:
            x = in_steps(np.multiply(x, factor, out=values))
        if offset:
            x = in_steps(np.add(x, offset, out=values))
        saturate(rounding(x, out=values), target, out)

    by_flat_blocks(call, formula)


def _factors(node: NodeView, compute: DType) -> list[np.float32]:
    """Factors of x, one after the other; none if they change nothing."""
    scale = _constant(node.number("scale"), compute)
    if scale == 1:
        return []
    if not node.flag("sqrt_mode"):
        return [scale]
    return [scale, scale] if compute is F16 else [scale * scale]


def _constant(value: float, compute: DType) -> np.float32:
    """An attribute as a kernel holds it that computes in `compute`."""
    constant: np.float32 = np.float32(np.float16(value) if compute is F16 else value)
    return constant


def _multiply(values: Floats, factor: Floats | np.float32) -> None:
    np.multiply(values, factor, out=values)
    round_to_grid(values, F16, values)


def _anti_quant_types(node: NodeView) -> tuple[TensorFacts, ...]:
    check_dtype(node.x.dtype, "x", I8)
    check_dtype(node.dtype_named("compute_type"), "compute_type", F16, F32)
    return (TensorFacts(check_dtype(node.dtype_named("dtype"), "dtype", F16, F32), node.x.dims),)


@kernel("AscendAntiQuant", _anti_quant_types, rounding=Rounding.ON_GRID)
def ascend_anti_quant(call: Call) -> None:
    """Compute `y = (x + offset) * scale`, with sqrt_mode times scale once more.

    In float16 scale, offset and the result of every step are rounded to float16, whatever dtype y
    has. In float32 they are rounded to float32, and y once more where it is float16.
    """
    node = call.node
    compute = node.dtype_named("compute_type")
    scale = _constant(node.number("scale"), compute)
    offset = _constant(node.number("offset"), compute)
    np.copyto(call.out, call.x)
    if offset:
        call.out[...] += offset
        round_to_grid(call.out, compute, call.out)
    for _ in range(2 if node.flag("sqrt_mode") else 1):
        np.multiply(call.out, scale, out=call.out)
        round_to_grid(call.out, compute, call.out)
    if compute is F32:
        round_to_grid(call.out, node.dtype_named("dtype"), call.out)


def _dequant_types(node: NodeView) -> tuple[TensorFacts, ...]:
    check_dtype(node.x.dtype, "x", I32)
    check_scale(node, "deq_scale", U64, F16)
    if node.flag("sqrt_mode") and node.required(1).dtype is U64:
        raise NodeError(Text("sqrt_mode goes with float16 factors, found uint64"))
    return (TensorFacts(check_dtype(node.dtype_named("dtype"), "dtype", F16, F32), node.x.dims),)


@kernel("AscendDequant", _dequant_types, rounding=Rounding.ON_GRID)
def ascend_dequant(call: Call) -> None:
    """Compute `y = x * factor`, rounded to float16 for any dtype; relu_flag clears negatives.

    x is rounded to float32, and so is the product before it is rounded to float16: sums beyond
    65504 are no sums lost. That is Ascend C's conversion of int32 by a deqScale (SetDeqScale). With
    float16 factors sqrt_mode multiplies the float16 result by the factor once more.
    """
    in_half = call.node.required(1).dtype is F16
    scale = call.input(1) if in_half else decode_hardware(call.input(1)).scale
    factor = along_channels(scale, call.x)
    np.copyto(call.out, call.x, casting="unsafe")
    _multiply(call.out, factor)
    if call.node.flag("relu_flag"):
        clear_negative(call.out)
    if call.node.flag("sqrt_mode"):
        _multiply(call.out, factor)


# Requantization ---------------------------------------------------------------------------------
#
# Operands are hardware words (`atc_py.tensor.scale_words`). Two things are not published of the units
# that read them: how they round a product to an integer (taken as half to even, the offset added
# after that) and how they shift (taken as toward minus infinity). Both are what CANN's quantization
# toolkit simulates. The bits for relu and for the sign of the result are not read; the attribute
# relu_flag and the dtype of the result say the same.


_LOW, _HIGH = -(2**15), 2**15 - 1


def _requant_types(node: NodeView) -> tuple[TensorFacts, ...]:
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
    values = np.array(x, np.float32)  # numpy's functions return no array for a scalar
    np.multiply(values, along_channels(parts.scale, x), out=values)
    if relu:
        clear_negative(values)
    np.rint(values, out=values)
    if parts.offset.any():
        values += along_channels(parts.offset.astype(np.float32), x)
    saturate(values, I8, out)


def _requant_s16_types(node: NodeView) -> tuple[TensorFacts, ...]:
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
    return np.clip(np.add(one, other, dtype=np.int32), _LOW, _HIGH).astype(np.int16)
