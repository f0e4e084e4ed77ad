"""Rules for listed forms that overflow or lose accuracy in float16: what a chain of nodes means is written at once.

Over 400 lines because a page holds its whole family.
"""

from dataclasses import dataclass, replace
from math import ceil, log, log2, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix.case import CaseNode, Fed, RuleCase, case_after
from atc_py.fix.context import RuleContext
from atc_py.fix.range_rules import axes_of
from atc_py.fix.rule import BOUNDED, REORDERED, rule
from atc_py.fix.unfit import UnfitError, require
from atc_py.onnx_graph.source import SourceNode, SourceTensor
from atc_py.tensor.dtypes import DType

LEAST_NORMAL = 2.0**-14
"""Least normal number of float16; below, it has fewer digits."""

LEAST = 2.0**-24
"""Least positive number of float16."""

_TWO = 2
_REDUCTIONS = frozenset({"ReduceMean", "ReduceSum", "ReduceSumSquare"})


def _case(
    nodes: tuple[CaseNode, ...],
    op_type: str,
    *reads: str,
    opset: int = 13,
    **inputs: float | Fed | NDArray[Any],
) -> RuleCase:
    known = {
        name: np.array(value, np.float32) if isinstance(value, float) else value
        for name, value in inputs.items()
    }
    return case_after(nodes, op_type, reads, {"x0": Fed((3, 64)), **known}, opset)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean times a factor, however it is written."""

    source: SourceTensor  # the tensor whose elements are averaged
    axes: tuple[int, ...]  # the axes, counted from the front
    keepdims: bool  # whether they stay as axes of 1
    factor: float  # the mean is multiplied by it: the number of elements for a sum
    squared: bool = False  # whether the squares of the elements are averaged

    @property
    def count(self) -> int:
        return prod(self.source.shape[axis] for axis in self.axes)


def require_float32(ctx: RuleContext) -> None:
    """Require float32: a model in float16 has lost already what these rules save."""
    require(ctx.element is DType.FLOAT32, "the dtype is float32")


def number_of(tensor: SourceTensor | None) -> float | None:
    """The value of a constant whose elements are all the same; None for others."""
    if tensor is None or tensor.const is None or not prod(tensor.const.shape):
        return None
    data = tensor.const.numpy().reshape(-1)
    return float(data[0]) if bool((data == data[0]).all()) else None


def beside_number(node: SourceNode | None, *op_types: str) -> tuple[SourceTensor, float] | None:
    """The operand and the constant of a node of some operators with two inputs; None if none."""
    if node is None or node.op_type not in op_types or len(node.inputs) != _TWO:
        return None
    first, second = node.inputs
    if first is not None and first.const is None:
        value = number_of(second)
        return None if value is None else (first, value)
    value = number_of(first)
    if second is None or second.const is not None or value is None or node.op_type == "Div":
        return None
    return second, value


def square_of(ctx: RuleContext, tensor: SourceTensor | None) -> SourceTensor | None:
    """The tensor whose squares `tensor` has; None if it is no square."""
    node = ctx.maker(tensor)
    if node is None or len(node.inputs) != _TWO:
        return None
    first, second = node.inputs
    if first is None or second is None:
        return None
    same = node.op_type == "Mul" and first.name == second.name
    power = node.op_type == "Pow" and number_of(second) == _TWO
    return first if same or power else None


def shaped(ctx: RuleContext, tensor: SourceTensor | None) -> SourceTensor | None:
    """The tensor whose values this one has in other dims."""
    node = ctx.maker(tensor)
    while node is not None and node.op_type in {
        "Expand",
        "Identity",
        "Reshape",
        "Squeeze",
        "Unsqueeze",
    }:
        tensor = node.inputs[0]
        node = ctx.maker(tensor)
    return tensor


def mean_of(ctx: RuleContext, tensor: SourceTensor | None) -> Mean | None:
    """The mean that a tensor is: ReduceMean, or ReduceSum with a factor or divisor."""
    node = ctx.maker(tensor)
    if node is None:
        return None
    if node.op_type in _REDUCTIONS:
        return _reduction(ctx, node)
    known = beside_number(node, "Div", "Mul")
    if known is None or not known[1]:
        return None
    inner = ctx.maker(known[0])
    result = _reduction(ctx, inner) if inner is not None and inner.op_type in _REDUCTIONS else None
    if result is None:
        return None
    factor = known[1] if node.op_type == "Mul" else 1 / known[1]
    return replace(result, factor=result.factor * factor)


def _reduction(ctx: RuleContext, node: SourceNode) -> Mean | None:
    source = node.inputs[0]
    if source is None or source.is_open or source.dtype is not DType.FLOAT32:
        return None
    if any(tensor is not None and tensor.const is None for tensor in node.inputs[1:]):
        return None
    axes = axes_of(node)
    if not axes and node.attributes.get("noop_with_empty_axes", 0):
        return None
    whole = tuple(sorted({axis % source.rank for axis in axes or range(source.rank)}))
    keepdims = node.attributes.get("keepdims", 1) == 1
    mean = Mean(source, whole, keepdims, 1.0)
    if not mean.count:
        return None
    if node.op_type != "ReduceMean":
        mean = replace(mean, factor=float(mean.count))
    if node.op_type == "ReduceSumSquare":
        return replace(mean, squared=True)
    square = square_of(ctx, source)
    return mean if square is None else replace(mean, source=square, squared=True)


_CLIPPED: tuple[CaseNode, ...] = (("Clip", ("x0", "x1"), ("a",), {}),)


@rule(
    REORDERED,
    _case(_CLIPPED, "Log", "a", x1=1e-10),
    miss=_case(_CLIPPED, "Log", "a", x1=1e-3),
    boundary=_case(_CLIPPED, "Log", "a", x1=6.1035153e-05),
    precision=True,
    float16="the logarithm of 0 is that of the constant, not minus infinity",
)
def log_of_clipped(ctx: RuleContext) -> str:
    """Log of a number whose lower bound is a small constant -> Log of the number with the lower
    bound 0, Max with the constant's logarithm, if the constant is positive and below 2 to the
    power of -14, no upper bound.

    log(max(x, eps)) = max(log(max(x, 0)), log(eps)), where float16 has no digits for eps.
    """
    require_float32(ctx)
    x, least = _bounded(ctx.maker(ctx.tensor(0)))
    require(0 < least < LEAST_NORMAL, "the constant is positive and below 2 to the power of -14")
    y = ctx.op("Log", ctx.op("Max", x.name, ctx.scalar(0.0)))
    return ctx.op("Max", y, ctx.scalar(log(least)))


def _bounded(node: SourceNode | None) -> tuple[SourceTensor, float]:
    result = beside_number(node, "Max")
    if node is not None and node.op_type == "Clip" and node.inputs[0] is not None:
        inputs = (*node.inputs, None, None)
        stated = node.attributes.get("min")
        least = stated if isinstance(stated, float) else number_of(inputs[1])
        if least is not None and inputs[2] is None and "max" not in node.attributes:
            result = (node.inputs[0], float(least))
    if result is None:
        raise UnfitError("a constant is the lower bound")
    return result


_SHIFTED: tuple[CaseNode, ...] = (("Abs", ("x0",), ("a",), {}), ("Add", ("a", "x1"), ("sum",), {}))

# Largest power of two of float16.
_LARGEST = 2.0**15

# Least constant: with K up to 2 to the power of 25, it is still a normal number of float16.
_FEWEST_DIGITS = 2.0**-38

# First opset at which the condition and the choice take floats of any shape.
_WHERE = 9


@rule(
    REORDERED,
    _case(_SHIFTED, "Log", "sum", x1=1e-8),
    miss=_case(_SHIFTED, "Log", "sum", x1=1e-3),
    boundary=(
        _case(_SHIFTED, "Log", "sum", x1=2.0**-38),
        _case(_SHIFTED, "Log", "sum", x1=6.1035153e-05, opset=9),
    ),
    precision=True,
    float16="the logarithm of 0 is that of the constant, not minus infinity",
)
def log_of_shifted(ctx: RuleContext) -> str:
    """Log of a sum with a small constant -> Where: for small numbers, Log of both multiplied by a
    power of two, minus its logarithm; Log for large ones, if the constant is from 2 to the power of
    -38 to 2 to the power of -14.

    With K a power of two, log(x + eps) = log(K x + K eps) - log(K), which is used for x up to a
    limit L with K L within float16; above L, eps is added where it is not below the last digit of
    float32.
    """
    require_float32(ctx)
    known = beside_number(ctx.maker(ctx.tensor(0)), "Add")
    if known is None:
        raise UnfitError("a constant is added")
    x, eps = known[0].name, known[1]
    require(
        _FEWEST_DIGITS <= eps < LEAST_NORMAL,
        "the constant is from 2 to the power of -38 to 2 to the power of -14",
    )
    require(ctx.opset >= _WHERE, "the opset is 9 or more")
    scale = 2.0 ** ceil(log2(2 * LEAST_NORMAL / eps))
    limit = min(1.0, _LARGEST / scale)
    small = _multiplied(ctx, ctx.op("Min", x, ctx.scalar(limit)), scale)
    small = ctx.op("Log", ctx.op("Add", small, ctx.scalar(eps * scale)))
    small = ctx.op("Sub", small, ctx.scalar(log(scale)))
    large = ctx.op("Max", x, ctx.scalar(limit))
    if eps >= LEAST * limit:
        large = ctx.op("Add", large, ctx.scalar(eps))
    large = ctx.op("Log", large)
    is_small = ctx.op("Less", x, ctx.scalar(limit))
    return ctx.op("Where", is_small, small, large)


def _multiplied(ctx: RuleContext, x: str, factor: float) -> str:
    """Write a product whose factors float16 has."""
    y = ctx.times(x, min(factor, _LARGEST))
    return ctx.times(y, factor / _LARGEST) if factor > _LARGEST else y


_MAGNIFIED: tuple[CaseNode, ...] = (
    ("Abs", ("x0",), ("a",), {}),
    ("Mul", ("a", "x1"), ("b",), {}),
    ("Add", ("b", "x2"), ("sum",), {}),
)

# Factors by which numbers in use are beyond float16, and up to which a number of float16 is left.
_FACTORS = 2.0**10, 2.0**28


@rule(
    REORDERED,
    _case(_MAGNIFIED, "Log", "sum", x1=2.0**20, x2=1.0),
    miss=_case(_MAGNIFIED, "Log", "sum", x1=2.0**6, x2=1.0),
    boundary=(
        _case(_MAGNIFIED, "Log", "sum", x1=2.0**10, x2=1.0, opset=9),
        _case(_MAGNIFIED, "Log", "sum", x1=2.0**28, x2=0.25),
    ),
    precision=True,
    float16="the logarithm of products above 65504 is finite",
)
def log_of_magnified(ctx: RuleContext) -> str:
    """Log of a sum of a constant with a large multiple -> Where: for small numbers, Log of the
    same sum; for large ones, Log of the number alone and that of the factor, if the factor is from
    2 to the power of 10 to 2 to the power of 28, the constant from 2 to the power of -10 to 2 to
    the power of 10.

    log(k x + c) = log(x + c / k) + log(k), which is used above a limit L with k L within float16.
    """
    require_float32(ctx)
    known = beside_number(ctx.maker(ctx.tensor(0)), "Add")
    if known is None:
        raise UnfitError("a constant is added")
    factor, added_number = beside_number(ctx.maker(known[0]), "Mul"), known[1]
    if factor is None or not _FACTORS[0] <= factor[1] <= _FACTORS[1]:
        raise UnfitError("the factor is from 2 to the power of 10 to 2 to the power of 28")
    require(
        1 / _FACTORS[0] <= added_number <= _FACTORS[0],
        "the constant is from 2 to the power of -10 to 2 to the power of 10",
    )
    require(ctx.opset >= _WHERE, "the opset is 9 or more")
    x, scale = factor[0].name, factor[1]
    limit = _LARGEST / scale / 2
    small = _multiplied(ctx, ctx.op("Min", x, ctx.scalar(limit)), scale)
    small = ctx.op("Log", ctx.op("Add", small, ctx.scalar(added_number)))
    large = ctx.op("Max", x, ctx.scalar(limit))
    large = ctx.op("Log", ctx.op("Add", large, ctx.scalar(added_number / scale)))
    large = ctx.op("Add", large, ctx.scalar(log(scale)))
    return ctx.op("Where", ctx.op("Less", x, ctx.scalar(limit)), small, large)


_SQUARES: tuple[CaseNode, ...] = (
    ("Mul", ("x0", "x0"), ("square",), {}),
    ("ReduceMean", ("square",), ("mean",), {"axes": [-1], "keepdims": 1}),
)
_DEVIATIONS: tuple[CaseNode, ...] = (
    ("ReduceMean", ("x0",), ("middle",), {"axes": [-1], "keepdims": 1}),
    ("Sub", ("x0", "middle"), ("d",), {}),
    ("Mul", ("d", "d"), ("square",), {}),
    ("ReduceMean", ("square",), ("mean",), {"axes": [-1], "keepdims": 1}),
    ("Add", ("mean", "x1"), ("sum",), {}),
)


@rule(
    REORDERED,
    _case((*_SQUARES, ("Add", ("mean", "x1"), ("sum",), {})), "Sqrt", "sum", x1=1e-8),
    miss=_case(_DEVIATIONS, "Sqrt", "sum", x1=1e-6),
    boundary=_case(_DEVIATIONS, "Sqrt", "sum", x1=5.96e-8),
    precision=True,
    float16="squares of elements above 255 do not overflow, those below 2e-4 do not vanish",
)
def root_of_squares(ctx: RuleContext) -> str:
    """Sqrt of a sum or mean of squares, with or without a small constant -> ReduceMax of
    magnitudes, Div by it, Mul by itself, ReduceMean, Sqrt, Mul, if dims are known; where the
    elements are differences, the constant is below 2 to the power of -24.

    With s the largest magnitude, sqrt(mean(x^2) + eps) = s * sqrt(mean((x / s)^2) + (sqrt(eps) /
    s)^2): no square is above 1, and a constant that keeps the root from 0 is not lost where its own
    root is not.
    """
    require_float32(ctx)
    result, eps = _squares(ctx)
    maker = ctx.maker(result.source)
    centered = maker is not None and maker.op_type == "Sub"
    require(
        not centered or eps < LEAST,
        "the elements are not differences, or the constant is below 2 to the power of -24",
    )
    x, axes = result.source.name, result.axes
    floor = sqrt(eps / result.factor) if eps else LEAST_NORMAL
    largest = ctx.reduce("ReduceMax", ctx.op("Abs", x), axes)
    scale = ctx.op("Max", largest, ctx.scalar(floor))
    ratio = ctx.op("Div", x, scale)
    total = ctx.reduce("ReduceMean", ctx.op("Mul", ratio, ratio), axes, keepdims=result.keepdims)
    if not result.keepdims:
        scale = ctx.squeeze(scale, axes)
    if eps:
        part = ctx.op("Div", ctx.scalar(floor), scale)
        total = ctx.op("Add", total, ctx.op("Mul", part, part))
    root = ctx.op("Mul", ctx.op("Sqrt", total), scale)
    if result.factor == 1:
        return root
    return ctx.times(root, sqrt(result.factor))


def _squares(ctx: RuleContext) -> tuple[Mean, float]:
    tensor, eps = ctx.tensor(0), 0.0
    known = beside_number(ctx.maker(tensor), "Add")
    if known is not None:
        tensor, eps = known
    mean = mean_of(ctx, tensor)
    if mean is None or not mean.squared or mean.factor <= 0 or eps < 0:
        raise UnfitError("a sum or mean of squares is under the root")
    return mean, eps


_STEPS: tuple[CaseNode, ...] = (
    ("Exp", ("x0",), ("e",), {}),
    ("ReduceSum", ("e", "x1"), ("sum",), {"keepdims": 1}),
)


@rule(
    REORDERED,
    _case(_STEPS, "Div", "e", "sum", x1=np.array([1])),
    miss=_case(_STEPS, "Div", "x0", "sum", x1=np.array([1])),
    precision=True,
    float16="exponentials of numbers above 11 and long sums do not overflow",
)
def softmax_of_steps(ctx: RuleContext) -> str:
    """Exp, ReduceSum over one axis, Div -> Softmax along the axis, turned to be the last one where
    it is not, if the sum is of the same exponentials, over one axis, of known dims.
    """
    require_float32(ctx)
    power = ctx.maker(ctx.tensor(0))
    total = ctx.maker(shaped(ctx, ctx.tensor(1)))
    if power is None or power.op_type != "Exp" or total is None or power.inputs[0] is None:
        raise UnfitError("exponentials are divided by their sum")
    require(
        total.op_type == "ReduceSum" and total.inputs[0] is power.outputs[0],
        "the sum is of the same exponentials",
    )
    shape = ctx.shape(0)
    axes = axes_of(total)
    if axes is None or len(axes) != 1:
        raise UnfitError("the sum is over one axis")
    axis = axes[0] % len(shape)
    divisor = ctx.shape(1)
    require(
        divisor in {shape, (*shape[:axis], 1, *shape[axis + 1 :])},
        "the sum is broadcast along its axis",
    )
    order = [*(at for at in range(len(shape)) if at != axis), axis]
    x = ctx.transpose(power.inputs[0].name, order)
    y = ctx.op("Softmax", x, axis=len(shape) - 1)
    return ctx.transpose_back(y, order)


_NEAR_ONE = 1e-6

_SUM: tuple[CaseNode, ...] = (("ReduceSum", ("x0", "x1"), ("sum",), {"keepdims": 1}),)


@rule(
    REORDERED,
    _case(_SUM, "Mul", "sum", "part", x0=Fed((3, 512)), x1=np.array([1]), part=1 / 512),
    operators="Div Mul",
    miss=_case(_SUM, "Mul", "sum", "part", x0=Fed((3, 512)), x1=np.array([1]), part=Fed((3, 1))),
    boundary=_case(_SUM, "Mul", "sum", "part", x0=Fed((3, 512)), x1=np.array([1]), part=0.5),
    precision=True,
    float16="the sum, which may pass 65504, is not computed",
)
def sum_as_mean(ctx: RuleContext) -> str:
    """ReduceSum, then Mul or Div by a constant -> ReduceMean, and Mul by what is left of the
    factor, if dims are known.

    Sums of many elements pass 65504, the largest number of float16, where their mean does not.
    """
    require_float32(ctx)
    mean = mean_of(ctx, ctx.output(0))
    sums = (ctx.maker(tensor) for tensor in ctx.node.inputs)
    summed = any(summand is not None and summand.op_type == "ReduceSum" for summand in sums)
    if mean is None or not summed:
        raise UnfitError("it is a sum with a constant factor")
    require(abs(mean.factor) <= mean.count / 2, "the factor is below 1/2")
    x = mean.source.name
    if mean.squared:
        x = ctx.op("Mul", x, x)
    y = ctx.reduce("ReduceMean", x, mean.axes, keepdims=mean.keepdims)
    if abs(mean.factor - 1) <= _NEAR_ONE:
        return y
    return ctx.times(y, mean.factor)


_AXES = {"axes": [-1], "keepdims": 1}
_MOMENTS: tuple[CaseNode, ...] = (
    ("Mul", ("x0", "x0"), ("square",), {}),
    ("ReduceMean", ("square",), ("squares",), _AXES),
    ("ReduceMean", ("x0",), ("mean",), _AXES),
    ("Mul", ("mean", "mean"), ("of_mean",), {}),
)


@rule(
    BOUNDED,
    _case(_MOMENTS, "Sub", "squares", "of_mean"),
    miss=_case(_MOMENTS, "Sub", "squares", "x1", x1=Fed((3, 1))),
    bound=1e-4,
    precision=True,
    float16="no difference of large numbers, no squares of the mean",
)
def variance_of_deviations(ctx: RuleContext) -> str:
    """The mean of squares minus the square of the mean -> ReduceMean, Sub, Mul by itself,
    ReduceMean, if both means are over the same axes of one tensor, whose dims are known.

    mean(x^2) - mean(x)^2 = mean((x - mean(x))^2). The left side is the difference of two numbers
    that are large where the mean is, of which float16 keeps three digits.
    """
    require_float32(ctx)
    squares = mean_of(ctx, ctx.tensor(0))
    mean = mean_of(ctx, square_of(ctx, ctx.tensor(1)))
    if squares is None or mean is None or not _are_moments(squares, mean):
        raise UnfitError("it is the variance by the means of x and of its squares")
    x, axes = mean.source.name, mean.axes
    deviation = ctx.op("Sub", x, ctx.reduce("ReduceMean", x, axes))
    square = ctx.op("Mul", deviation, deviation)
    return ctx.reduce("ReduceMean", square, axes, keepdims=mean.keepdims)


def _are_moments(squares: Mean, mean: Mean) -> bool:
    alike = (squares.source.name, squares.axes, squares.keepdims) == (
        mean.source.name,
        mean.axes,
        mean.keepdims,
    )
    whole = all(abs(value.factor - 1) <= _NEAR_ONE for value in (squares, mean))
    return alike and whole and squares.squared and not mean.squared
