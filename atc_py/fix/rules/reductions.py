"""Rules of reductions.

CANN loses axes where a release reads them as an attribute and the model's opset has them as an input,
or the reverse. The model is stated at another opset then; rules are for those that have none.
"""

from dataclasses import replace
from math import prod

import numpy as np

from atc_py.fix.case import Fed, case, case_after
from atc_py.fix.context import RuleContext
from atc_py.fix.rule import EQUAL, REORDERED, rule
from atc_py.fix.unfit import require, skip_unless

_OF_LOGARITHMS = frozenset(
    f"{operator}/axes-{name}"
    for operator in ("ReduceLogSum", "ReduceLogSumExp")
    for name in ("absent", "absent-undefined", "attribute-lost", "input-lost")
)

_AFTER_BITS = replace(
    case_after(
        (
            ("Cast", ("x",), ("whole",), {"to": 6}),
            ("BitwiseNot", ("whole",), ("inverse",), {}),
            ("Cast", ("inverse",), ("y",), {"to": 1}),
        ),
        "ReduceMean",
        ("y", "axes"),
        {"x": Fed((2, 3)), "axes": np.array([1])},
        opset=18,
    ),
    operator_list="cann-9.0",
)
_AFTER_NORM = replace(
    case_after(
        (
            ("ReduceMean", ("x",), ("mean",), {"axes": [0]}),
            ("LayerNormalization", ("mean", "scale"), ("y",), {}),
        ),
        "ReduceProd",
        ("y",),
        {"x": Fed((2, 3, 5)), "scale": np.ones(5, np.float32)},
        opset=17,
        attributes={"axes": [2]},
    ),
    operator_list="cann-9.0",
)
"""Nodes in models that no opset has whose operators are all read."""

_PAIRS = {"ReduceMax": "Max", "ReduceMin": "Min", "ReduceProd": "Mul"}
"""Operators of two elements that reductions repeat."""


def _stated_axes(ctx: RuleContext) -> tuple[int, ...]:
    if ctx.tensor(1) is None:
        return ctx.integers("axes")
    return tuple(int(number) for number in ctx.constant(1).reshape(-1))


@rule(
    REORDERED,
    case("ReduceLogSumExp", [3, 4], axes=[1], keepdims=0),
    operators="ReduceLogSum ReduceLogSumExp",
    miss=case("ReduceLogSumExp", [3, 4], noop_with_empty_axes=1, opset=18),
    deviations=_OF_LOGARITHMS,
    lists=True,
    float16="no exponential is above 1",
)
def log_of_sum_as_steps(ctx: RuleContext) -> str:
    """ReduceLogSum, ReduceLogSumExp -> ReduceSum and Log; for exponentials ReduceMax and Sub
    before, Add after them, if the rank is known; axes are constant.

    log(sum(exp(x))) = m + log(sum(exp(x - m))), with m the largest x.
    """
    axes = _axes(ctx)
    keepdims = ctx.flag("keepdims", default=True)
    x = ctx.name(0)
    if ctx.node.op_type == "ReduceLogSum":
        return ctx.op("Log", ctx.reduce("ReduceSum", x, axes, keepdims=keepdims))
    most = ctx.reduce("ReduceMax", x, axes)
    power = ctx.op("Exp", ctx.op("Sub", x, most))
    y = ctx.op("Log", ctx.reduce("ReduceSum", power, axes, keepdims=keepdims))
    return ctx.op("Add", y, most if keepdims else ctx.squeeze(most, axes))


@rule(
    REORDERED,
    case("ReduceSumSquare", [2, 3, 4], axes=[1], keepdims=0, cann="5"),
    miss=case("ReduceSumSquare", [2, 3, 4], axes=[1], keepdims=0),
    deviations="ReduceSumSquare/keepdims-always ReduceSumSquare/keepdims-absent "
    "ReduceSumSquare/axes-absent ReduceSumSquare/axes-input-not-read",
    float16="squares above 65504 overflow",
)
def sum_of_squares(ctx: RuleContext) -> str:
    """ReduceSumSquare without keepdims or axes, or with axes as an input -> Mul, ReduceSum, if the rank is
    known; axes are constant; noop_with_empty_axes is 0.
    """
    require(not ctx.integer("noop_with_empty_axes", 0), "noop_with_empty_axes is 0")
    axes = _stated_axes(ctx)
    rank = len(ctx.dims(0))
    over = sorted(axis % rank for axis in axes) or list(range(rank))
    squares = ctx.op("Mul", ctx.name(0), ctx.name(0))
    keepdims = ctx.flag("keepdims", default=True)
    return ctx.reduce("ReduceSum", squares, over, keepdims=keepdims)


@rule(
    EQUAL,
    case("ReduceMean", [2, 3], noop_with_empty_axes=1, opset=18),
    operators="ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum",
    miss=case("ReduceMean", [2, 3], noop_with_empty_axes=0, opset=18),
    deviations="ReduceSum/no-op-refused",
    lists=True,
)
def reduction_of_nothing(ctx: RuleContext) -> str:
    """A reduction without axes with noop_with_empty_axes 1 -> its input, if axes are absent or
    empty.
    """
    skip_unless(ctx.integer("noop_with_empty_axes", 0) == 1)
    require(ctx.tensor(1) is None or not ctx.constant(1).size, "axes are empty")
    return ctx.op("Identity", ctx.name(0))


@rule(
    EQUAL,
    case("ReduceMax", [2, 3], opset=11),
    operators="ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum",
    miss=case("ReduceMax", [2, 3], axes=[1], opset=11),
    deviations="ReduceMax/axes-absent ReduceMean/axes-absent ReduceMean/axes-absent-undefined ReduceMin/axes-absent "
    "ReduceProd/axes-absent ReduceSum/axes-absent ReduceSum/axes-absent-undefined",
)
def reduction_over_named_axes(ctx: RuleContext) -> str:
    """A reduction without axes -> the same with all of them, if the rank is known and not 0;
    noop_with_empty_axes is 0.
    """
    rank = len(ctx.dims(0))
    require(rank, "data has axes")
    require(not ctx.integer("noop_with_empty_axes", 0), "noop_with_empty_axes is 0")
    keepdims = ctx.flag("keepdims", default=True)
    return ctx.reduce(ctx.node.op_type, ctx.name(0), range(rank), keepdims=keepdims)


@rule(
    EQUAL,
    case("ReduceSum", [2, 3], np.array([1]), cann="5"),
    miss=case("ReduceSum", [2, 3], np.array([1])),
    deviations="ReduceSum/axes-input-refused",
)
def sum_with_flag(ctx: RuleContext) -> str:
    """ReduceSum with axes as an input -> the same with noop_with_empty_axes 1, if axes are constant
    and not empty.
    """
    require(ctx.constant(1).size, "axes are not empty")
    (result,) = ctx.again(noop_with_empty_axes=1)
    return result


@rule(
    REORDERED,
    _AFTER_BITS,
    miss=case("ReduceMean", [2, 3], axes=[1], opset=13),
    deviations="ReduceMean/axes-input-lost",
)
def mean_as_pool(ctx: RuleContext) -> str:
    """ReduceMean with axes as an input -> Transpose, Reshape, GlobalAveragePool, Reshape, if dims are
    known and not 0; axes are constant.
    """
    dims, axes = ctx.shape(0), _axes(ctx)
    require(all(dims), "no dim is 0")
    kept = [axis for axis in range(len(dims)) if axis not in axes]
    x = ctx.transpose(ctx.name(0), [*kept, *axes])
    pooled = [1, prod(dims[axis] for axis in kept), prod(dims[axis] for axis in axes), 1]
    y = ctx.op("GlobalAveragePool", ctx.reshape(x, pooled))
    if ctx.flag("keepdims", default=True):
        return ctx.reshape(y, [1 if axis in axes else dim for axis, dim in enumerate(dims)])
    return ctx.reshape(y, [dims[axis] for axis in kept])


@rule(
    REORDERED,
    _AFTER_NORM,
    operators=_PAIRS,
    miss=case("ReduceProd", [2, 5], axes=[1], opset=11),
    deviations=(
        f"{operator}/axes-{kind}-lost" for operator in _PAIRS for kind in ("attribute", "input")
    ),
)
def reduction_by_halves(ctx: RuleContext) -> str:
    """ReduceMax, ReduceMin, ReduceProd -> Max, Min, Mul of the halves of each axis, until one element
    is left, if the dims along the axes are known; axes are constant.
    """
    axes, y = _axes(ctx), ctx.name(0)
    for axis in axes:
        length = ctx.dims(0)[axis] or 0
        require(length, "the dims along the axes are known and not 0")
        y = _halved(ctx, y, axis, length)
    return y if ctx.flag("keepdims", default=True) else ctx.squeeze(y, axes)


def _halved(ctx: RuleContext, x: str, axis: int, length: int) -> str:
    while length > 1:
        half = length // 2
        parts = [ctx.slice(x, axis, start, start + half) for start in (0, half)]
        halves = ctx.op(_PAIRS[ctx.node.op_type], *parts)
        odd = [ctx.slice(x, axis, 2 * half, length)] if length % 2 else []
        x, length = ctx.concat([halves, *odd], axis) if odd else halves, half + len(odd)
    return x


def _axes(ctx: RuleContext) -> list[int]:
    rank = len(ctx.dims(0))
    given = _stated_axes(ctx)
    require(given or not ctx.integer("noop_with_empty_axes", 0), "there are axes")
    return sorted({axis % rank for axis in given or range(rank)})
