"""Elementwise arithmetic, bounds, casts and broadcasting."""

from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Launch, Rounding, bound_kernel, kernel, sequence
from atc_py.device.sim.numerics.rounding import is_rounded
from atc_py.device.sim.primitives.blocks import Copies, by_pairs, moving
from atc_py.device.sim.typing_rules import (
    broadcast,
    broadcast_dims,
    one_dtype,
    require_one_element,
    same_as_x,
)
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_ROW = 4096
"""Elements of the array that stands for the 0 of a Relu."""

_SQUARE = 2
"""The exponent for which multiplication does, at a fraction of the time."""

_ROOT = 0.5
"""The exponent for which numpy takes the square root."""


def _declare_sum(op: str, function: np.ufunc) -> None:
    """Register a kernel of two operands that finishes parts; integers wrap around."""

    @bound_kernel(op, broadcast, in_place=True, finishes=True)
    def bind(call: Call) -> Launch:
        return by_pairs(call, function)


_declare_sum("Add", np.add)
_declare_sum("Mul", np.multiply)
_declare_sum("Sub", np.subtract)


def _declare(op: str, function: np.ufunc, rounding: Rounding) -> None:
    """Register a kernel that is one function of two operands.

    Mod has the sign of x1, FloorMod that of x2; integers modulo 0 are 0. A bound is NaN where one
    of the operands is.
    """

    @kernel(op, broadcast, rounding=rounding, in_place=True)
    def run(call: Call) -> None:
        function(call.input(0), call.input(1), out=call.out)


_declare("FloorMod", np.remainder, Rounding.BOUNDARY)
_declare("Maximum", np.maximum, Rounding.ON_GRID)
_declare("Minimum", np.minimum, Rounding.ON_GRID)
_declare("Mod", np.fmod, Rounding.BOUNDARY)


@kernel("RealDiv", broadcast, in_place=True)
def real_div(call: Call) -> None:
    """Compute `y = x1 / x2`; integers lose their fraction, and divided by 0 they are 0."""
    x1, x2 = call.input(0), call.input(1)
    if call.node.x.dtype.is_float:
        np.divide(x1, x2, out=call.out)
    else:
        call.require_scratch(2 * call.out.nbytes)
        np.floor_divide(x1 - np.fmod(x1, x2), x2, out=call.out)


@kernel("Pow", broadcast, in_place=True)
def power(call: Call) -> None:
    """Compute `y = x1 ** x2`; integers wrap around, and lose their fraction if x2 is negative.

    To a negative power, all integers but 1 and -1 give 0.
    """
    base, exponent = call.input(0), call.input(1)
    if not call.node.x.dtype.is_float:
        inverted = exponent < 0
        powers = np.power(base, np.where(inverted, exponent & 1, exponent))
        np.copyto(call.out, np.where(inverted & (np.absolute(base) != 1), 0, powers))
    elif exponent.size == 1 and exponent.reshape(-1)[0] == _SQUARE:
        np.multiply(base, base, out=call.out)
    else:
        _raise(base, exponent, call.out)


def _raise(base: NDArray[Any], exponent: NDArray[Any], out: NDArray[Any]) -> None:
    """Raise floats to powers; `out` may be the memory of `base`.

    Of one exponent of 1 / 2 numpy takes the square root, NaN of -inf and -0 of -0, where the power
    is inf and 0, as it is among other exponents.
    """
    if exponent.size != 1 or exponent.reshape(-1)[0] != _ROOT:
        np.power(base, exponent, out=out)
        return
    np.add(base, 0, out=out)
    infinite = out == -np.inf
    np.sqrt(out, out=out)
    out[infinite] = np.inf


def _accumulate_types(node: NodeView) -> tuple[TensorFacts, ...]:
    if len(node.present) != node.integer("N") or len(node.inputs) != len(node.present):
        text = Text("N is {n}, but there are {inputs} inputs")
        raise NodeError(text.with_values(n=node.integer("N"), inputs=len(node.present)))
    differing = {facts for facts in node.present if facts != node.x}
    if differing:
        listed = ", ".join(str(facts) for facts in sorted(differing, key=str))
        text = Text("inputs must be {x} like the first, found {found}")
        raise NodeError(text.with_values(x=node.x, found=listed))
    return (node.x,)


@kernel("AccumulateNV2", _accumulate_types)
def accumulate(call: Call) -> None:
    """Compute `y = x0 + x1 + ...`, from the left, rounded once at the end; integers wrap around."""
    first, *rest = call.present
    if not rest:
        np.copyto(call.out, first)
    for array in rest:
        first = np.add(first, array, out=call.out)


@cache
def _zeros(dtype: np.dtype[Any]) -> NDArray[Any]:
    row = np.zeros(_ROW, dtype)
    row.flags.writeable = False
    return row


@bound_kernel("Relu", same_as_x, rounding=Rounding.ON_GRID, in_place=True)
def relu(call: Call) -> Launch:
    """Compute `y = max(x, 0)`; NaN stays NaN."""
    x, out, row = call.x.reshape(-1), call.out.reshape(-1), _zeros(call.x.dtype)
    whole = x.size // _ROW * _ROW
    end = partial(np.maximum, x[whole:], row[: x.size - whole], out=out[whole:])
    if not whole:
        return end
    rows = partial(np.maximum, x[:whole].reshape(-1, _ROW), row, out=out[:whole].reshape(-1, _ROW))
    return sequence([rows, end])


def _clip_types(node: NodeView) -> tuple[TensorFacts, ...]:
    one_dtype(node.present)
    require_one_element(node, {1: "clip_value_min", 2: "clip_value_max"})
    return (node.x,)


@bound_kernel("ClipByValue", _clip_types, rounding=Rounding.ON_GRID, in_place=True)
def clip_by_value(call: Call) -> Launch:
    """Compute `y = min(max(x, clip_value_min), clip_value_max)`; NaN stays NaN."""
    low, high = (call.input(position).reshape(()) for position in (1, 2))
    return partial(call.x.clip, low, high, call.out)


def _expand_types(node: NodeView) -> tuple[TensorFacts, ...]:
    shape = broadcast_dims(node.x.shape, node.integers("shape"))
    return (TensorFacts(node.x.dtype, shape),)


@moving("ExpandD", _expand_types)
def expand(call: Call) -> Copies:
    """Elements repeated along axes on which x has one element."""
    return [(call.out, call.x)]


def _cast_types(node: NodeView) -> tuple[TensorFacts, ...]:
    return (TensorFacts(node.dtype_named("dst_type"), node.x.shape),)


@bound_kernel("Cast", _cast_types, rounding=Rounding.ON_GRID, in_place=True)
def cast(call: Call) -> Launch:
    """Convert x to another dtype.

    To floats: rounded half to even, beyond the range to infinity. Floats to integers: the fraction
    is cut off; beyond the range, which ONNX leaves undefined, the nearest integer there is, and 0
    for NaN. Integers to integers: the low bits. To bool: whether x is not 0.
    """
    source, target = call.node.x.dtype, call.node.outputs[0].dtype
    if is_rounded(target) and source is not target and call.x.dtype == np.float32:
        return call.rounding(call.out, target, source=call.x)
    return partial(_cast, call)


def _cast(call: Call) -> None:
    source, target = call.node.x.dtype, call.node.outputs[0].dtype
    if source is target:
        np.copyto(call.out, call.x)
    elif is_rounded(target):
        wide = call.x if target is DType.FLOAT16 else _odd_where_inexact(call.x)
        np.copyto(call.out, wide.astype(target.numpy), casting="unsafe")
    elif source.is_float and target.is_integer:
        _truncate(call.x, call.out)
    elif target is DType.BOOL:
        np.not_equal(call.x, 0, out=call.out)
    else:
        np.copyto(call.out, call.x, casting="unsafe")


def _odd_where_inexact(x: NDArray[Any]) -> NDArray[np.float32]:
    """X as float32 that rounds to bfloat16 as x does, which is rounded once then.

    What float32 does not hold is cut off and made odd, so that it is nowhere halfway between two
    numbers of bfloat16.
    """
    exact = x.astype(np.float64)
    with np.errstate(over="ignore"):
        found: NDArray[np.float32] = exact.astype(np.float32)
    bits = found.view(np.uint32)
    bits -= np.abs(found) > np.abs(exact)
    bits |= (found != exact) & ~np.isnan(exact)
    return found


def _truncate(x: NDArray[Any], out: NDArray[Any]) -> None:
    """Cut the fraction off, then set what was beyond the range and NaN.

    The bounds are powers of two, which every float dtype holds exactly.
    """
    limits = np.iinfo(out.dtype)
    np.copyto(out, x, casting="unsafe")
    out[x >= float(2**limits.bits if limits.min == 0 else 2 ** (limits.bits - 1))] = limits.max
    out[x <= (-1.0 if limits.min == 0 else float(limits.min))] = limits.min
    out[np.isnan(x)] = 0
