"""Rules of dtypes that the lists do not take, and of arithmetic on integers.

Over 400 lines because a page holds its whole family.
"""

from collections.abc import Sequence

import numpy as np

from atc_py.fix import tables
from atc_py.fix.case import CaseInput, Fed, RuleCase, case
from atc_py.fix.context import RuleContext
from atc_py.fix.parts.codes import EXACT_FLOAT, INTEGERS, require_range, require_result
from atc_py.fix.range_rules import INT32, Range
from atc_py.fix.rule import APPROXIMATE, EQUAL, rule
from atc_py.fix.unfit import require, skip_unless
from atc_py.onnx_graph.source import SourceTensor
from atc_py.tensor.dtypes import DType

# Dtypes of eight bits by ONNX's numbers, and their ends.
_BYTES = {2: (DType.UINT8, 0.0, 255.0), 3: (DType.INT8, -128.0, 127.0)}


@rule(
    EQUAL,
    case("Cast", Fed((3, 4), DType.FLOAT16), to=3, cann="5"),
    miss=case("Cast", Fed((3, 4), DType.FLOAT16), to=6, cann="5"),
    deviations="Cast/float16-wraps Cast/int8-magnitude",
)
def cast_to_bytes(ctx: RuleContext) -> str:
    """Cast of float16 to int8 or uint8, or of int8 to uint8 -> Cast to float32, Clip to the range,
    Cast; or Cast to int32, Cast, if ONNX does not define floats out of range: they become the
    nearest bound.
    """
    target = ctx.integer("to", 0)
    skip_unless(target in _BYTES)
    dtype, low, high = _BYTES[target]
    if ctx.element is DType.FLOAT16:
        x = ctx.clip(ctx.cast(ctx.name(0), DType.FLOAT32), low, high)
        return ctx.cast(x, dtype)
    skip_unless(ctx.element is DType.INT8)
    return ctx.cast(ctx.cast(ctx.name(0), DType.INT32), dtype)


_SIZE, _HALF = 256, 128
_WITH_MOD = 10
# ONNX's number of the dtype.
_INT8 = 3


@rule(
    EQUAL,
    case("Cast", Fed((3, 4), DType.INT32), to=_INT8, operator_list="cann-9.0"),
    miss=case("Cast", [3, 4], to=_INT8, operator_list="cann-9.0"),
    boundary=case("Cast", Fed((3, 4), DType.INT32), to=_INT8, opset=10, operator_list="cann-9.0"),
    deviations="Cast/int8-range",
)
def cast_to_int8_wrapped(ctx: RuleContext) -> str:
    """Cast of int32 to int8 -> Mod by 256, Cast to float32, the nearest multiple of 256 subtracted,
    Cast to int8, if opset 10 or more.
    """
    skip_unless(ctx.element is DType.INT32 and ctx.integer("to", 0) == _INT8)
    require(ctx.opset >= _WITH_MOD, "opset 10 or more")
    size = ctx.const(_SIZE, DType.INT32, "size")
    rest = ctx.cast(ctx.op("Mod", ctx.name(0), size, fmod=1), DType.FLOAT32)
    size, half = (ctx.const(value, DType.FLOAT32) for value in (_SIZE, _HALF))
    turns = ctx.op("Floor", ctx.op("Div", ctx.op("Add", rest, half), size))
    low = ctx.op("Sub", rest, ctx.op("Mul", turns, size))
    return ctx.cast(low, DType.INT8)


_NAMES = """
    Abs Acos Acosh Add ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization Cast Ceil
    Celu CenterCropPad Clip Col2Im Compress Concat Conv ConvTranspose Cos Cosh CumProd CumSum DFT
    DeformConv DepthToSpace Det Div Dropout Einsum Elu Equal Erf Exp Expand Flatten Floor GRU Gather
    GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater
    GreaterOrEqual GridSample GroupNormalization HardSigmoid HardSwish Hardmax Identity
    InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual Log
    LogSoftmax LpNormalization LpPool MatMul Max MaxPool MaxRoiPool MaxUnpool Mean
    MeanVarianceNormalization Min Mish Mod Mul Neg NonZero OneHot PRelu Pad Pow RMSNormalization RNN
    Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin
    ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize ReverseSequence RoiAlign Round STFT
    Scatter ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh Slice Softmax Softplus
    Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Swish Tan Tanh TensorScatter ThresholdedRelu
    Tile TopK Transpose Trilu Unsqueeze Upsample Where
"""


@rule(
    APPROXIMATE,
    case("Sub", Fed((2, 3), DType.FLOAT64), Fed((3,), DType.FLOAT64)),
    operators=_NAMES.split(),
    miss=case("Sub", Fed((2, 3), DType.UINT64), Fed((3,), DType.UINT64)),
    last=True,
    bound=2.0**-12,
)
def double_as_float32(ctx: RuleContext) -> Sequence[str]:
    """An operator on float64 that is not listed -> Cast to float32, the operator, Cast back; values
    that were float32 before are used directly, if an operand is float64; inputs and outputs of the
    model keep their dtype; runs of the model show differences of at most 2^-12, or approximate
    rules are allowed.

    2^-12 of a range is half a step of float16.
    """
    names = ctx.names
    has_double = False
    for at, tensor in enumerate(ctx.node.inputs):
        if tensor is not None and tensor.dtype is DType.FLOAT64:
            names[at] = _single(ctx, tensor)
            has_double = True
    skip_unless(has_double)
    if ctx.node.op_type == "Cast":
        require(names[0] not in ctx.consts and not ctx.made, "X was float32 before")
        result = ctx.output(0)
        if result is not None and result.dtype is DType.FLOAT32:
            return [names[0]]
        if result is not None and result.dtype is DType.FLOAT64:
            return [ctx.name(0)]  # of a file whose dtypes disagree
    results = ctx.again(*names, count=ctx.output_count)
    return [
        ctx.cast(result, DType.FLOAT64)
        if tensor is not None and tensor.dtype is DType.FLOAT64
        else result
        for result, tensor in zip(results, ctx.node.outputs, strict=True)
    ]


def _single(ctx: RuleContext, tensor: SourceTensor) -> str:
    made = ctx.producer(tensor.name)
    first = made.inputs[0] if made is not None and made.op_type == "Cast" else None
    if first is not None and first.dtype is DType.FLOAT32:
        return first.name
    return ctx.cast(tensor.name, DType.FLOAT32)


# Positions of inputs that are shapes, axes, positions or conditions: they stay as they are.
_SHAPES_AND_AXES = {
    "CumSum": {1}, "Expand": {1}, "Gather": {1}, "GatherElements": {1}, "GatherND": {1}, "OneHot": {0, 1},
    "Pad": {1, 3}, "ReduceMax": {1}, "ReduceMin": {1}, "ReduceProd": {1}, "ReduceSum": {1},
    "ScatterElements": {1}, "Slice": {1, 2, 3, 4}, "Split": {1}, "Squeeze": {1}, "Tile": {1}, "Trilu": {1},
    "Unsqueeze": {1}, "Where": {0},
}  # fmt: skip

# Operators whose result is int64, or bool, whatever they look at.
_PLACING = frozenset({"ArgMax", "ArgMin", "NonZero"})
_COMPARING = frozenset({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})

# Operators that ONNX defines for bool, which become 0 and 1.
_MOVES = frozenset({
    "Concat", "Expand", "Gather", "GatherElements", "GatherND", "NonZero", "Pad", "ScatterElements", "Slice",
    "Split", "Squeeze", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where",
})  # fmt: skip


@rule(
    EQUAL,
    case("Less", Fed((2, 3), DType.INT64, (0, 9)), np.arange(3, dtype=np.int64)),
    operators="""
    Abs Add ArgMax ArgMin Clip Concat CumSum Div Equal Expand Gather GatherElements GatherND
    Greater GreaterOrEqual Less LessOrEqual Max Min Mod Mul Neg NonZero OneHot Pad Pow
    ReduceMax ReduceMin ReduceProd Relu ScatterElements Sign Slice Split Squeeze Sub Tile
    Transpose Trilu Unsqueeze Where
    """,
    miss=case("Sub", Fed((2, 3), DType.INT64), Fed((2, 3), DType.INT64)),
    boundary=case(
        "Less", Fed((2, 3), DType.INT64, (-(2**31), 2**31 - 1)), np.array([2**31 - 1, 0, -(2**31)])
    ),
    float16="int32 stays int32",
)
def int64_as_int32(ctx: RuleContext) -> Sequence[str]:
    """An operator on integers that are not listed, whose values fit int32 -> Cast to int32, the
    operator, Cast back, if dims, constants, indices and --range show that operands and result
    fit int32, and that no result wraps around.
    """
    op_type = ctx.node.op_type
    stay = _SHAPES_AND_AXES.get(op_type, set())
    kinds = INTEGERS - {DType.INT32} | ({DType.BOOL} if op_type in _MOVES else set())
    names = []
    narrowed = False
    for position in range(len(ctx.node.inputs)):
        tensor = ctx.tensor(position)
        if tensor is None or tensor.dtype not in kinds or position in stay:
            names.append(ctx.name(position))
            continue
        require_range(ctx, position, INT32)
        names.append(ctx.cast(tensor.name, DType.INT32))
        narrowed = True
    skip_unless(narrowed)
    results = ctx.again(*names, count=ctx.output_count)
    return [_back(ctx, result, position) for position, result in enumerate(results)]


def _back(ctx: RuleContext, result: str, position: int) -> str:
    tensor, op_type = ctx.output(position), ctx.node.op_type
    dtype = None if tensor is None else tensor.dtype
    if dtype is None or dtype is DType.INT32 or op_type in _PLACING:
        return result
    if dtype is DType.BOOL and op_type in _COMPARING:
        return result
    if dtype is not DType.BOOL:
        require_result(ctx, INT32, position)
    return ctx.cast(result, dtype)


# By operator: positions of the operands; the others are shapes, axes and positions.
_OPERANDS = {
    "ArgMax": (0,), "ArgMin": (0,), "Gemm": (0, 1, 2), "MatMul": (0, 1), "ReduceMin": (0,),
    "ReduceSum": (0,), "ScatterND": (0, 2), "Sign": (0,), "Split": (0,),
    "Pad": (0, 2), "OneHot": (2,), "GatherElements": (0,), "Hardmax": (0,), "ReduceL1": (0,),
    "ReduceMax": (0,), "Relu": (0,), "PRelu": (0, 1), "Resize": (0,), "SpaceToDepth": (0,),
    "ScatterElements": (0, 2),
}  # fmt: skip

# By operator: results that are positions, in int64.
_POSITIONS = {"ArgMax": (0,), "ArgMin": (0,)}


@rule(
    EQUAL,
    case("ReduceSum", Fed((3, 5), DType.INT64, (0, 1000)), axes=[1], opset=12),
    operators=tuple(_OPERANDS),
    miss=case("ReduceSum", Fed((3, 5), DType.INT64), axes=[1], opset=12),
    boundary=case("ReduceSum", Fed((2, 4), DType.INT64, (-(2**22), 2**22)), np.array([1])),
    float16="float16 holds integers to 2048 exactly",
)
def integers_as_float32(ctx: RuleContext) -> Sequence[str]:
    """An operator on integers or bools that is listed for floats -> Cast to float32, the operator,
    Cast back, if operands and results are at most 2^24 in magnitude, by dims, constants and
    --range.

    Integers up to 2^24 are the same numbers in float32, sums included.
    """
    op_type = ctx.node.op_type
    operands = _OPERANDS[op_type]
    ctx.input(operands[0])
    names = ctx.names
    for at in operands:
        tensor = ctx.tensor(at)
        if tensor is None:
            continue
        skip_unless(tensor.dtype in INTEGERS or tensor.dtype is DType.BOOL)
        require_range(ctx, at, EXACT_FLOAT)
        names[at] = ctx.cast(tensor.name, DType.FLOAT32)
    _require_whole_numbers(ctx)
    results = list(ctx.again(*names, count=ctx.output_count))
    for at, tensor in enumerate(ctx.node.outputs):
        if tensor is None or at in _POSITIONS.get(op_type, ()):
            continue
        require_result(ctx, EXACT_FLOAT, at)
        dtype = tensor.dtype
        require(dtype is not None, "the dtype is known")
        results[at] = ctx.cast(results[at], dtype or DType.INT64)
    return results


def _require_whole_numbers(ctx: RuleContext) -> None:
    nearest = ctx.text("mode", "nearest") == "nearest"
    require(nearest or ctx.node.op_type != "Resize", "mode is nearest")
    for name in ("alpha", "beta"):
        if ctx.node.op_type == "Gemm":
            require(ctx.number(name, 1.0) == 1, "{name} is 1", name=name)


@rule(
    EQUAL,
    case(
        "Mod", Fed((3, 4), DType.INT32), np.array([7, 2**25 + 1, 3, 9], np.int32), fmod=1, cann="5"
    ),
    miss=case("Mod", Fed((3, 4), DType.INT64), np.array([7, 2, 3, 9]), fmod=1, cann="5"),
    deviations="Mod/dividend-in-float32 Mod/divisor-in-float32",
)
def mod_in_int64(ctx: RuleContext) -> str:
    """Mod of int32, whose values may be beyond 2^24 -> Cast to int64, Mod, Cast to int32, if A is
    int32.
    """
    skip_unless(ctx.element is DType.INT32)
    wide = [ctx.cast(ctx.name(at), DType.INT64) for at in (0, 1)]
    return ctx.cast(ctx.again(*wide)[0], DType.INT32)


_MOST_BITS = 30
_MODULUS = {DType.UINT8: 2**8, DType.UINT16: 2**16}


def _shift(high: int, by: CaseInput, direction: str) -> RuleCase:
    x = Fed((2, 3), DType.UINT32, (0, high))
    return case("BitShift", x, by, direction=direction, opset=11)


@rule(
    EQUAL,
    case("BitShift", Fed((2, 3), DType.UINT8), np.array(2, np.uint8), direction="LEFT", opset=11),
    miss=case(
        "BitShift", Fed((2, 3), DType.UINT64), np.array(2, np.uint64), direction="RIGHT", opset=11
    ),
    boundary=(
        _shift(2**31 - 1, np.array(0, np.uint32), "LEFT"),
        _shift(1, Fed((3,), DType.UINT32, (0, 30)), "LEFT"),
        _shift(2**31 - 1, np.array(30, np.uint32), "RIGHT"),
    ),
    float16="int32 stays int32",
)
def bit_shift_as_product(ctx: RuleContext) -> str:
    """BitShift -> Mul with or Div by 2^k in int32; powers of computed shifts by Gather from a
    table, if X fits int32, shifts are 0 to 30 and no result is beyond int32.
    """
    left = ctx.text("direction", "") == "LEFT"
    require_range(ctx, 0, INT32)
    x, shift = ctx.range(0), ctx.range(1)
    small = shift is not None and shift.within(Range(0, _MOST_BITS))
    require(small, "shifts are known to be 0 to 30")
    given = ctx.input(1)
    if given.const is not None:
        power = ctx.const(2 ** given.const.numpy().astype(np.int64), DType.INT32, "powers")
    else:
        table = ctx.const(2 ** tables.arange(_MOST_BITS + 1), DType.INT32, "powers")
        power = ctx.op("Gather", table, ctx.cast(given.name, DType.INT32))
    y = ctx.op("Mul" if left else "Div", ctx.cast(ctx.name(0), DType.INT32), power)
    if left and x is not None and shift is not None:
        most = x.high << shift.high
        require(most <= INT32.high, "no result is beyond int32")
        modulus = _MODULUS.get(ctx.element)
        if modulus is not None and most >= modulus:
            y = ctx.op("Mod", y, ctx.const(modulus, DType.INT32, "modulus"))
    return ctx.cast(y, ctx.element)


_FITS = Range(-(2**29), 2**29 - 1)


@rule(
    EQUAL,
    case("BitwiseXor", Fed((2, 3), DType.INT8), np.array([5, -3, 77], np.int8), opset=18),
    operators="BitwiseAnd BitwiseOr BitwiseXor",
    miss=case("BitwiseAnd", Fed((2, 3), DType.INT64), Fed((3,), DType.INT64), opset=18),
    boundary=case(
        "BitwiseOr",
        Fed((2, 3), DType.INT32, (-(2**29), 2**29 - 1)),
        Fed((3,), DType.INT32, (-(2**29), 2**29 - 1)),
        opset=18,
    ),
    float16="int32 stays int32",
)
def bitwise_as_arithmetic(ctx: RuleContext) -> str:
    """BitwiseAnd, BitwiseOr, BitwiseXor -> And with a mask of ones as Mod; else bits by Div and
    Mod, their products, sums of powers of 2, if operands are within 2^29 in magnitude, by their
    dtype or by --range.

    a | b = a + b - (a & b) and a ^ b = a + b - 2 (a & b). A negative number of n bits stands for
    itself plus 2^n, and so does a result from 2^(n-1) on.
    """
    for position in (0, 1):
        require_range(ctx, position, _FITS)
    a, b = (ctx.cast(ctx.name(position), DType.INT32) for position in (0, 1))
    first, second = ctx.range(0), ctx.range(1)
    bounds = first.joined(second) if first is not None and second is not None else _FITS
    mask = ctx.input(1).const
    if ctx.node.op_type == "BitwiseAnd" and mask is not None:
        value = mask.numpy().astype(np.int64)
        if (value >= 0).all() and not (value & (value + 1)).any():
            y = ctx.op("Mod", a, ctx.const(value + 1, DType.INT32, "moduli"))
            return ctx.cast(y, ctx.element)
    bits = max(bounds.high.bit_length(), (-bounds.low - 1).bit_length() if bounds.low < 0 else 0)
    signed = bounds.low < 0
    size = ctx.const(2 ** (bits + 1), DType.INT32, "size")
    if signed:
        a, b = (ctx.op("Mod", part, size) for part in (a, b))
    both = _both(ctx, a, b, bits + signed)
    y = both
    if ctx.node.op_type != "BitwiseAnd":
        once = ctx.op("Sub", ctx.op("Add", a, b), both)
        y = once if ctx.node.op_type == "BitwiseOr" else ctx.op("Sub", once, both)
    if signed:
        half = ctx.const(2**bits, DType.INT32, "half")
        y = ctx.op("Where", ctx.op("Less", y, half), y, ctx.op("Sub", y, size))
    return y if ctx.element is DType.INT32 else ctx.cast(y, ctx.element)


def _both(ctx: RuleContext, a: str, b: str, bits: int) -> str:
    """Write a & b of numbers of `bits` bits: the sum of the powers of 2 that both have."""
    width = 1 << max(bits - 1, 0).bit_length()
    powers = ctx.const(2 ** tables.arange(width), DType.INT32, "powers")
    two = ctx.const(2, DType.INT32, "two")
    ranks = [len(ctx.dims(position)) for position in (0, 1)]
    pair = [
        ctx.op("Mod", ctx.op("Div", ctx.unsqueeze(each, [rank]), powers), two)
        for each, rank in zip((a, b), ranks, strict=True)
    ]
    sums = ctx.op("Mul", ctx.op("Mul", *pair), powers)
    axis = max(ranks)
    while width > 1:
        width //= 2
        halves = [ctx.slice(sums, axis, at, at + width) for at in (0, width)]
        sums = ctx.op("Add", *halves)
    return ctx.squeeze(sums, [axis])


_NARROW = {DType.INT8: -1, DType.INT16: -1, DType.INT32: -1, DType.UINT8: 255, DType.UINT16: 65535}


@rule(
    EQUAL,
    case("BitwiseNot", Fed((2, 3), DType.UINT8), opset=18),
    miss=case("BitwiseNot", Fed((2, 3), DType.UINT64), opset=18),
    boundary=(
        case("BitwiseNot", Fed((2, 3), DType.INT32, (-(2**31), 2**31 - 1)), opset=18),
        case("BitwiseNot", Fed((2, 3), DType.UINT16), opset=18),
    ),
)
def bitwise_not_as_arithmetic(ctx: RuleContext) -> str:
    """BitwiseNot -> Sub from -1 in int32, Cast, if the dtype has at most 16 bits, or values are
    shown to fit int32.

    In two's complement ~x = -1 - x; of unsigned numbers of n bits it is 2^n - 1 - x.
    """
    if ctx.element is DType.INT64:
        require_range(ctx, 0, INT32)
    else:
        require(ctx.element in _NARROW, "the dtype fits int32")
    ones = ctx.const(_NARROW.get(ctx.element, -1), DType.INT32, "ones")
    wide = ctx.element is DType.INT32
    x = ctx.name(0) if wide else ctx.cast(ctx.name(0), DType.INT32)
    y = ctx.op("Sub", ones, x)
    return y if wide else ctx.cast(y, ctx.element)


@rule(
    EQUAL,
    case("TopK", Fed((3, 5), DType.INT64, (0, 1000)), np.array([2]), axis=1, opset=11, outputs=2),
    miss=case("TopK", Fed((3, 5), DType.INT64), np.array([2]), axis=1, opset=11, outputs=2),
    boundary=case("TopK", Fed((2, 6), DType.INT32, (-(2**24), 2**24)), np.array([6]), outputs=2),
    float16="float16 holds integers to 2048 exactly",
)
def top_k_of_integers(ctx: RuleContext) -> Sequence[str]:
    """TopK of integers -> Cast to float32, TopK, Cast back, if values are at most 2^24 in
    magnitude.

    Integers that float32 holds exactly have the same order there.
    """
    skip_unless(not ctx.element.is_float)
    require_range(ctx, 0, EXACT_FLOAT)
    values, places = ctx.again(ctx.cast(ctx.name(0), DType.FLOAT32), ctx.name(1), count=2)
    return [ctx.cast(values, ctx.element), places]


@rule(
    EQUAL,
    case("ReverseSequence", Fed((4, 3), DType.BOOL), np.array([2, 4, 1]), opset=10),
    miss=case("ReverseSequence", Fed((4, 3), DType.INT64), np.array([2, 4, 1]), opset=10),
    boundary=case("ReverseSequence", Fed((4, 2), DType.INT32, (-(2**24), 2**24)), np.array([4, 1])),
)
def reverse_sequence_carried(ctx: RuleContext) -> str:
    """ReverseSequence of bools or integers -> Cast to float32, ReverseSequence, Cast back, if
    values are at most 2^24 in magnitude.
    """
    skip_unless(not ctx.element.is_float)
    require_range(ctx, 0, EXACT_FLOAT)
    (y,) = ctx.again(ctx.cast(ctx.name(0), DType.FLOAT32), ctx.name(1))
    return ctx.cast(y, ctx.element)
