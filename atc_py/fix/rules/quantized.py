"""Rules of quantized values and weights.

Over 400 lines because a page holds its whole family.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase, case, contrib_case, data
from atc_py.fix.context import RuleContext
from atc_py.fix.parts.codes import DATA_SHARE, WEIGHT_SHARE, centered_codes, dynamic_codes, scaled
from atc_py.fix.rule import BOUNDED, EQUAL, REORDERED, rule
from atc_py.fix.unfit import require, skip_unless
from atc_py.onnx_graph.graph import OnnxNode
from atc_py.tensor.dtypes import DType

_BYTE = 8


def unpacked(packed: NDArray[Any], bits: int) -> NDArray[Any]:
    """The integers of the last axis, of which each byte holds `8 / bits`, low bits first."""
    require(bits in (2, 4, 8), "2, 4 or 8 bits", found=bits)
    shifts = tables.arange(_BYTE // bits, dtype=np.uint8) * np.uint8(bits)
    parts: NDArray[Any] = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return parts.reshape(*packed.shape[:-1], -1)


def blocks_as_floats(
    values: NDArray[Any], scales: NDArray[Any], zeros: NDArray[Any] | float
) -> NDArray[Any]:
    """(values - zeros) * scales in float32.

    `values` are `[..., blocks, size]`, `scales` `[..., blocks]`, as are `zeros`, or one for all.
    """
    points = np.asarray(zeros, np.float32)
    shifted = values.astype(np.float32) - (points[..., None] if points.ndim else points)
    return np.asarray(shifted * scales.astype(np.float32)[..., None])


LIMITS = {
    DType.INT8: (-128, 127),
    DType.UINT8: (0, 255),
    DType.INT16: (-(2**15), 2**15 - 1),
    DType.UINT16: (0, 2**16 - 1),
}
"""Codes that float32 holds exactly."""


def spread(ctx: RuleContext, position: int, dtype: DType = DType.FLOAT32) -> str:
    """Write scales or zero points in `dtype` so that they broadcast to the first input."""
    tensor = ctx.input(position)
    dims, around = ctx.shape(position), ctx.shape(0)
    block = ctx.integer("block_size", 0)
    x = tensor.name if tensor.dtype is dtype else ctx.cast(tensor.name, dtype)
    if dims in {(), (1,)}:
        return x if not dims else ctx.reshape(x, [])
    axis = ctx.axis(1, len(around))
    if block:
        places = tables.arange(around[axis]) // block
        require(len(dims) == len(around), "blocks have the rank of x")
        return ctx.op("Gather", x, ctx.const(places, label="places"), axis=axis)
    require(len(dims) == 1, "parameters have one axis")
    return ctx.reshape(x, [-1, *[1] * (len(around) - axis - 1)])


_EXACT = 2**24


@rule(
    EQUAL,
    case("DequantizeLinear", Fed((3, 4), DType.UINT8), [], np.array(3, np.uint8)),
    operators="DequantizeLinear com.microsoft::DequantizeLinear",
    miss=case("DequantizeLinear", Fed((3, 4), DType.INT32), []),
    boundary=(
        case("DequantizeLinear", Fed((3, 4), DType.INT32, (-(2**24), 2**24)), []),
        case(
            "DequantizeLinear", Fed((3, 4), DType.UINT16), [], np.array(65535, np.uint16), opset=21
        ),
    ),
    float16="codes over 2048 are not exact",
)
def dequantize_as_steps(ctx: RuleContext) -> str:
    """DequantizeLinear with computed parameters, in blocks, of 16 or 32 bits -> Cast, Sub, Mul, if
    scales are float32; codes have 8 or 16 bits, or are int32 up to 2^24.

    y = (x - z) * s, where no quantized layer of the device takes it.
    """
    require(ctx.input(1).dtype is DType.FLOAT32, "the scale is float32")
    bounds = ctx.range(0)
    fits = bounds is not None and max(-bounds.low, bounds.high) <= _EXACT
    require(
        ctx.element in LIMITS or fits,
        "codes are at most 2^24; give bounds with --range {name}=LOW:HIGH",
        [ctx.name(0)],
        name=ctx.name(0),
    )
    y = ctx.cast(ctx.name(0), DType.FLOAT32)
    if ctx.tensor(2) is not None:
        y = ctx.op("Sub", y, spread(ctx, 2))
    return ctx.op("Mul", y, spread(ctx, 1))


_CODES_OF_8_BITS = 255
# Largest number of float16.
_FLOAT16 = 65504.0


@rule(
    REORDERED,
    case("QuantizeLinear", [3, 4], [], np.array(3, np.uint8)),
    operators="QuantizeLinear com.microsoft::QuantizeLinear",
    miss=case("QuantizeLinear", Fed((3, 4), DType.FLOAT16), Fed((), DType.FLOAT16), opset=19),
    boundary=(
        case("QuantizeLinear", [8, 16], [], np.array(30000, np.uint16), opset=21),
        case("QuantizeLinear", [8, 16], [], np.array(-30000, np.int16), opset=21),
        case("QuantizeLinear", [3, 4], [], np.array(255, np.uint8)),
    ),
    float16="a quotient may round to the next code; one of 2048 or more is not exact",
)
def quantize_as_steps(ctx: RuleContext) -> str:
    """QuantizeLinear with computed parameters, in blocks, or to codes of 16 bits -> Div, Round,
    Add, Clip, Cast, if x is float32 and finite; codes have 8 or 16 bits.

    y = sat(round(x / s) + z), where no quantized layer of the device takes it.
    """
    require(ctx.element is DType.FLOAT32, "x is float32", found=ctx.element.value)
    require(ctx.input(1).dtype is DType.FLOAT32, "the scale is float32")
    result = ctx.output(0)
    dtype = None if result is None else result.dtype
    require(dtype in LIMITS, "codes have 8 or 16 bits")
    y = ctx.op("Round", ctx.op("Div", ctx.name(0), spread(ctx, 1)))
    low, high = LIMITS[dtype or DType.UINT8]
    if ctx.tensor(2) is None or high - low <= _CODES_OF_8_BITS:
        y = ctx.add(y, spread(ctx, 2) if ctx.tensor(2) is not None else "")
        return ctx.cast(ctx.clip(y, low, high), dtype or DType.UINT8)
    # Sums of 16-bit codes are not exact in float16, and it has infinities where float32 has numbers:
    # both parts are within its range, and together they reach beyond all codes.
    parts = [ctx.clip(y, -_FLOAT16, _FLOAT16)]
    parts.append(ctx.clip(ctx.op("Sub", y, parts[0]), -_FLOAT16, _FLOAT16))
    whole = ctx.op("Add", *(ctx.cast(part, DType.INT32) for part in parts))
    y = ctx.op("Add", whole, spread(ctx, 2, DType.INT32))
    limits = [ctx.const(value, DType.INT32, "limit") for value in (high, low)]
    y = ctx.op("Max", ctx.op("Min", y, limits[0]), limits[1])
    return ctx.cast(y, dtype or DType.UINT16)


@rule(
    REORDERED,
    case("DynamicQuantizeLinear", [2, 3, 4], opset=11, outputs=3),
    miss=case("DynamicQuantizeLinear", Fed((2, 3), DType.FLOAT16), opset=11, outputs=3),
    float16="a quotient may round to the next code; steps below 6e-5 lose digits",
)
def dynamic_quantize_as_steps(ctx: RuleContext) -> Sequence[str]:
    """DynamicQuantizeLinear -> ReduceMax, ReduceMin, the step, Div, Round, Clip, Cast, if x is
    float32 of known rank, and finite.

    s = (max(x, 0) - min(x, 0)) / 255, z = sat(round(-min(x, 0) / s)), y = sat(round(x / s) + z), by
    ONNX's definition of DynamicQuantizeLinear.
    """
    require(ctx.element is DType.FLOAT32, "x is float32", found=ctx.element.value)
    codes, step, zero = dynamic_codes(ctx, ctx.name(0), len(ctx.dims(0)))
    return [ctx.cast(codes, DType.UINT8), step, ctx.cast(zero, DType.UINT8)]


def _case(*, one_step: bool) -> RuleCase:
    step = ConstInput(np.array(0.1 if one_step else [0.1] * 3, np.float32))
    zero = ConstInput(np.array(3, np.uint8))
    codes = Fed((2, 3), DType.UINT8)
    numbers = (codes, step, zero, codes, ConstInput(np.array(0.2, np.float32)), zero)
    result = (ConstInput(np.array(0.15, np.float32)), zero)
    inputs = (Fed((2, 3), DType.BOOL), *numbers, *result)
    return RuleCase("QLinearWhere", inputs, opset=1, domain="com.microsoft")


@rule(
    REORDERED,
    _case(one_step=True),
    miss=_case(one_step=False),
    float16="a quotient may round to the next code",
)
def q_linear_where_as_steps(ctx: RuleContext) -> str:
    """QLinearWhere -> Cast, Sub, Mul of both operands, Where, Div, Round, Add, Clip, Cast, if each
    tensor has one step and one zero point.
    """
    for at in (2, 3, 5, 6, 7, 8):
        require(ctx.shape(at) in {(), (1,)}, "each tensor has one step and one zero point")
    dtype = ctx.input(1).dtype
    require(dtype in LIMITS, "codes have 8 or 16 bits")
    numbers = []
    for at in (1, 4):
        codes, zero = (ctx.cast(ctx.name(value), DType.FLOAT32) for value in (at, at + 2))
        shifted = ctx.op("Sub", codes, ctx.reshape(zero, []))
        numbers.append(ctx.op("Mul", shifted, ctx.reshape(ctx.name(at + 1), [])))
    chosen = ctx.op("Where", ctx.name(0), *numbers)
    codes = ctx.op("Round", ctx.op("Div", chosen, ctx.reshape(ctx.name(7), [])))
    zero = ctx.reshape(ctx.cast(ctx.name(8), DType.FLOAT32), [])
    low, high = LIMITS[dtype or DType.UINT8]
    y = ctx.clip(ctx.op("Add", codes, zero), low, high)
    return ctx.cast(y, dtype or DType.UINT8)


# ONNX's number of float32.
_FLOAT = 1

_CODES_OF_BOTH = (Fed((3, 4), DType.UINT8), np.arange(-4, 4, dtype=np.int8).reshape(4, 2))


@rule(
    REORDERED,
    case("MatMulInteger", *_CODES_OF_BOTH, Fed((), DType.UINT8, (0, 255)), opset=10),
    operators="ConvInteger MatMulInteger",
    miss=case("MatMulInteger", *_CODES_OF_BOTH, opset=10),
    float16="codes are exact; without a Mul by scales, sums over 65504 overflow",
)
def integer_sum_as_product(ctx: RuleContext) -> str:
    """MatMulInteger or ConvInteger, with the Cast and the Mul by scales that follow -> Cast, Sub of
    the zero points, MatMul or Conv of codes / 2^15, Mul by scales * 2^15, if the zero points
    have one axis at most; sums over 2^24 are rounded.

    sum (a - za)(b - zb) * s = (sum (a - za)/2^8 * (b - zb)/2^7) * (s * 2^15). Powers of two are
    exact.
    """
    is_product = ctx.node.op_type == "MatMulInteger"
    rank = len(ctx.dims(1))
    a = centered_codes(ctx, 0, 2, DATA_SHARE, -2 if is_product else None)
    b = centered_codes(ctx, 1, 3, WEIGHT_SHARE, -1 if is_product else -rank)
    own: dict[str, Any] = {**ctx.node.attributes}
    y = ctx.op("MatMul", a, b) if is_product else ctx.op("Conv", a, b, **own)
    chain = _scaling(ctx)
    whole = 1 / (DATA_SHARE * WEIGHT_SHARE)
    if chain is None:
        return ctx.cast(scaled(ctx, y, whole), DType.INT32)
    ctx.absorbed = chain
    cast, scale = chain
    (factor,) = [name for name in scale.input_names if name not in cast.output_names]
    return ctx.op("Mul", y, _scale_up(ctx, factor))


def _scaling(ctx: RuleContext) -> tuple[OnnxNode, OnnxNode] | None:
    """The Cast of the sums and the Mul by scales, if nothing else reads the sums."""
    around, sums = ctx.around, ctx.output(0)
    if sums is None:
        return None
    cast = around.only_use(sums.name)
    if cast is None or cast.op_type != "Cast" or cast.attributes.get("to") != _FLOAT:
        return None
    (real,) = cast.output_names
    scale = around.only_use(real)
    if scale is None or scale.op_type != "Mul" or len({*scale.input_names}) == 1:
        return None
    return cast, scale


def _scale_up(ctx: RuleContext, scale: str) -> str:
    maker = ctx.producer(scale)
    if maker is None or maker.op_type != "Mul":
        return scaled(ctx, scale, 1 / (DATA_SHARE * WEIGHT_SHARE))
    ctx.beside = (maker,)
    first, second = (
        scaled(ctx, part, 1 / share)
        for part, share in zip(maker.input_names, (DATA_SHARE, WEIGHT_SHARE), strict=True)
    )
    return ctx.op("Mul", first, second)


_WEIGHTS = ConstInput(np.arange(-6, 6, dtype=np.int8).reshape(4, 3))


@rule(
    REORDERED,
    contrib_case(
        "DynamicQuantizeMatMul",
        [2, 4],
        _WEIGHTS,
        data(3),
        np.array([1, 0, 2], np.int8),
        data(3, seed=1),
    ),
    operators="com.microsoft::DynamicQuantizeMatMul com.microsoft::MatMulIntegerToFloat",
    miss=contrib_case(
        "DynamicQuantizeMatMul",
        Fed((2, 4), DType.FLOAT16),
        _WEIGHTS,
        np.ones((), np.float16),
    ),
    float16="codes are exact; no sum overflows",
)
def quantized_product_as_steps(ctx: RuleContext) -> str:
    """DynamicQuantizeMatMul, MatMulIntegerToFloat -> codes minus their zero points, MatMul of codes
    / 2^15, Mul by scales * 2^15, Add, if floats are float32; codes are int8 or uint8.

    MatMulIntegerToFloat: Y = (A - za)(B - zb) * sa * sb + bias. DynamicQuantizeMatMul: the same
    with the codes of A for the range that it has at run time. See integer-sum-as-product for the
    powers of two.
    """
    if ctx.node.op_type == "DynamicQuantizeMatMul":
        require(ctx.element is DType.FLOAT32, "A is float32", found=ctx.element.value)
        codes, step, zero = dynamic_codes(ctx, ctx.name(0), len(ctx.dims(0)))
        a = scaled(ctx, ctx.op("Sub", codes, zero), DATA_SHARE)
        scale_at, zero_at, bias = 2, 3, ctx.name(4)
    else:
        require(ctx.input(2).dtype is DType.FLOAT32, "the scales are float32")
        a = centered_codes(ctx, 0, 4, DATA_SHARE, -2)
        step, scale_at, zero_at, bias = ctx.name(2), 3, 5, ctx.name(6)
    b = centered_codes(ctx, 1, zero_at, WEIGHT_SHARE, -1)
    factor = ctx.op(
        "Mul",
        scaled(ctx, step, 1 / DATA_SHARE),
        scaled(ctx, ctx.name(scale_at), 1 / WEIGHT_SHARE),
    )
    y = ctx.op("Mul", ctx.op("MatMul", a, b), factor)
    return ctx.add(y, bias)


# Positions of inputs.
_GATHER_SCALES, _GATHER_ZEROS = 2, 3

_DATA = (
    ConstInput(np.arange(5 * 16, dtype=np.uint8).reshape(5, 16)),
    Fed((2, 3), DType.INT64, (0, 4)),
    ConstInput(np.full((5, 2), 0.1, np.float32)),
)


@rule(
    REORDERED,
    contrib_case("GatherBlockQuantized", *_DATA, block_size=16),
    miss=contrib_case(
        "GatherBlockQuantized", Fed((5, 16), DType.UINT8, (0, 255)), *_DATA[1:], block_size=16
    ),
    float16="the table is rounded to float16 once",
)
def gather_block_quantized_as_gather(ctx: RuleContext) -> str:
    """GatherBlockQuantized of onnxruntime -> Gather of a table of floats, if the table, scales and
    zero points are constant; the table is of uint8 and quantized along its last axis; the
    indices are within it.

    Rows of (q - zero) * scale as a constant (onnxruntime's GatherBlockQuantized).
    """
    packed, scales = ctx.constant(0), ctx.constant(_GATHER_SCALES)
    rank = packed.ndim
    require(packed.dtype == np.uint8, "the table is of uint8")
    axis = ctx.axis(1, rank, "quantize_axis")
    require(axis == rank - 1, "the table is quantized along its last axis")
    gather = ctx.axis(0, rank, "gather_axis")
    bits, size = ctx.integer("bits", 4), ctx.integer("block_size", 128)
    values = unpacked(packed, bits)
    zeros: NDArray[Any] | float = float(1 << (bits - 1))
    if ctx.tensor(_GATHER_ZEROS) is not None:
        zeros = unpacked(ctx.constant(_GATHER_ZEROS), bits)[..., : scales.shape[-1]]
    blocks, length = scales.shape[-1], values.shape[-1]
    pads = [(0, 0)] * axis + [(0, blocks * size - length)]
    grouped = tables.pad(values, pads).reshape(*values.shape[:-1], blocks, size)
    table = blocks_as_floats(grouped, scales, zeros).reshape(*values.shape[:-1], -1)[..., :length]
    element = ctx.input(_GATHER_SCALES).dtype
    return ctx.op("Gather", ctx.const(table, element, "table"), ctx.name(1), axis=gather)


# Positions of inputs.
_SCALES, _ZEROS, _GROUPS, _BIAS = 2, 3, 4, 5

# The accuracy level at which onnxruntime rounds A to int8.
_INTEGERS = 4

# Bits of weights for which onnxruntime reads the group of each row.
_BITS_OF_GROUPS = 4

_INPUTS = (
    Fed((2, 32)),
    ConstInput(np.arange(3 * 2 * 8, dtype=np.uint8).reshape(3, 2, 8)),
    ConstInput(np.full((3, 2), 0.1, np.float32)),
)
_SIZES = {"K": 32, "N": 3, "bits": 4, "block_size": 16}


@rule(
    REORDERED,
    contrib_case("MatMulNBits", *_INPUTS, **_SIZES),
    miss=contrib_case("MatMulNBits", *_INPUTS, **_SIZES, accuracy_level=4),
    float16="weights are rounded to float16 once",
)
def mat_mul_n_bits_as_product(ctx: RuleContext) -> str:
    """MatMulNBits of onnxruntime -> MatMul with float weights, Add, if weights, scales and zero
    points are constant; onnxruntime does not round A to int8.

    A W' + bias with W = (q - zero) * scale as a constant (onnxruntime's MatMulNBits).
    """
    rounded = ctx.integer("accuracy_level", 0) == _INTEGERS
    skip_unless(not rounded)
    return _product(ctx)


@rule(
    BOUNDED,
    contrib_case("MatMulNBits", *_INPUTS, **_SIZES, accuracy_level=4),
    miss=contrib_case("MatMulNBits", *_INPUTS, **_SIZES),
    bound=0.05,
    float16="weights are rounded to float16 once",
)
def mat_mul_n_bits_unrounded(ctx: RuleContext) -> str:
    """MatMulNBits of onnxruntime with accuracy level 4 -> MatMul with float weights, Add, if
    weights, scales and zero points are constant; onnxruntime may round A to int8, which the new
    form does not.

    A W' + bias with W = (q - zero) * scale as a constant (onnxruntime's MatMulNBits).
    """
    skip_unless(ctx.integer("accuracy_level", 0) == _INTEGERS)
    return _product(ctx)


def _product(ctx: RuleContext) -> str:
    require(not ctx.integer("weight_prepacked", 0), "weights are not prepacked")
    rows = ctx.integer("K", 0)
    bits, size = ctx.integer("bits", 4), ctx.integer("block_size", 0)
    quantized = unpacked(ctx.constant(1), bits)
    count, blocks, _ = quantized.shape
    require(quantized.size, "there are weights")
    scales = ctx.constant(_SCALES).reshape(count, blocks)
    zeros = _zeros(ctx, count, blocks, bits)
    groups = ctx.tensor(_GROUPS)
    if groups is None:
        weights = blocks_as_floats(quantized, scales, zeros).reshape(count, blocks * size)[:, :rows]
    else:
        require(bits == _BITS_OF_GROUPS, "groups have 4 bits")
        own = ctx.constant(_GROUPS)[:rows]
        values = quantized.reshape(count, -1)[:, :rows, None]
        points = zeros if isinstance(zeros, float) else zeros[:, own]
        weights = blocks_as_floats(values, scales[:, own], points)[..., 0]
    y = ctx.op("MatMul", ctx.name(0), ctx.const(weights.T, ctx.element, "weights"))
    return ctx.add(y, ctx.name(_BIAS))


def _zeros(ctx: RuleContext, count: int, blocks: int, bits: int) -> NDArray[Any] | float:
    if ctx.tensor(_ZEROS) is None:
        return float(1 << (bits - 1))
    zeros = ctx.constant(_ZEROS)
    if zeros.dtype != np.uint8:
        return zeros.reshape(count, blocks)
    return unpacked(zeros.reshape(count, -1), bits)[:, :blocks]


_HALVES = (0.0, 1 / 192, 2 / 3, 1.0, 1 / 3, 1 / 2, 1 / 6, 1 / 4)
_FP4 = (*_HALVES, *(-halve for halve in _HALVES))
_NF4 = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
    -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
    0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip
# Values of the 16 codes, by `quant_type`.
_VALUES = (_FP4, _NF4)

_BNB4_SIZES = {"K": 24, "N": 3, "block_size": 16, "quant_type": 1}
_BNB4 = (
    Fed((2, 24)),
    ConstInput(np.arange(36, dtype=np.uint8)),
    ConstInput(np.arange(1, 6, dtype=np.float32)),
)


@rule(
    REORDERED,
    contrib_case("MatMulBnb4", *_BNB4, **_BNB4_SIZES),
    miss=contrib_case(
        "MatMulBnb4", _BNB4[0], Fed((36,), DType.UINT8, (0, 255)), _BNB4[2], **_BNB4_SIZES
    ),
    float16="weights are rounded to float16 once",
)
def mat_mul_bnb4_as_product(ctx: RuleContext) -> str:
    """MatMulBnb4 of onnxruntime -> MatMul with float weights, if weights and scales are constant; B
    is transposed.

    A W' with W of 4-bit floats as a constant (onnxruntime's MatMulBnb4; QLoRA, arXiv 2305.14314).
    """
    rows, count = ctx.integer("K", 0), ctx.integer("N", 0)
    size, kind = ctx.integer("block_size", 0), ctx.integer("quant_type", 0)
    require(kind in (0, 1), "the codes are FP4 or NF4")
    require(ctx.integer("transB", 1), "B is transposed")
    packed = ctx.constant(1).reshape(-1)
    # The high bits of a byte come first.
    codes = np.stack([packed >> 4, packed & 15], axis=-1).reshape(-1)[: rows * count]
    values = np.asarray(_VALUES[kind], np.float32)[codes]
    scales = tables.repeat(ctx.constant(2).reshape(-1).astype(np.float32), size)[: rows * count]
    weights = (values * scales).reshape(count, rows).T
    return ctx.op("MatMul", ctx.name(0), ctx.const(weights, ctx.element, "weights"))
