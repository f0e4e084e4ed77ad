"""Rules of normalizations and of reductions.

Over 400 lines because a page holds its whole family.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from atc_py.fix.case import ConstInput, Fed, case, contrib_case, data
from atc_py.fix.context import RuleContext
from atc_py.fix.rule import EQUAL, REORDERED, rule
from atc_py.fix.unfit import require, skip_unless
from atc_py.tensor.dtypes import DType

# Least positive number of float16.
_LEAST = 6e-8


def centered(
    ctx: RuleContext, x: str, axes: Sequence[int], epsilon: float, element: DType | None = None
) -> tuple[str, str, str]:
    """Write x less its mean, the mean, and sqrt(variance + epsilon), all over `axes`.

    The variance is the mean of squares of what is centered, so that large means lose no digits.

    `element`, the dtype of x, is that of the first input by default.
    """
    mean = ctx.reduce("ReduceMean", x, list(axes))
    deviations = ctx.op("Sub", x, mean)
    squares = ctx.op("Mul", deviations, deviations)
    variance = ctx.reduce("ReduceMean", squares, list(axes))
    return deviations, mean, root_of(ctx, variance, epsilon, element)


def root_of(ctx: RuleContext, square: str, epsilon: float, element: DType | None = None) -> str:
    """Write sqrt(square + epsilon), in float32 where epsilon is none in float16."""
    element = element or ctx.element
    wide = element is DType.FLOAT16 and epsilon < _LEAST
    if wide:
        square = ctx.cast(square, DType.FLOAT32)
    least = ctx.const(epsilon, DType.FLOAT32 if wide else element, "epsilon")
    root = ctx.op("Sqrt", ctx.op("Add", square, least))
    return ctx.cast(root, element) if wide else root


def statistics(ctx: RuleContext, mean: str, deviation: str) -> tuple[str, str]:
    """The mean and the inverse deviation as outputs 1 and 2; "" where nothing uses them."""
    used = [ctx.output(at) is not None for at in (1, 2)]
    exact = ctx.element is DType.FLOAT32 or not any(used)
    require(exact, "Mean and InvStdDev are not used in float16")
    return mean if used[0] else "", ctx.op("Reciprocal", deviation) if used[1] else ""


_PIXELS = 2

# Opset before which an attribute, which is absent by default, says that it does not train.
_MODE_STATED = 7


@rule(
    REORDERED,
    case(
        "BatchNormalization",
        [2, 3, 5],
        data(3),
        data(3),
        data(3),
        np.full(3, 2, np.float32),
        opset=9,
    ),
    miss=case("BatchNormalization", [2, 3, 5], [3], data(3), data(3), data(3), opset=9),
)
def batch_norm_as_scale(ctx: RuleContext) -> str:
    """BatchNormalization of a rank that is not listed -> Mul and Add with constants, if the four
    parameters are constant; the node does not train.

    y = x * s + (B - mean * s) with s = scale / sqrt(var + epsilon), one number a channel each.
    """
    tests = ctx.opset >= _MODE_STATED or ctx.integer("is_test", 0) == 1
    trains = ctx.integer("training_mode", 0) or not tests
    require(not trains, "the node does not train")
    require(ctx.integer("spatial", 1) == 1, "it normalizes channels")
    require(ctx.element.is_float, "the dtype is one of floats")
    require(all(tensor is None for tensor in ctx.node.outputs[1:]), "Y alone is used")
    rank = len(ctx.dims(0))
    scale, bias, mean, var = (ctx.constant(at).astype(np.float64) for at in range(1, 5))
    with np.errstate(all="ignore"):  # a negative variance makes NaN here as there
        factor = scale / np.sqrt(var + ctx.number("epsilon", 1e-5))
    dims = [-1, *[1] * (rank - _PIXELS)]
    factors = ctx.const(factor.reshape(dims), ctx.element, "scale")
    offsets = ctx.const((bias - mean * factor).reshape(dims), ctx.element, "offset")
    return ctx.op("Add", ctx.op("Mul", ctx.name(0), factors), offsets)


_WORDS, _SEGMENTS = 0, 1
# Positions of inputs.
_WORD_ROWS, _POSITION_ROWS, _SEGMENT_ROWS, _SCALE, _BIAS, _MASK, _POSITIONS = range(2, 9)

_INPUTS = (
    Fed((2, 3), DType.INT32, (0, 8)), None, data(9, 4), data(5, 4, seed=1), None,
    data(4, seed=2), data(4, seed=3),
)  # fmt: skip


@rule(REORDERED, contrib_case("EmbedLayerNormalization", *_INPUTS, outputs=2))
def embed_norm_as_steps(ctx: RuleContext) -> Sequence[str]:
    """EmbedLayerNormalization of onnxruntime -> Gather, Add, then the steps of the normalization,
    if dims are known; the tables are float16 or float32.

    The sum of the rows of words, positions and segments, and its layer normalization (onnxruntime's
    EmbedLayerNormalization).
    """
    batch, positions = ctx.shape(0)
    element = ctx.input(_WORD_ROWS).dtype
    require(element is not None, "the dtype is known")
    if ctx.tensor(_POSITIONS) is not None:
        rows = ctx.op("Gather", ctx.name(_POSITION_ROWS), ctx.name(_POSITIONS), axis=0)
    else:
        rows = ctx.slice(ctx.name(_POSITION_ROWS), 0, 0, positions)
    words = ctx.op("Gather", ctx.name(_WORD_ROWS), ctx.name(_WORDS), axis=0)
    total = ctx.op("Add", words, rows)
    if ctx.tensor(_SEGMENTS) is not None and ctx.tensor(_SEGMENT_ROWS) is not None:
        table = ctx.name(_SEGMENT_ROWS)
        total = ctx.op("Add", total, ctx.op("Gather", table, ctx.name(_SEGMENTS), axis=0))
    x, _, deviation = centered(ctx, total, (2,), ctx.number("epsilon", 1e-12), element)
    y = ctx.op("Mul", ctx.op("Div", x, deviation), ctx.name(_SCALE))
    y = ctx.op("Add", y, ctx.name(_BIAS))
    return [y, _word_count(ctx, batch) if ctx.output(1) is not None else "", total]


def _word_count(ctx: RuleContext, batch: int) -> str:
    if ctx.tensor(_MASK) is None:
        return ctx.const([0] * batch, DType.INT32, "none")
    ones = ctx.op("Equal", ctx.name(_MASK), ctx.const(1, DType.INT32, "word"))
    marks = ctx.cast(ones, DType.FLOAT32)
    return ctx.cast(ctx.reduce("ReduceSum", marks, [1], keepdims=False), DType.INT32)


@rule(
    REORDERED,
    case("GroupNormalization", [2, 4, 3, 3], data(4), data(4, seed=1), num_groups=2, opset=21),
    miss=case(
        "GroupNormalization",
        Fed((2, 4, 3, 3), DType.FLOAT64),
        *[ConstInput(np.ones(4))] * 2,
        num_groups=2,
        opset=21,
    ),
    float16="squares of deviations above 256 overflow",
)
def group_norm_as_steps(ctx: RuleContext) -> str:
    """GroupNormalization -> Reshape, ReduceMean, Sub, Mul, ReduceMean, Add, Sqrt, Div, Reshape,
    Mul, Add, if the dims of X are known.

    A normalization over the pixels of each group of channels (GroupNormalization-18 and -21 of
    ONNX).

    ONNX's own body takes the variance as mean(x^2) - mean(x)^2, which loses the digits of float16.
    """
    ctx.floats(0)
    dims = ctx.shape(0)
    groups = ctx.integer("num_groups", 1)
    inner = (dims[1] // groups, prod(dims[2:]))
    grouped = ctx.reshape(ctx.name(0), [dims[0], groups, *inner])
    x, _, deviation = centered(ctx, grouped, (2, 3), ctx.number("epsilon", 1e-5))
    y = ctx.op("Div", x, deviation)
    whole = [1, dims[1], *[1] * (len(dims) - 2)]
    per_group = ctx.shape(1)[0] == groups
    if not per_group:
        y = ctx.reshape(y, dims)
    shape = [1, groups, 1, 1] if per_group else whole
    scale, bias = (ctx.reshape(ctx.name(at), shape) for at in (1, 2))
    y = ctx.op("Add", ctx.op("Mul", y, scale), bias)
    return ctx.reshape(y, dims) if per_group else y


@rule(
    REORDERED,
    case("InstanceNormalization", [2, 3, 4, 4], data(3), data(3, seed=1)),
    miss=case("InstanceNormalization", Fed((2, 3, 4), DType.FLOAT64), np.ones(3), np.ones(3)),
    boundary=case("InstanceNormalization", [2, 3, 1], data(3), data(3, seed=1)),
    float16="squares of deviations above 256 overflow",
)
def instance_norm_as_steps(ctx: RuleContext) -> str:
    """InstanceNormalization -> ReduceMean, Sub, Mul, ReduceMean, Add, Sqrt, Div, Mul, Add, if the
    rank of the input is known.

    A normalization of each channel over its pixels (InstanceNormalization-6 of ONNX).
    """
    ctx.floats(0)
    rank = len(ctx.dims(0))
    require(rank > 2, "the input has axes after its channels")  # noqa: PLR2004
    x, _, deviation = centered(ctx, ctx.name(0), range(2, rank), ctx.number("epsilon", 1e-5))
    scale, bias = (ctx.reshape(ctx.name(number), [1, -1, *[1] * (rank - 2)]) for number in (1, 2))
    return ctx.op("Add", ctx.op("Mul", ctx.op("Div", x, deviation), scale), bias)


@rule(
    REORDERED,
    case("LayerNormalization", [2, 3, 8], data(8), data(8, seed=1), opset=17),
    miss=case("LayerNormalization", Fed((2, 3, 8), DType.FLOAT64), np.ones(8), opset=17),
    float16="fused to LayerNorm by the compiler, which sums in float32",
)
def layer_norm_as_steps(ctx: RuleContext) -> Sequence[str]:
    """LayerNormalization -> ReduceMean, Sub, Mul, ReduceMean, Add, Sqrt, Div, Mul, Add, if the rank
    of X is known; Mean and InvStdDev are not used in float16.

    y = (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + B (LayerNormalization-17 of ONNX).
    """
    ctx.floats(0)
    y_dtype = None if (result := ctx.output(0)) is None else result.dtype
    require(y_dtype in {None, ctx.element}, "Y has the dtype of X")
    rank = len(ctx.dims(0))
    axes = range(ctx.axis(-1, rank), rank)
    x, mean, deviation = centered(ctx, ctx.name(0), axes, ctx.number("epsilon", 1e-5))
    y = ctx.op("Mul", ctx.op("Div", x, deviation), ctx.name(1))
    y = ctx.add(y, ctx.name(2))
    return [y, *statistics(ctx, mean, deviation)]


@rule(
    REORDERED,
    contrib_case(
        "SkipSimplifiedLayerNormalization",
        [2, 3, 8],
        [2, 3, 8],
        data(8),
        epsilon=1e-5,
    ),
    operators="""
    RMSNormalization SimplifiedLayerNormalization com.microsoft::SimplifiedLayerNormalization
    com.microsoft::SkipSimplifiedLayerNormalization
    """,
    miss=case("RMSNormalization", Fed((2, 3, 8), DType.FLOAT64), np.ones(8), opset=23),
    float16="squares above 256 overflow; fused to RmsNorm by the compiler where a SoC has it",
)
def simple_norm_as_steps(ctx: RuleContext) -> Sequence[str]:
    """RMSNormalization; SimplifiedLayerNormalization of onnxruntime, after a skip or not -> Add,
    Mul, ReduceMean, Add, Sqrt, Div, Mul, if the dtype is float16 or float32; Mean, which is 0,
    is not used.

    x / sqrt(mean(x^2) + epsilon) * scale (SimplifiedLayerNormalization of onnxruntime,
    RMSNormalization-23).
    """
    ctx.floats(0)
    skip = ctx.node.op_type.startswith("Skip")
    require(not skip or ctx.output(1) is None, "Mean is not used")
    rank = len(ctx.dims(0))
    axes = range(ctx.axis(-1, rank), rank)
    x, scale, bias = ctx.name(0), ctx.name(2 if skip else 1), ""
    if skip:
        x = ctx.op("Add", x, ctx.name(1))
        bias = ctx.name(3)
        x = ctx.add(x, bias)
    square = ctx.reduce("ReduceMean", ctx.op("Mul", x, x), list(axes))
    epsilon = ctx.number("epsilon", 1e-12 if skip else 1e-5)
    root = root_of(ctx, square, epsilon)
    y = ctx.op("Mul", ctx.op("Div", x, root), scale)
    used = ctx.output(2 if skip else 1) is not None
    require(ctx.element is DType.FLOAT32 or not used, "InvStdDev is not used in float16")
    inverse = ctx.op("Reciprocal", root) if used else ""
    return [y, "", inverse, x] if skip else [y, inverse]


@rule(
    REORDERED,
    contrib_case(
        "SkipLayerNormalization",
        [2, 3, 8],
        [2, 3, 8],
        data(8),
        data(8, seed=1),
        data(8, seed=2),
        epsilon=1e-5,
    ),
)
def skip_norm_as_steps(ctx: RuleContext) -> Sequence[str]:
    """SkipLayerNormalization of onnxruntime -> Add, then the steps of the normalization, if the
    rank of the input is known.

    The sum of x, skip and bias, and its layer normalization (onnxruntime's SkipLayerNormalization).
    """
    total = ctx.op("Add", ctx.name(0), ctx.name(1))
    total = ctx.add(total, ctx.name(4))
    rank = len(ctx.dims(0))
    x, mean, deviation = centered(ctx, total, range(rank - 1, rank), ctx.number("epsilon", 1e-12))
    y = ctx.op("Mul", ctx.op("Div", x, deviation), ctx.name(2))
    y = ctx.add(y, ctx.name(3))
    return [y, *statistics(ctx, mean, deviation), total]


_NORMS = {1: "ReduceL1", 2: "ReduceL2"}


@rule(
    REORDERED,
    case("LpNormalization", [2, 3], axis=1),
    miss=case("LpNormalization", Fed((2, 3), DType.FLOAT64), axis=1),
    deviations="LpNormalization/zero-by-zero",
)
def lp_normalization_as_quotient(ctx: RuleContext) -> str:
    """LpNormalization of data that may be all zeros -> ReduceL1 or ReduceL2, Equal with 0, Where,
    Div, if the rank is known.

    Elements divided by their norm, or by 1 where that is 0.
    """
    ctx.floats(0, "X")
    ctx.require_opset(11)  # before it, Equal is of integers alone
    norm = _NORMS[ctx.integer("p", 2)]
    size = ctx.reduce(norm, ctx.name(0), [ctx.axis(-1, len(ctx.dims(0)))])
    empty = ctx.op("Equal", size, ctx.scalar(0.0, "zero"))
    return ctx.op("Div", ctx.name(0), ctx.op("Where", empty, ctx.scalar(1.0, "one"), size))


_ALONG_ONE_AXIS = 13


@rule(
    REORDERED,
    case("LogSoftmax", [2, 3, 4], axis=1, opset=11),
    operators="Hardmax LogSoftmax Softmax",
    miss=case("LogSoftmax", [2, 3, 4], axis=2, opset=11),
    boundary=case("LogSoftmax", [2, 3, 4], axis=0, opset=12),
    deviations="Hardmax/one-axis LogSoftmax/one-axis",
)
def softmax_as_matrix(ctx: RuleContext) -> str:
    """Hardmax, LogSoftmax or Softmax over several axes, before opset 13 -> Reshape, the operator
    over the last axis, Reshape, if dims are known; opset 12 or less.

    Before opset 13 axes from `axis` on are one, which Reshape states.
    """
    skip_unless(ctx.node.opset < _ALONG_ONE_AXIS)
    dims = ctx.shape(0)
    axis = ctx.axis(1, len(dims))
    x = ctx.reshape(ctx.name(0), [prod(dims[:axis]), prod(dims[axis:])])
    return ctx.reshape(ctx.op(ctx.node.op_type, x, axis=1), list(dims))


@rule(
    EQUAL,
    case("Hardmax", [2, 3, 4], axis=1, opset=11),
    miss=case("Hardmax", Fed((2, 3, 4), DType.FLOAT64), axis=1, opset=11),
)
def hardmax_as_one_hot(ctx: RuleContext) -> str:
    """Hardmax that is not listed in its dtype or rank -> ArgMax, OneHot, if dims are known; x is
    float16 or float32.

    A Hardmax is 1 at the first largest element, and 0 elsewhere.
    """
    ctx.floats(0, "x")
    dims = ctx.shape(0)
    require(0 not in dims, "x has elements")
    old = ctx.node.opset < _ALONG_ONE_AXIS
    axis = ctx.integer("axis", 1 if old else -1)
    coerced = old or len(dims) == 1  # no ArgMax of a vector is listed
    axis = axis + len(dims) if axis < 0 else axis
    x, size = ctx.name(0), dims[axis] if axis < len(dims) else 1
    if coerced:
        size = prod(dims[axis:])
        x, axis = ctx.reshape(x, [prod(dims[:axis]), size]), 1
    place = ctx.op("ArgMax", x, axis=axis, keepdims=0)
    values = ctx.const([0, 1], ctx.element, "values")
    y = ctx.op("OneHot", place, ctx.const([size], label="depth"), values, axis=axis)
    return ctx.reshape(y, list(dims)) if coerced else y
