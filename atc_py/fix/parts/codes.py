"""Integers in other dtypes: what has to be known of their values; codes and their sums in floats.

Codes are divided by 2^8 and weights by 2^7 before their products are summed, and the scales are
multiplied by the same powers: float32 gives the same bits, and no sum is over 65504 in float16.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.context import RuleContext
from atc_py.fix.range_rules import INT32, Range
from atc_py.fix.unfit import UnfitError, require
from atc_py.onnx_graph.source import SourceTensor
from atc_py.options.fix_rules import range_options
from atc_py.tensor.dtypes import DType

EXACT_FLOAT = Range(-(2**24), 2**24)
"""Integers that float32 holds exactly, with all between."""

WIDE = frozenset({DType.INT64, DType.UINT32, DType.UINT64})
"""Integers that have values beyond int32."""

INTEGERS = WIDE | {
    DType.INT8, DType.INT16, DType.INT32, DType.UINT8, DType.UINT16,
}  # fmt: skip

_NAMES = {INT32: "int32", EXACT_FLOAT: "2^24"}


def require_range(ctx: RuleContext, position: int, target: Range) -> None:
    bounds = ctx.range(position)
    if bounds is None or not bounds.within(target):
        raise _beyond(ctx, ctx.input(position), target)


def require_result(ctx: RuleContext, target: Range, position: int = 0) -> None:
    """Require that a result is within `target`, and in its own dtype before it is stored."""
    result = ctx.output(position)
    if result is None or result.dtype not in INTEGERS:
        return
    bounds = ctx.result_range(position)
    if bounds is None or not bounds.within(target) or ctx.may_wrap(position):
        raise _beyond(ctx, result, target)


def _beyond(ctx: RuleContext, tensor: SourceTensor, target: Range) -> UnfitError:
    # The words name what leaves the values open: inputs whose bounds can be given, or other nodes.
    inputs, others = ctx.around.ranges.unbounded(tensor, target)
    values = {"tensor": tensor.name, "within": _NAMES.get(target, str(target.high))}
    if inputs:
        values["options"] = " ".join(range_options(inputs))
        return UnfitError(
            "the values of {tensor} must be known to be within {within}; give {options}",
            inputs,
            **values,
        )
    if others:
        values["names"] = ", ".join(others)
        return UnfitError(
            "the values of {tensor} must be known to be within {within}; {names} has no known "
            "bounds",
            **values,
        )
    return UnfitError(
        "the values of {tensor} must be known to be within {within}; its known bounds are wider",
        **values,
    )


CODES = frozenset({DType.INT8, DType.UINT8})

DATA_SHARE, WEIGHT_SHARE = 2.0**-8, 2.0**-7
"""Factors of the codes of data and of weights, before their products are summed."""


def dynamic_codes(ctx: RuleContext, x: str, rank: int) -> tuple[str, str, str]:
    """Write the codes of `x`, 0 to 255, for its range at run time, their step and zero point.

    A tensor of zeros alone gets the step 1.
    """

    def number(value: float, label: str) -> str:
        return ctx.const(value, DType.FLOAT32, label)

    zero, one, most = number(0, "zero"), number(1, "one"), number(255, "most")
    axes = list(range(rank))
    if axes:
        flat = ctx.reshape(x, [1, -1])
        high, low = (
            ctx.reshape(ctx.reduce(op, flat, [1]), []) for op in ("ReduceMax", "ReduceMin")
        )
    else:
        high = low = x
    high, low = ctx.op("Max", high, zero), ctx.op("Min", low, zero)
    span = ctx.op("Sub", high, low)
    empty = ctx.op("Equal", span, zero)
    step = ctx.op("Where", empty, one, ctx.op("Div", span, most))
    middle = ctx.op("Div", ctx.op("Sub", zero, low), step)
    point = _clip(ctx, ctx.op("Round", _clip(ctx, middle)))
    whole = ctx.op("Add", ctx.op("Round", ctx.op("Div", x, step)), point)
    return _clip(ctx, whole), step, point


def _clip(ctx: RuleContext, x: str) -> str:
    return ctx.clip(x, 0.0, 255.0)


def centered_codes(
    ctx: RuleContext, position: int, zero: int, share: float, axis: int | None
) -> str:
    """Write the codes of an input less their zero point, times `share`, in float32.

    `share` is a power of two. Several zero points belong to `axis`, counted from the end.
    """
    data = ctx.input(position)
    require(data.dtype in CODES, "{name} is int8 or uint8", name=data.name)
    point = ctx.tensor(zero)
    if data.const is not None and (point is None or point.const is not None):
        number = tables.zeros((), np.float32) if point is None else ctx.constant(zero)
        around = _along(number.astype(np.float32), axis)

        def center(codes: NDArray[Any]) -> NDArray[Any]:
            result: NDArray[Any] = (codes.astype(np.float32) - around) * np.float32(share)
            return result

        return ctx.derived(position, center, label="centered")
    codes = ctx.cast(data.name, DType.FLOAT32)
    if point is not None and (point.const is None or ctx.constant(zero).any()):
        shift = ctx.cast(point.name, DType.FLOAT32)
        dims = ctx.shape(zero)
        if axis is not None and dims and dims != (1,):
            require(len(dims) == 1, "zero points have one axis")
            shift = ctx.reshape(shift, [-1, *[1] * (-axis - 1)])
        elif dims == (1,):
            shift = ctx.reshape(shift, [])
        codes = ctx.op("Sub", codes, shift)
    return scaled(ctx, codes, share)


def _along(number: NDArray[Any], axis: int | None) -> NDArray[Any]:
    """Zero points with axes of 1 after the one that they belong to."""
    if number.size == 1:
        return number.reshape(())
    require(number.ndim == 1 and axis is not None, "zero points have one axis")
    return number.reshape(-1, *[1] * (-(axis or -1) - 1))


def scaled(ctx: RuleContext, x: str, factor: float) -> str:
    return ctx.op("Mul", x, ctx.const(factor, DType.FLOAT32, "factor"))
