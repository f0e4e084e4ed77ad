"""Rules of normalizations and of reductions.

Over 400 lines because a page holds its whole family.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from atc_py.fix.case import ConstInput, Fed, case, contrib_case, data
from atc_py.fix.registry import rule
from atc_py.fix.site import Site
from atc_py.fix.unfit import require, skip_unless
from atc_py.fix.writing import EQUAL, REORDERED
from atc_py.tensor.dtypes import DType

# Least positive number of float16.
_LEAST = 6e-8


def centered(
    site: Site, x: str, axes: Sequence[int], epsilon: float, element: DType | None = None
) -> tuple[str, str, str]:
    """Write x less its mean, the mean, and sqrt(variance + epsilon), all over `axes`.

    The variance is the mean of squares of what is centered, so that large means lose no digits.

    Args:
        site: of the node.
        x: what is centered.
        axes: the axes.
        epsilon: added to the variance.
        element: dtype of x; by default that of the first input.
    """
    mean = site.reduce("ReduceMean", x, list(axes))
    deviations = site.op("Sub", x, mean)
    squares = site.op("Mul", deviations, deviations)
    variance = site.reduce("ReduceMean", squares, list(axes))
    return deviations, mean, root_of(site, variance, epsilon, element)


def root_of(site: Site, square: str, epsilon: float, element: DType | None = None) -> str:
    """Write sqrt(square + epsilon), in float32 where epsilon is none in float16."""
    element = element or site.element
    wide = element is DType.FLOAT16 and epsilon < _LEAST
    if wide:
        square = site.cast(square, DType.FLOAT32)
    least = site.const(epsilon, DType.FLOAT32 if wide else element, "epsilon")
    root = site.op("Sqrt", site.op("Add", square, least))
    return site.cast(root, element) if wide else root


def statistics(site: Site, mean: str, deviation: str) -> tuple[str, str]:
    """The mean and the inverse deviation as outputs 1 and 2; "" where nothing uses them."""
    used = [site.output(at) is not None for at in (1, 2)]
    exact = site.element is DType.FLOAT32 or not any(used)
    require(exact, "Mean and InvStdDev are not used in float16")
    return mean if used[0] else "", site.op("Reciprocal", deviation) if used[1] else ""


_PIXELS = 2

# Opset before which an attribute, which is absent by default, says that it does not train.
_MODE_STATED = 7


@rule(
    "BatchNormalization",
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
def batch_norm_as_scale(site: Site) -> str:
    """BatchNormalization of a rank that is not listed -> Mul and Add with constants, if the four
    parameters are constant; it does not train.

    y = x * s + (B - mean * s) with s = scale / sqrt(var + epsilon), one number a channel each.
    """
    tests = site.opset >= _MODE_STATED or site.integer("is_test", 0) == 1
    trains = site.integer("training_mode", 0) or not tests
    require(not trains, "it does not train")
    require(site.integer("spatial", 1) == 1, "it is of channels")
    require(site.element.is_float, "the dtype is one of floats")
    require(all(tensor is None for tensor in site.node.outputs[1:]), "Y alone is used")
    rank = len(site.dims(0))
    scale, bias, mean, var = (site.constant(at).astype(np.float64) for at in range(1, 5))
    factor = scale / np.sqrt(var + site.number("epsilon", 1e-5))
    dims = [-1, *[1] * (rank - _PIXELS)]
    factors = site.const(factor.reshape(dims), site.element, "scale")
    offsets = site.const((bias - mean * factor).reshape(dims), site.element, "offset")
    return site.op("Add", site.op("Mul", site.name(0), factors), offsets)


_WORDS, _SEGMENTS = 0, 1
# Positions of inputs.
_WORD_ROWS, _POSITION_ROWS, _SEGMENT_ROWS, _SCALE, _BIAS, _MASK, _POSITIONS = range(2, 9)

_INPUTS = (
    Fed((2, 3), DType.INT32, (0, 8)), None, data(9, 4), data(5, 4, seed=1), None,
    data(4, seed=2), data(4, seed=3),
)  # fmt: skip


@rule(
    "com.microsoft::EmbedLayerNormalization",
    REORDERED,
    contrib_case("EmbedLayerNormalization", *_INPUTS, outputs=2),
)
def embed_norm_as_steps(site: Site) -> Sequence[str]:
    """EmbedLayerNormalization of onnxruntime -> Gather, Add, then the steps of the normalization,
    if dims are known; the tables are float16 or float32.

    The sum of the rows of words, positions and segments, and its layer normalization (onnxruntime's
    EmbedLayerNormalization).
    """
    batch, positions = site.shape(0)
    element = site.input(_WORD_ROWS).dtype
    require(element is not None, "the dtype is known")
    if site.tensor(_POSITIONS) is not None:
        rows = site.op("Gather", site.name(_POSITION_ROWS), site.name(_POSITIONS), axis=0)
    else:
        rows = site.slice(site.name(_POSITION_ROWS), 0, 0, positions)
    words = site.op("Gather", site.name(_WORD_ROWS), site.name(_WORDS), axis=0)
    total = site.op("Add", words, rows)
    if site.tensor(_SEGMENTS) is not None and site.tensor(_SEGMENT_ROWS) is not None:
        table = site.name(_SEGMENT_ROWS)
        total = site.op("Add", total, site.op("Gather", table, site.name(_SEGMENTS), axis=0))
    x, _, deviation = centered(site, total, (2,), site.number("epsilon", 1e-12), element)
    y = site.op("Mul", site.op("Div", x, deviation), site.name(_SCALE))
    y = site.op("Add", y, site.name(_BIAS))
    return [y, _word_count(site, batch) if site.output(1) is not None else "", total]


def _word_count(site: Site, batch: int) -> str:
    """The number of ones in the mask of each sequence; zeros without a mask."""
    if site.tensor(_MASK) is None:
        return site.const([0] * batch, DType.INT32, "none")
    ones = site.op("Equal", site.name(_MASK), site.const(1, DType.INT32, "word"))
    marks = site.cast(ones, DType.FLOAT32)
    return site.cast(site.reduce("ReduceSum", marks, [1], keepdims=False), DType.INT32)


@rule(
    "GroupNormalization",
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
def group_norm_as_steps(site: Site) -> str:
    """GroupNormalization -> Reshape, ReduceMean, Sub, Mul, ReduceMean, Add, Sqrt, Div, Reshape,
    Mul, Add, if the dims of X are known.

    A normalization over the pixels of each group of channels (GroupNormalization-18 and -21 of
    ONNX).

    ONNX's own body takes the variance as mean(x^2) - mean(x)^2, which loses the digits of float16.
    """
    site.floats(0)
    dims = site.shape(0)
    groups = site.integer("num_groups", 1)
    inner = (dims[1] // groups, int(np.prod(dims[2:])))
    grouped = site.reshape(site.name(0), [dims[0], groups, *inner])
    x, _, deviation = centered(site, grouped, (2, 3), site.number("epsilon", 1e-5))
    y = site.op("Div", x, deviation)
    whole = [1, dims[1], *[1] * (len(dims) - 2)]
    per_group = site.shape(1)[0] == groups
    if not per_group:
        y = site.reshape(y, dims)
    shape = [1, groups, 1, 1] if per_group else whole
    scale, bias = (site.reshape(site.name(at), shape) for at in (1, 2))
    y = site.op("Add", site.op("Mul", y, scale), bias)
    return site.reshape(y, dims) if per_group else y


@rule(
    "InstanceNormalization",
    REORDERED,
    case("InstanceNormalization", [2, 3, 4, 4], data(3), data(3, seed=1)),
    miss=case("InstanceNormalization", Fed((2, 3, 4), DType.FLOAT64), np.ones(3), np.ones(3)),
    boundary=case("InstanceNormalization", [2, 3, 1], data(3), data(3, seed=1)),
    float16="squares of deviations above 256 overflow",
)
def instance_norm_as_steps(site: Site) -> str:
    """InstanceNormalization -> ReduceMean, Sub, Mul, ReduceMean, Add, Sqrt, Div, Mul, Add, if the
    rank of the input is known.

    A normalization of each channel over its pixels (InstanceNormalization-6 of ONNX).
    """
    site.floats(0)
    rank = len(site.dims(0))
    require(rank > 2, "the input has axes after its channels")  # noqa: PLR2004
    x, _, deviation = centered(site, site.name(0), range(2, rank), site.number("epsilon", 1e-5))
    scale, bias = (site.reshape(site.name(number), [1, -1, *[1] * (rank - 2)]) for number in (1, 2))
    return site.op("Add", site.op("Mul", site.op("Div", x, deviation), scale), bias)


@rule(
    "LayerNormalization",
    REORDERED,
    case("LayerNormalization", [2, 3, 8], data(8), data(8, seed=1), opset=17),
    miss=case("LayerNormalization", Fed((2, 3, 8), DType.FLOAT64), np.ones(8), opset=17),
    float16="fused to LayerNorm by the compiler, which sums in float32",
)
def layer_norm_as_steps(site: Site) -> Sequence[str]:
    """LayerNormalization -> ReduceMean, Sub, Mul, ReduceMean, Add, Sqrt, Div, Mul, Add, if the rank
    of X is known; Mean and InvStdDev are not used in float16.

    y = (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + B (LayerNormalization-17 of ONNX).
    """
    site.floats(0)
    y_dtype = None if (result := site.output(0)) is None else result.dtype
    require(y_dtype in {None, site.element}, "Y has the dtype of X")
    rank = len(site.dims(0))
    axes = range(site.axis(-1, rank), rank)
    x, mean, deviation = centered(site, site.name(0), axes, site.number("epsilon", 1e-5))
    y = site.op("Mul", site.op("Div", x, deviation), site.name(1))
    if site.tensor(2) is not None:
        y = site.op("Add", y, site.name(2))
    return [y, *statistics(site, mean, deviation)]


@rule(
    """
    RMSNormalization SimplifiedLayerNormalization com.microsoft::SimplifiedLayerNormalization
    com.microsoft::SkipSimplifiedLayerNormalization
    """,
    REORDERED,
    contrib_case(
        "SkipSimplifiedLayerNormalization",
        [2, 3, 8],
        [2, 3, 8],
        data(8),
        epsilon=1e-5,
    ),
    miss=case("RMSNormalization", Fed((2, 3, 8), DType.FLOAT64), np.ones(8), opset=23),
    float16="squares above 256 overflow; fused to RmsNorm by the compiler where a SoC has it",
)
def simple_norm_as_steps(site: Site) -> Sequence[str]:
    """RMSNormalization; SimplifiedLayerNormalization of onnxruntime, after a skip or not -> Add,
    Mul, ReduceMean, Add, Sqrt, Div, Mul, if the dtype is float16 or float32; Mean, which is 0,
    is not used.

    x / sqrt(mean(x^2) + epsilon) * scale (SimplifiedLayerNormalization of onnxruntime,
    RMSNormalization-23).
    """
    site.floats(0)
    skip = site.node.op_type.startswith("Skip")
    require(not skip or site.output(1) is None, "Mean is not used")
    rank = len(site.dims(0))
    axes = range(site.axis(-1, rank), rank)
    x, scale, bias = site.name(0), site.name(2 if skip else 1), ""
    if skip:
        x = site.op("Add", x, site.name(1))
        bias = site.name(3)
        x = site.op("Add", x, bias) if bias else x
    square = site.reduce("ReduceMean", site.op("Mul", x, x), list(axes))
    epsilon = site.number("epsilon", 1e-12 if skip else 1e-5)
    root = root_of(site, square, epsilon)
    y = site.op("Mul", site.op("Div", x, root), scale)
    used = site.output(2 if skip else 1) is not None
    exact = site.element is DType.FLOAT32 or not used
    require(exact, "InvStdDev is not used in float16")
    inverse = site.op("Reciprocal", root) if used else ""
    return [y, "", inverse, x] if skip else [y, inverse]


@rule(
    "com.microsoft::SkipLayerNormalization",
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
def skip_norm_as_steps(site: Site) -> Sequence[str]:
    """SkipLayerNormalization of onnxruntime -> Add, then the steps of the normalization, if the
    rank of the input is known.

    The sum of x, skip and bias, and its layer normalization (onnxruntime's SkipLayerNormalization).
    """
    total = site.op("Add", site.name(0), site.name(1))
    if site.tensor(4) is not None:
        total = site.op("Add", total, site.name(4))
    rank = len(site.dims(0))
    x, mean, deviation = centered(site, total, range(rank - 1, rank), site.number("epsilon", 1e-12))
    y = site.op("Mul", site.op("Div", x, deviation), site.name(2))
    if site.tensor(3) is not None:
        y = site.op("Add", y, site.name(3))
    return [y, *statistics(site, mean, deviation), total]


_NORMS = {1: "ReduceL1", 2: "ReduceL2"}


@rule(
    "LpNormalization",
    REORDERED,
    case("LpNormalization", [2, 3], axis=1),
    miss=case("LpNormalization", Fed((2, 3), DType.FLOAT64), axis=1),
    deviations="LpNormalization/zero-by-zero",
)
def lp_normalization_as_quotient(site: Site) -> str:
    """LpNormalization of what may be zeros alone -> ReduceL1 or ReduceL2, Equal with 0, Where, Div,
    if the rank is known.

    Elements divided by their norm, or by 1 where that is 0.
    """
    site.floats(0, "X")
    site.require_opset(11)  # before it, Equal is of integers alone
    norm = _NORMS[site.integer("p", 2)]
    size = site.reduce(norm, site.name(0), [site.axis(-1, len(site.dims(0)))])
    empty = site.op("Equal", size, site.scalar(0.0, "zero"))
    return site.op("Div", site.name(0), site.op("Where", empty, site.scalar(1.0, "one"), size))


_ALONG_ONE_AXIS = 13


@rule(
    "Hardmax LogSoftmax Softmax",
    REORDERED,
    case("LogSoftmax", [2, 3, 4], axis=1, opset=11),
    miss=case("LogSoftmax", [2, 3, 4], axis=2, opset=11),
    boundary=case("LogSoftmax", [2, 3, 4], axis=0, opset=12),
    deviations="Hardmax/one-axis LogSoftmax/one-axis",
)
def softmax_as_matrix(site: Site) -> str:
    """Hardmax, LogSoftmax or Softmax over several axes, before opset 13 -> Reshape, the operator
    over the last axis, Reshape, if dims are known; opset 12 or less.

    Before opset 13 axes from `axis` on are one, which Reshape states.
    """
    skip_unless(site.node.opset < _ALONG_ONE_AXIS)
    dims = site.shape(0)
    axis = site.axis(1, len(dims))
    x = site.reshape(site.name(0), [prod(dims[:axis]), prod(dims[axis:])])
    return site.reshape(site.op(site.node.op_type, x, axis=1), list(dims))


@rule(
    "Hardmax",
    EQUAL,
    case("Hardmax", [2, 3, 4], axis=1, opset=11),
    miss=case("Hardmax", Fed((2, 3, 4), DType.FLOAT64), axis=1, opset=11),
)
def hardmax_as_one_hot(site: Site) -> str:
    """Hardmax that is not listed in its dtype or rank -> ArgMax, OneHot, if dims are known; x is
    float16 or float32.

    A Hardmax is 1 at the first largest element, and 0 elsewhere.
    """
    site.floats(0, "x")
    dims = site.shape(0)
    require(0 not in dims, "x has elements")
    old = site.node.opset < _ALONG_ONE_AXIS
    axis = site.integer("axis", 1 if old else -1)
    coerced = old or len(dims) == 1  # no ArgMax of a vector is listed
    axis = axis + len(dims) if axis < 0 else axis
    x, size = site.name(0), dims[axis] if axis < len(dims) else 1
    if coerced:
        size = int(np.prod(dims[axis:], dtype=np.int64))
        x, axis = site.reshape(x, [int(np.prod(dims[:axis], dtype=np.int64)), size]), 1
    place = site.op("ArgMax", x, axis=axis, keepdims=0)
    values = site.const([0, 1], site.element, "values")
    y = site.op("OneHot", place, site.const([size], label="depth"), values, axis=axis)
    return site.reshape(y, list(dims)) if coerced else y


@rule(
    "ReduceLogSum ReduceLogSumExp",
    REORDERED,
    case("ReduceLogSumExp", [3, 4], axes=[1], keepdims=0),
    miss=case("ReduceLogSumExp", [3, 4], noop_with_empty_axes=1, opset=18),
    float16="no exponential is above 1",
)
def log_of_sum_as_steps(site: Site) -> str:
    """ReduceLogSum, ReduceLogSumExp -> ReduceSum and Log; for exponentials ReduceMax and Sub
    before, Add after them, if the rank is known; axes are constant.

    log(sum(exp(x))) = m + log(sum(exp(x - m))), with m the largest x.
    """
    rank = len(site.dims(0))
    given = site.integers("axes")
    if site.tensor(1) is not None:
        given = tuple(int(number) for number in site.constant(1).reshape(-1))
    require(given or not site.integer("noop_with_empty_axes", 0), "there are axes")
    axes = sorted({axis % rank for axis in given or range(rank)})
    keepdims = site.flag("keepdims", default=True)
    x = site.name(0)
    if site.node.op_type == "ReduceLogSum":
        return site.op("Log", site.reduce("ReduceSum", x, axes, keepdims=keepdims))
    most = site.reduce("ReduceMax", x, axes)
    power = site.op("Exp", site.op("Sub", x, most))
    y = site.op("Log", site.reduce("ReduceSum", power, axes, keepdims=keepdims))
    return site.op("Add", y, most if keepdims else site.squeeze(most, axes))


@rule(
    "ReduceSumSquare",
    REORDERED,
    case("ReduceSumSquare", [2, 3, 4], axes=[1], keepdims=0, cann=5),
    miss=case("ReduceSumSquare", [2, 3, 4], axes=[1], keepdims=0),
    deviations="ReduceSumSquare/keepdims-always ReduceSumSquare/axes-input-not-wired",
    float16="squares above 65504 overflow",
)
def sum_of_squares(site: Site) -> str:
    """ReduceSumSquare without keepdims, or with axes as an input -> Mul, ReduceSum, if the rank is
    known; axes are constant; noop_with_empty_axes is 0.
    """
    idle = site.integer("noop_with_empty_axes", 0)
    require(not idle, "noop_with_empty_axes is 0")
    axes = site.integers("axes")
    if site.tensor(1) is not None:
        axes = tuple(int(number) for number in site.constant(1).reshape(-1))
    rank = len(site.dims(0))
    over = sorted(axis % rank for axis in axes) or list(range(rank))
    squares = site.op("Mul", site.name(0), site.name(0))
    keepdims = site.flag("keepdims", default=True)
    return site.reduce("ReduceSum", squares, over, keepdims=keepdims)


@rule(
    "ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum",
    EQUAL,
    case("ReduceMean", [2, 3], noop_with_empty_axes=1, opset=18),
    miss=case("ReduceMean", [2, 3], noop_with_empty_axes=0, opset=18),
)
def reduction_of_nothing(site: Site) -> str:
    """A reduction without axes with noop_with_empty_axes 1 -> its input, if axes are absent or
    empty.
    """
    require(site.integer("noop_with_empty_axes", 0) == 1, "no axis is reduced")
    require(site.tensor(1) is None or not site.constant(1).size, "axes are empty")
    return site.op("Identity", site.name(0))
