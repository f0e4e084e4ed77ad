"""Rules of MaxPool and MaxUnpool alone."""

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.case import Fed, case
from atc_py.fix.context import RuleContext
from atc_py.fix.facts import FLOATS
from atc_py.fix.parts.windows import PoolAxis, pool_axes, take, window_numbers
from atc_py.fix.rule import BOUNDED, EQUAL, rule
from atc_py.fix.unfit import require, skip_unless
from atc_py.tensor.dtypes import DType

# Slices that are written along an axis at most.
_MOST_TAPS = 512


@rule(
    EQUAL,
    case(
        "MaxPool",
        [1, 2, 9, 8],
        kernel_shape=[3, 2],
        dilations=[2, 3],
        pads=[1, 0, 2, 1],
        strides=[1, 2],
        opset=12,
    ),
    miss=case("MaxPool", [1, 1, 9, 4200], kernel_shape=[1, 600], dilations=[1, 2], opset=12),
    boundary=case("MaxPool", [1, 1, 1, 1023], kernel_shape=[1, 512], dilations=[1, 2], opset=12),
    last=True,
)
def max_pool_as_maxima(ctx: RuleContext) -> str:
    """MaxPool with dilations, or of another form that is not listed -> for each axis a Slice or
    Gather of X for each tap, Max, if dims are known; each window meets X; at most 512 taps along
    an axis; Indices are not used.

    A tap outside X counts as the nearest one of its window inside, which leaves the largest value
    as it is.
    """
    require(ctx.output(1) is None, "Indices are not used")
    ctx.floats(0, "X")
    axes = pool_axes(ctx)
    most = max(axis.axis.taps for axis in axes)
    require(most <= _MOST_TAPS, "an axis has at most 512 taps", found=most)
    y = ctx.name(0)
    for at, axis in enumerate(axes, 2):
        parts = [take(ctx, y, at, tap, axis.axis.size) for tap in axis.clamped.T]
        y = parts[0] if len(parts) == 1 else ctx.op("Max", *parts)
    return ctx.own(y)


# Elements of the table of positions at most.
_MOST = 2**24


@rule(
    BOUNDED,
    case(
        "MaxPool",
        [2, 3, 6, 7],
        kernel_shape=[2, 3],
        strides=[2, 2],
        pads=[0, 1, 0, 1],
        opset=12,
        outputs=2,
    ),
    miss=case("MaxPool", [1, 2, 9, 8], kernel_shape=[3, 2], dilations=[2, 3], opset=12),
    boundary=case("MaxPool", [1, 1, 2, 2], kernel_shape=[2, 2], opset=12, outputs=2),
    bound=0.0,
    float16="values that float16 makes equal have the position of the first",
)
def max_pool_indices(ctx: RuleContext) -> Sequence[str]:
    """MaxPool whose Indices are used -> MaxPool; Gather of each window's elements, ArgMax, Gather
    of their positions, Add, if dims are known; each window meets X; all windows have at most
    2^24 taps.

    The first of equal values counts, in the order of the window; a window of negative infinities
    alone has no position that ONNX defines. A tap outside X counts as the nearest one of its window
    inside, whose position stands at both places.
    """
    skip_unless(ctx.output(1) is not None)
    x, axes = ctx.shape(0), pool_axes(ctx)
    counts, taps = ([getattr(axis, name) for axis in axes] for name in ("count", "clamped"))
    window = prod(axis.axis.taps for axis in axes)
    require(prod(counts) * window <= _MOST, "the table is below 2^24")
    (largest,) = ctx.again(ctx.name(0), storage_order=None)
    parts = ctx.name(0)
    for at, (each, positions) in enumerate(zip(axes, taps, strict=True), 2):
        parts = take(ctx, parts, at, positions.reshape(-1), each.axis.size)
    rank = len(axes)
    split = [part for axis in axes for part in (axis.count, axis.axis.taps)]
    parts = ctx.reshape(parts, [x[0] * x[1], *split])
    order = [0, *range(1, 2 * rank, 2), *range(2, 2 * rank + 1, 2)]
    parts = ctx.reshape(ctx.transpose(parts, order), [x[0], x[1], prod(counts), window])
    if ctx.element not in FLOATS:
        parts = ctx.cast(parts, DType.FLOAT32)
    tap = ctx.op("ArgMax", parts, axis=3, keepdims=0)
    first = ctx.const(tables.arange(prod(counts)) * window, label="first")
    table = ctx.const(_table(ctx, axes).reshape(-1), label="table")
    y = ctx.op("Gather", table, ctx.op("Add", tap, first), axis=0)
    if x[0] * x[1] > 1:
        base = tables.arange(x[0] * x[1]).reshape(x[0], x[1], 1) * prod(x[2:])
        y = ctx.op("Add", y, ctx.const(base, label="base"))
    return [largest, ctx.reshape(y, [x[0], x[1], *counts])]


def _table(ctx: RuleContext, axes: Sequence[PoolAxis]) -> NDArray[np.int64]:
    sizes = [axis.axis.size for axis in axes]
    columns = ctx.integer("storage_order", 0)
    rank = len(axes)
    table = tables.zeros((1,) * (2 * rank), np.int64)
    for at, axis in enumerate(axes):
        step = prod(sizes[:at]) if columns else prod(sizes[at + 1 :])
        dims = [1] * (2 * rank)
        dims[at], dims[rank + at] = axis.count, axis.axis.taps
        table = table + axis.clamped.reshape(dims) * step
    return np.asarray(table)


@rule(
    EQUAL,
    case("MaxPool", Fed((1, 2, 6, 7), DType.UINT8, (0, 255)), kernel_shape=[2, 3], opset=12),
    miss=case("MaxPool", [1, 2, 9, 8], kernel_shape=[3, 2], dilations=[2, 3], opset=12),
    boundary=case(
        "MaxPool",
        Fed((1, 2, 2, 4), DType.INT8, (-128, 127)),
        kernel_shape=[2, 3],
        strides=[2, 3],
        auto_pad="SAME_LOWER",
        opset=12,
    ),
)
def max_pool_of_integers(ctx: RuleContext) -> Sequence[str]:
    """MaxPool of int8 or uint8 -> Cast, MaxPool of float32, Cast, if dims are known; the dtype is
    int8 or uint8.
    """
    skip_unless(ctx.element in {DType.INT8, DType.UINT8})
    pool_axes(ctx)
    x = ctx.cast(ctx.name(0), DType.FLOAT32)
    if ctx.output(1) is None:
        return [ctx.cast(ctx.again(x)[0], ctx.element)]
    y, indices = ctx.again(x, count=2)
    return [ctx.cast(y, ctx.element), indices]


# Elements of the constant of zeros that is written into.
_MOST_ELEMENTS = 2**26


@rule(
    EQUAL,
    case(
        "MaxUnpool",
        [1, 1, 2, 2],
        np.array([[[[1, 3], [4, 15]]]]),
        kernel_shape=[2, 2],
        strides=[2, 2],
    ),
    miss=case("MaxPool", [1, 2, 9, 8], kernel_shape=[3, 2], dilations=[2, 2], opset=12),
    boundary=case("MaxUnpool", [1, 1, 1, 1], np.array([[[[0]]]]), kernel_shape=[1, 1]),
)
def max_unpool_as_scatter(ctx: RuleContext) -> str:
    """MaxUnpool -> Reshape of values and positions to vectors, ScatterND into zeros, Reshape, if
    dims and output_shape are known; positions count in the shape of the result, as in
    onnxruntime.
    """
    x = ctx.shape(0)
    ctx.floats(0, "X")
    if ctx.tensor(2) is not None:
        dims = [int(number) for number in ctx.constant(2)]
    else:
        rank = len(x) - 2
        taps = ctx.integers("kernel_shape")
        strides, _, pads = window_numbers(ctx, rank)
        dims = [*x[:2]]
        for at, size in enumerate(x[2:]):
            dims.append((size - 1) * strides[at] + taps[at] - pads[at] - pads[rank + at])
    require(min(dims) > 0, "the result has elements")
    require(prod(dims) <= _MOST_ELEMENTS, "the result is small enough")
    zeros = ctx.full(prod(dims), 0, "zeros")
    values = ctx.reshape(ctx.name(0), [-1])
    positions = ctx.reshape(ctx.name(1), [-1, 1])
    return ctx.reshape(ctx.op("ScatterND", zeros, positions, values), dims)


@rule(
    EQUAL,
    case(
        "MaxPool",
        [1, 2, 8, 9],
        kernel_shape=[3, 2],
        strides=[2, 2],
        auto_pad="VALID",
        ceil_mode=1,
        opset=12,
    ),
    miss=case("MaxPool", [1, 2, 9, 8], kernel_shape=[3, 2], dilations=[2, 2], opset=12),
)
def pool_valid_as_explicit(ctx: RuleContext) -> Sequence[str]:
    """MaxPool with auto_pad VALID and ceil_mode 1 -> MaxPool with explicit pads of 0, if Indices
    are not used.

    auto_pad VALID means pads of 0, which go with ceil_mode.
    """
    require(ctx.output(1) is None, "Indices are not used")
    skip_unless(ctx.text("auto_pad", "NOTSET") == "VALID" and ctx.integer("ceil_mode", 0))
    return ctx.again(ctx.name(0), auto_pad=None, pads=None)
