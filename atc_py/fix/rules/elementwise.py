"""Rules of functions of single elements."""

from collections.abc import Sequence
from math import prod

import numpy as np

from atc_py.fix import tables
from atc_py.fix.case import Fed, case, contrib_case, data
from atc_py.fix.context import RuleContext
from atc_py.fix.range_rules import Range
from atc_py.fix.rule import EQUAL, REORDERED, rule
from atc_py.fix.unfit import require, skip_unless
from atc_py.tensor.dtypes import DType


@rule(
    REORDERED,
    case("Tan", [2, 3]),
    miss=case("Tan", Fed((2, 3), DType.FLOAT64)),
    float16="near the poles the quotient of rounded numbers is far from the tangent",
)
def tan_as_quotient(ctx: RuleContext) -> str:
    """Tan -> Sin, Cos, Div, if the dtype is float16 or float32.

    tan x = sin x / cos x.
    """
    ctx.floats(0)
    sine, cosine = (ctx.op(op, ctx.name(0)) for op in ("Sin", "Cos"))
    return ctx.op("Div", sine, cosine)


@rule(EQUAL, case("Xor", Fed((2, 3), DType.BOOL), Fed((3,), DType.BOOL)))
def xor_as_equal(ctx: RuleContext) -> str:
    """Xor -> Equal, Not."""
    skip_unless(ctx.element is DType.BOOL)
    return ctx.op("Not", ctx.op("Equal", ctx.name(0), ctx.name(1)))


_OPPOSITE = {"GreaterOrEqual": "Less", "LessOrEqual": "Greater"}


@rule(
    EQUAL,
    case("LessOrEqual", Fed((2, 3), DType.INT32), Fed((3,), DType.INT32), opset=12),
    operators="GreaterOrEqual LessOrEqual",
    miss=case("LessOrEqual", Fed((2, 3), DType.FLOAT64), Fed((3,), DType.FLOAT64), opset=12),
)
def order_as_not(ctx: RuleContext) -> str:
    """LessOrEqual or GreaterOrEqual of integers that are not listed -> Greater or Less, Not, if the
    dtype is one of integers, as NaN has no order.

    An order with equality is the opposite order, negated; of numbers, not of NaN.
    """
    skip_unless(not ctx.element.is_float and ctx.element is not DType.BOOL)
    opposite = ctx.op(_OPPOSITE[ctx.node.op_type], ctx.name(0), ctx.name(1))
    return ctx.op("Not", opposite)


@rule(EQUAL, case("IsNaN", [2, 3]), miss=case("IsNaN", Fed((2, 3), DType.INT32), opset=13))
def is_nan_as_equal(ctx: RuleContext) -> str:
    """IsNaN -> Equal of x and x, Not, if x is a listed float.

    NaN is the only value that is not equal to itself (IEEE 754).
    """
    require(ctx.element.is_float, "x is a float")
    ctx.require_opset(11)  # before it, Equal is of integers alone
    return ctx.op("Not", ctx.op("Equal", ctx.name(0), ctx.name(0)))


@rule(
    EQUAL,
    case("IsInf", [2, 3], detect_negative=0, opset=10),
    miss=case("IsInf", [2, 3], detect_negative=0, detect_positive=0, opset=10),
    deviations="IsInf/negative-detected IsInf/positive-detected",
    lists=True,
    float16="values over 65504 are infinite in float16",
)
def is_inf_as_equal(ctx: RuleContext) -> str:
    """IsInf -> Equal with infinity, of the magnitude if both signs count, if x is a float."""
    require(ctx.element.is_float, "x is a float")
    ctx.require_opset(11)  # before it, Equal is of integers alone
    positive, negative = ctx.integer("detect_positive", 1), ctx.integer("detect_negative", 1)
    require(positive or negative, "infinities of one sign count")
    x = ctx.op("Abs", ctx.name(0)) if positive and negative else ctx.name(0)
    limit = ctx.scalar(np.inf if positive else -np.inf, "infinity")
    return ctx.op("Equal", x, limit)


# Factors of Selu without attributes.
_ALPHA, _GAMMA = 1.6732632423543772, 1.0507009873554805


@rule(
    REORDERED,
    case("Selu", [2, 3], alpha=1.5),
    miss=case("Selu", [2, 3]),
    deviations="Selu/alpha-fixed Selu/gamma-fixed",
)
def selu_as_elu(ctx: RuleContext) -> str:
    """Selu with factors of its own -> Elu with alpha, Mul by gamma, if X is float16 or float32."""
    ctx.floats(0, "X")
    y = ctx.op("Elu", ctx.name(0), alpha=ctx.number("alpha", _ALPHA))
    return ctx.times(y, ctx.number("gamma", _GAMMA), "gamma")


@rule(
    REORDERED,
    contrib_case("BiasGelu", [2, 8], data(8)),
    operators="com.microsoft::Gelu com.microsoft::BiasGelu",
    float16="fused to Gelu by the compiler",
)
def gelu_as_erf(ctx: RuleContext) -> str:
    """Gelu and BiasGelu of onnxruntime -> Add, Div, Erf, Add, Mul, Mul, if the dtype is float16 or
    float32.

    GELU(x) = x / 2 * (1 + erf(x / sqrt(2))), of x + bias for BiasGelu.
    """
    x = ctx.add(ctx.name(0), ctx.name(1))
    error = ctx.op("Erf", ctx.op("Div", x, ctx.scalar(2**0.5)))
    half = ctx.op("Mul", x, ctx.op("Add", error, ctx.scalar(1)))
    return ctx.times(half, 0.5)


@rule(
    REORDERED,
    contrib_case("FastGelu", [2, 8], data(8)),
    float16="the cube of x overflows above 40; large magnitudes saturate before",
)
def fast_gelu_as_tanh(ctx: RuleContext) -> str:
    """FastGelu of onnxruntime -> Mul, Add, Tanh, if the dtype is float16 or float32.

    x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) (onnxruntime's FastGelu).
    """
    x = ctx.add(ctx.name(0), ctx.name(1))
    factor = (2 / np.pi) ** 0.5
    square = ctx.op("Mul", x, x)
    slope = ctx.op("Add", ctx.times(square, 0.044715 * factor), ctx.scalar(factor))
    bend = ctx.op("Tanh", ctx.op("Mul", x, slope))
    half = ctx.times(x, 0.5)
    return ctx.op("Mul", half, ctx.op("Add", bend, ctx.scalar(1)))


@rule(REORDERED, contrib_case("QuickGelu", [2, 8], alpha=1.5))
def quick_gelu_as_sigmoid(ctx: RuleContext) -> str:
    """QuickGelu of onnxruntime -> Mul, Sigmoid, Mul, if the dtype is float16 or float32.

    x * sigmoid(alpha * x) (onnxruntime's QuickGelu).
    """
    scaled = ctx.times(ctx.name(0), ctx.number("alpha", 1.702))
    return ctx.op("Mul", ctx.name(0), ctx.op("Sigmoid", scaled))


@rule(
    EQUAL,
    case("PRelu", [2, 3, 4], data(3, 4)),
    miss=case("PRelu", Fed((2, 3, 4), DType.FLOAT64), Fed((4,), DType.FLOAT64)),
)
def p_relu_as_relus(ctx: RuleContext) -> str:
    """PRelu with a slope that is neither one number nor one per channel -> Relu of x and of -x,
    Mul, Sub; of a slope that is computed, Less, Mul, Where, if the dtype is float16 or float32.

    slope * min(x, 0) + max(x, 0) = Relu(x) - slope * Relu(-x).
    """
    ctx.floats(0)
    x, slope = ctx.name(0), ctx.input(1).const
    if slope is None or not np.isfinite(slope.numpy()).all():
        below = ctx.op("Mul", x, ctx.name(1))
        return ctx.op("Where", ctx.op("Less", x, ctx.scalar(0)), below, x)
    above = ctx.op("Relu", x)
    below = ctx.op("Relu", ctx.op("Neg", x))
    return ctx.op("Sub", above, ctx.op("Mul", ctx.name(1), below))


@rule(
    EQUAL,
    case("ThresholdedRelu", [2, 3], alpha=0.5),
    miss=case("ThresholdedRelu", Fed((2, 3), DType.FLOAT64), alpha=0.5),
    deviations="ThresholdedRelu/infinity-by-zero",
)
def thresholded_relu_as_where(ctx: RuleContext) -> str:
    """ThresholdedRelu whose elements may be infinite -> Greater, Where, if X is float16 or float32."""
    ctx.floats(0, "X")
    alpha = ctx.scalar(ctx.number("alpha", 1.0), "alpha")
    above = ctx.op("Greater", ctx.name(0), alpha)
    return ctx.op("Where", above, ctx.name(0), ctx.scalar(0.0, "zero"))


_CLIP_AS_INPUT = 11
_CAST_TO_CLIP = frozenset({DType.FLOAT16, DType.INT32})


@rule(
    EQUAL,
    case("Clip", [2, 3]),
    miss=case("Clip", [2, 3], np.array(1, np.float32)),
    boundary=case("Clip", [2, 3], opset=11),
    deviations="Clip/lower-bound-in-float32 Clip/no-bound Clip/upper-bound-in-float32",
)
def clip_both_bounds(ctx: RuleContext) -> str:
    """Clip without bounds, or of float16 or int32 with one -> Clip with both bounds, by default the
    limits of the dtype, if opset 11 or more.
    """
    require(ctx.opset >= _CLIP_AS_INPUT, "opset 11 or more")
    least, most = ctx.name(1), ctx.name(2)
    dtype = ctx.element
    skip_unless(not (least and most) and (dtype in _CAST_TO_CLIP or not (least or most)))
    limits = np.finfo(dtype.numpy) if dtype.is_float else np.iinfo(dtype.numpy)
    ends = limits.min, limits.max
    if dtype is DType.FLOAT16 and ctx.opset == _CLIP_AS_INPUT:
        ends = -np.inf, np.inf  # those of float32 are, in float16
    least = least or ctx.const(ends[0], dtype, "least")
    most = most or ctx.const(ends[1], dtype, "most")
    return ctx.op("Clip", ctx.name(0), least, most)


_INTEGERS = frozenset({DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.UINT8})


@rule(
    EQUAL,
    case(
        "Min", Fed((2, 3), DType.INT32), Fed((3,), DType.INT32), Fed((2, 1), DType.INT32), opset=12
    ),
    operators="Max Min",
    miss=case("Min", Fed((2, 3), DType.FLOAT64), Fed((3,), DType.FLOAT64), opset=12),
)
def min_as_where(ctx: RuleContext) -> str:
    """Min or Max of a dtype that is not listed -> Less or Greater, Where, for one operand after the
    other, if the dtype is one of integers.
    """
    skip_unless(ctx.element in _INTEGERS)
    compare = "Less" if ctx.node.op_type == "Min" else "Greater"
    result = ctx.name(0)
    for position in range(1, len(ctx.node.inputs)):
        other = ctx.name(position)
        result = ctx.op("Where", ctx.op(compare, result, other), result, other)
    return result


@rule(
    REORDERED,
    case("Pow", [2, 3], np.array([2, 3, 1])),
    miss=case("Pow", Fed((2, 3), DType.INT32), [3]),
    boundary=case("Pow", [2, 3], Fed((3,), DType.INT32, (-2048, 2048))),
)
def pow_with_cast(ctx: RuleContext) -> str:
    """Pow of a float with an exponent of another dtype -> Cast of the exponent, Pow, if the base is
    a float; constant exponents are exact in its dtype.
    """
    require(ctx.element.is_float, "the base is a float")
    exponent = ctx.input(1)
    skip_unless(exponent.dtype is not ctx.element)
    if exponent.const is not None:
        value = exponent.const.numpy()
        exact = (value.astype(ctx.element.numpy).astype(value.dtype) == value).all()
        require(exact, "the exponent is exact in the dtype of the base")
    else:
        bounds = ctx.range(1)
        fits = bounds is not None and max(-bounds.low, bounds.high) <= 2**11
        require(fits, "the exponent is at most 2048 in magnitude")
    return ctx.op("Pow", ctx.name(0), ctx.cast(exponent.name, ctx.element))


_NARROW = frozenset({DType.INT8, DType.INT16})
# Largest divisor by dtype whose double does not overflow.
_HALF = {DType.INT32: 2**30, DType.INT64: 2**62}


@rule(
    EQUAL,
    case("Mod", Fed((3, 4), DType.INT32), Fed((4,), DType.INT32, (1, 9))),
    miss=case("Mod", Fed((3, 4), DType.INT32), Fed((4,), DType.INT32, (1, 9)), fmod=1),
    boundary=(
        case("Mod", Fed((3, 4), DType.INT32), Fed((4,), DType.INT32, (-(2**30), 2**30))),
        case("Mod", Fed((3, 4), DType.INT64), Fed((4,), DType.INT64, (1, 2**62))),
    ),
    deviations="Mod/sign-of-dividend",
)
def mod_with_sign(ctx: RuleContext) -> str:
    """Mod of signed integers with fmod 0 -> Mod with fmod 1, Add of B, Mod with fmod 1; for int32
    without bounds Less, Equal, Where, if bounds of B are known if it is int64.
    """
    skip_unless(not ctx.integer("fmod", 0) and ctx.element in {*_NARROW, *_HALF})
    a, b = ctx.name(0), ctx.name(1)
    if ctx.element in _NARROW:
        a, b = (ctx.cast(value, DType.INT32) for value in (a, b))
        return ctx.cast(_added_always(ctx, a, b), ctx.element)
    half = _HALF[ctx.element]
    bounds = ctx.range(1)
    if bounds is not None and bounds.within(Range(-half, half)):
        return _added_always(ctx, a, b)
    require(ctx.element is DType.INT32, "bounds of B are known")
    # A sum of numbers of opposite signs does not overflow.
    zero = ctx.const(0, DType.INT32, "zero")
    rest = ctx.op("Mod", a, b, fmod=1)
    negative = [ctx.op("Less", value, zero) for value in (rest, b)]
    same = ctx.op("Or", ctx.op("Equal", *negative), ctx.op("Equal", rest, zero))
    return ctx.op("Add", rest, ctx.op("Where", same, zero, b))


def _added_always(ctx: RuleContext, a: str, b: str) -> str:
    """Write the remainder of the remainder plus the divisor, which has the divisor's sign."""
    rest = ctx.op("Mod", a, b, fmod=1)
    return ctx.op("Mod", ctx.op("Add", rest, b), b, fmod=1)


_UNCHOSEN = frozenset({DType.INT16, DType.INT64, DType.UINT16, DType.UINT32, DType.UINT64})
# Elements of the result at most: two constants have as many.
_MOST_ELEMENTS = 2**24


@rule(
    EQUAL,
    case("Where", Fed((2, 3), DType.BOOL), Fed((3,), DType.INT64), Fed((2, 1), DType.INT64)),
    miss=case(
        "Where", Fed((2, 3), DType.BOOL), Fed((3,), DType.FLOAT64), Fed((2, 1), DType.FLOAT64)
    ),
    boundary=case("Where", Fed((1,), DType.BOOL), Fed((1,), DType.UINT16), Fed((), DType.UINT16)),
)
def where_as_gather(ctx: RuleContext) -> str:
    """A Where of bool, int64, int16 or unsigned integers -> And, Not and Or of bool; Where of int32
    places, Concat, Gather of integers, if integers have known dims and at most 16777216 elements.

    The choice is made between places: those of the elements of X and of Y in the row of both, which
    are constant. Of bool it is (condition and X) or (not condition and Y).
    """
    dtype = ctx.input(1).dtype
    condition, x, y = (ctx.name(position) for position in range(3))
    if dtype is DType.BOOL:
        first = ctx.op("And", condition, x)
        second = ctx.op("And", ctx.op("Not", condition), y)
        return ctx.op("Or", first, second)
    skip_unless(dtype in _UNCHOSEN)
    shapes = [ctx.shape(position) for position in range(3)]
    dims = np.broadcast_shapes(*shapes)
    require(0 < prod(dims) <= _MOST_ELEMENTS, "the result is small enough")
    places = [
        np.broadcast_to(tables.arange(prod(shape)).reshape(shape), dims) + start
        for start, shape in zip((0, prod(shapes[1])), shapes[1:], strict=True)
    ]
    chosen = ctx.op("Where", condition, *(ctx.const(place, DType.INT32) for place in places))
    row = ctx.op("Concat", *(ctx.reshape(value, [-1]) for value in (x, y)), axis=0)
    return ctx.op("Gather", row, chosen, axis=0)


_ALONG_AXIS = frozenset({"LayerNormalization", "LogSoftmax", "RMSNormalization", "Softmax"})


@rule(
    REORDERED,
    case("Mish", [2, 3, 4], opset=18),
    operators="""
    AffineGrid BlackmanWindow CastLike Celu CenterCropPad Clip Elu Gelu GreaterOrEqual
    GroupNormalization HammingWindow HannWindow HardSigmoid HardSwish LayerNormalization
    LeakyRelu LessOrEqual LogSoftmax MeanVarianceNormalization Mish NegativeLogLikelihoodLoss
    PRelu RMSNormalization Range ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp
    ReduceSumSquare Relu Selu Shrink Softmax SoftmaxCrossEntropyLoss Softplus Softsign SwiGLU
    Swish ThresholdedRelu
    """,
    miss=case("Mish", Fed((2, 3, 4), DType.FLOAT64), opset=18),
    last=True,
)
def function_body(ctx: RuleContext) -> Sequence[str]:
    """An operator that ONNX defines as a function -> the nodes of its definition, if dtypes and
    ranks of the inputs are known; data of Shrink are floats; ONNX defines the operator at the
    model's opset.

    Rules for single operators are tried before this one: their forms are shorter, or hold float16
    better. ONNX's definition of Shrink makes integers of its attributes, onnxruntime computes
    integers in float32.
    """
    if ctx.node.op_type == "Shrink":
        require(ctx.element.is_float, "data of Shrink are floats")
    if ctx.node.op_type in _ALONG_AXIS:
        ctx.axis(-1, len(ctx.dims(0)))
    return ctx.body()
