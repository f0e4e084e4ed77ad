"""Work along axes: reductions, running sums, and the largest and smallest elements in order."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Launch, Rounding, bound_kernel, kernel, sequence
from atc_py.device.sim.primitives.blocks import summing
from atc_py.device.sim.typing_rules import axes_of, require_float, require_number
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

Words = NDArray[np.uint64]


_WORD = 2**64
_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)


def integer_norms(x: NDArray[Any], axes: tuple[int, ...], *, keepdims: bool) -> Words:
    """The root of the sum of squares of integers over axes, without its fraction.

    It is at most the largest number of x's dtype: like every real number that becomes an integer,
    it saturates.
    """
    count = math.prod(x.shape[axis] for axis in axes)
    largest = max(int(x.max(initial=0)), -int(x.min(initial=0)))
    words = x.astype(np.uint64)  # a copy; what is negative wraps around, and so does its square

    def add_up(terms: Words) -> Words:
        return np.asarray(terms.sum(axis=axes, dtype=np.uint64, keepdims=keepdims))

    if count * largest**2 < _WORD:
        roots = _roots(add_up(np.multiply(words, words, out=words)))
    else:
        roots = _large_roots(np.where(x < 0, np.uint64(0) - words, words), add_up)
    found: Words = np.minimum(roots, np.uint64(np.iinfo(x.dtype).max))
    return found


def _roots(totals: Words) -> Words:
    """Whole parts of roots.

    Float64 gives the root of a number below 2^64 to within 1, which squares of integers put right.
    """
    roots = np.minimum(np.sqrt(totals.astype(np.float64)).astype(np.uint64), _LOW)
    roots -= (roots * roots > totals).astype(np.uint64)
    roots += (totals - roots * roots > roots + roots).astype(np.uint64)
    found: Words = roots
    return found


def _large_roots(x: Words, add_up: Callable[[Words], Words]) -> Words:
    """Whole parts of roots of sums of squares of any size, at most 2^64 - 1.

    Squares are added up as four digits to the base 2^32: 64 bits have room for those of 2^30 squares.
    """
    low, high = x & _LOW, x >> _HALF
    inner, mixed, outer = low * low, low * high, high * high
    two = np.uint64(2)
    digits = (
        add_up(inner & _LOW),
        add_up(inner >> _HALF) + two * add_up(mixed & _LOW),
        add_up(outer & _LOW) + two * add_up(mixed >> _HALF),
        add_up(outer >> _HALF),
    )
    columns = zip(*(np.reshape(digit, -1).tolist() for digit in digits), strict=True)
    totals = (sum(digit << 32 * at for at, digit in enumerate(column)) for column in columns)
    roots = np.array([min(math.isqrt(total), _WORD - 1) for total in totals], np.uint64)
    return roots.reshape(np.shape(digits[0]))


def _reduced(
    node: NodeView, axes_name: str = "axes", keep_name: str = "keep_dims"
) -> tuple[TensorFacts, ...]:
    axes = axes_of(node.integers(axes_name), node.x.rank)
    return _without(node.x, axes, keep=node.flag(keep_name))


def _without(x: TensorFacts, axes: tuple[int, ...], *, keep: bool) -> tuple[TensorFacts, ...]:
    """The type of x without the axes, or with size 1 there."""
    dims = (1 if axis in axes else dim for axis, dim in enumerate(x.shape))
    kept = tuple(dim for axis, dim in enumerate(dims) if keep or axis not in axes)
    return (TensorFacts(x.dtype, kept),)


def _mean_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    return _reduced(node)


def _number_types(node: NodeView, axes_name: str = "axes") -> tuple[TensorFacts, ...]:
    require_number(node.x)
    return _reduced(node, axes_name)


def _norm_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_number(node.x)
    if node.integer("p") not in {1, 2}:
        raise NodeError(Text("p must be 1 or 2, found {found}", found=node.integer("p")))
    return _reduced(node, keep_name="keepdim")


def _fold(
    call: Call,
    combine: np.ufunc,
    x: NDArray[Any],
    axes_name: str = "axes",
    keep_name: str = "keep_dims",
    **options: Any,
) -> None:
    """Combine the elements of `x` along the node's axes, in its own dtype, into the output."""
    axes = axes_of(call.node.integers(axes_name), x.ndim)
    keep = call.node.flag(keep_name)
    combine.reduce(x, axis=axes, dtype=call.out.dtype, out=call.out, keepdims=keep, **options)


@bound_kernel("ReduceSumD", _number_types)
def reduce_sum(call: Call) -> Launch:
    """Sum of x over the axes, 0 of none; integers wrap around."""
    x, out = call.x, call.out
    axes = axes_of(call.node.integers("axes"), x.ndim)
    if axes == tuple(range(x.ndim))[-len(axes) :] and x.size and axes:
        return summing(x.reshape(out.size, -1), out.reshape(-1, 1))
    return partial(_fold, call, np.add, x)


@bound_kernel("ReduceMeanD", _mean_types)
def reduce_mean(call: Call) -> Launch:
    """Sum of x over the axes, divided by how many there are; NaN of none."""
    axes = axes_of(call.node.integers("axes"), call.x.ndim)
    count = np.prod([call.x.shape[axis] for axis in axes], dtype=np.int64)
    divide = partial(np.divide, call.out, call.out.dtype.type(count), call.out)
    return sequence([reduce_sum(call), divide])


@kernel("ReduceProdD", _number_types)
def reduce_prod(call: Call) -> None:
    """Multiply x over the axes, 1 of none; integers wrap around."""
    _fold(call, np.multiply, call.x)


@kernel("ReduceMaxD", _reduced, rounding=Rounding.ON_GRID)
@kernel("ReduceMinD", _reduced, rounding=Rounding.ON_GRID)
def reduce_to_extreme(call: Call) -> None:
    """Find the largest or least x over the axes; NaN if there is one.

    Of none it is the other end of the dtype.
    """
    least, largest = _bounds(call.x)
    if call.node.op == "ReduceMaxD":
        _fold(call, np.maximum, call.x, initial=least)
    else:
        _fold(call, np.minimum, call.x, initial=largest)


def _bounds(x: NDArray[Any]) -> tuple[Any, Any]:
    if x.dtype.kind == "b":
        return False, True
    if x.dtype.kind == "f":
        return -np.inf, np.inf
    limits = np.iinfo(x.dtype)
    return limits.min, limits.max


@kernel("SquareSumV1", partial(_number_types, axes_name="axis"))
def square_sum(call: Call) -> None:
    """Sum of x * x over the axes; integers wrap around."""
    _fold(call, np.add, _squares(call), axes_name="axis")


@kernel("LpNorm", _norm_types)
def lp_norm(call: Call) -> None:
    """Compute the p-norm of x over the axes; of floats, epsilon where that is larger.

    p 1 is the sum of |x|, p 2 the square root of the sum of x * x. Of integers, the sum of |x|
    wraps around; the root drops its fraction and saturates, and the sum below it is exact.
    """
    x, out = call.x, call.out
    if call.node.integer("p") == 1:
        magnitudes = call.workspace.take("magnitudes", x.shape, x.dtype)
        np.abs(x, out=magnitudes)
        _fold(call, np.add, magnitudes, keep_name="keepdim")
    elif x.dtype.kind == "f":
        _fold(call, np.add, _squares(call), keep_name="keepdim")
        np.sqrt(out, out=out)
    else:
        axes = axes_of(call.node.integers("axes"), x.ndim)
        norms = integer_norms(x, axes, keepdims=call.node.flag("keepdim"))
        np.copyto(out, norms, casting="unsafe")
    if x.dtype.kind == "f":
        np.maximum(out, out.dtype.type(call.node.number("epsilon")), out=out)


def _log_sum_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    return _without(node.x, _axes_given(node), keep=node.flag("keep_dims"))


def _axes_given(node: NodeView) -> tuple[int, ...]:
    if 1 not in node.numbers:
        raise NodeError(Text("axes must be constant"))
    return axes_of(node.integers_of(1, "axes"), node.x.rank)


@kernel("ReduceLogSumExp", _log_sum_types)
def reduce_log_sum_exp(call: Call) -> None:
    """Compute `m + log(sum of exp(x - m))` over the axes, m the largest x; -inf of none.

    Where the largest is infinite it is the result, unless there is NaN.
    """
    x, axes = call.x, _axes_given(call.node)
    largest = x.max(axis=axes, keepdims=True, initial=-np.inf)
    finite = np.where(np.isinf(largest), x.dtype.type(0), largest)
    powers = call.workspace.take("powers", x.shape, x.dtype)
    np.exp(np.subtract(x, finite, out=powers), out=powers)
    total = np.log(powers.sum(axis=axes, keepdims=True))
    np.copyto(call.out, np.add(total, finite).reshape(call.out.shape))


_POOLED_FROM = 2
"""The first axis that a global pool reduces, after batch and channel."""


def _global_pool_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_float(node.x)
    if node.x.rank < _POOLED_FROM or node.number("p") <= 0:
        text = Text("a channel axis and a positive p are needed, found {found}")
        raise NodeError(text.with_values(found=node.x))
    kept = node.x.shape[:_POOLED_FROM]
    return (TensorFacts(node.x.dtype, kept + (1,) * (node.x.rank - _POOLED_FROM)),)


@kernel("GlobalLpPool", _global_pool_types)
def global_lp_pool(call: Call) -> None:
    """Compute `(sum of |x|^p)^(1/p)` over all axes but batch and channel."""
    x, p = call.x, call.x.dtype.type(call.node.number("p"))
    powers = np.abs(x, out=call.workspace.take("powers", x.shape, x.dtype))
    axes = tuple(range(_POOLED_FROM, x.ndim))
    np.power(powers, p, out=powers).sum(axis=axes, keepdims=True, out=call.out)
    np.power(call.out, 1 / p, out=call.out)


def _squares(call: Call) -> NDArray[Any]:
    squares = call.workspace.take("squares", call.x.shape, call.x.dtype)
    np.multiply(call.x, call.x, out=squares)
    return squares


def _position_types(node: NodeView) -> tuple[TensorFacts, ...]:
    x = node.x
    require_number(x)
    (axis,) = axes_of((node.integer("dimension"),), x.rank)
    if not x.shape[axis]:
        raise NodeError(Text("axis {axis} must have elements, found {found}", axis=axis, found=x))
    if not node.dtype_named("dtype").is_integer:
        text = Text("positions must be integers, found {found}")
        raise NodeError(text.with_values(found=node.dtype_named("dtype").value))
    return (TensorFacts(node.dtype_named("dtype"), x.shape[:axis] + x.shape[axis + 1 :]),)


@kernel("ArgMaxD", _position_types, rounding=Rounding.ON_GRID)
@kernel("ArgMinD", _position_types, rounding=Rounding.ON_GRID)
def position_of_extreme(call: Call) -> None:
    """Find the first of the largest or smallest elements, as which NaN counts."""
    call.require_scratch(call.x.nbytes + 2 * call.out.nbytes)
    find = call.x.argmax if call.node.op == "ArgMaxD" else call.x.argmin
    np.copyto(call.out, find(call.node.integer("dimension")), casting="unsafe")


def _cumsum_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_number(node.x)
    axes_of((node.integer("axis"),), node.x.rank)
    return (node.x,)


def _running_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_number(node.x)
    axis = node.required(1)
    if axis.elements != 1 or not axis.dtype.is_integer:
        raise NodeError(Text("axis must be one integer, found {found}", found=axis))
    return (node.x,)


@kernel("CumsumD", _cumsum_types)
@kernel("Cumsum", _running_types)
def running_sum(call: Call) -> None:
    """Compute `y[i]` = sum of x[j] for j <= i; integers wrap around.

    `exclusive` leaves x[i] itself out, `reverse` sums from the back. The axis is an attribute, or
    the second input.
    """
    if call.node.op == "CumsumD":
        axis = call.node.integer("axis")
    else:
        (axis,) = axes_of((int(call.input(1).reshape(-1)[0]),), call.x.ndim)
    x, out = np.moveaxis(call.x, axis, 0), np.moveaxis(call.out, axis, 0)
    if call.node.flag("reverse"):
        x, out = x[::-1], out[::-1]
    if call.node.flag("exclusive"):
        out[:1] = 0
        x, out = x[:-1], out[1:]
    np.add.accumulate(x, axis=0, dtype=out.dtype, out=out)


def _top_k_types(node: NodeView) -> tuple[TensorFacts, ...]:
    numbers = node.integers_of(1, "k")
    if len(numbers) != 1:
        raise NodeError(Text("k must be one number, found {found}", found=node.required(1)))
    return _ranked_types(node, *numbers)


def _top_k_d_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """The same, along the last axis; the ramp of places is there, and not read."""
    if node.integer("dim") not in {-1, node.x.rank - 1}:
        raise NodeError(Text("dim must be the last, found {found}", found=node.integer("dim")))
    node.required(1)
    return _ranked_types(node, node.integer("k"))


def _ranked_types(node: NodeView, k: int) -> tuple[TensorFacts, ...]:
    x = node.x
    require_float(x)
    (axis,) = axes_of((node.integer("dim"),), x.rank)
    if not 0 <= k <= x.shape[axis]:
        text = Text("k must be in [0, {dim}], found {found}")
        raise NodeError(text.with_values(dim=x.shape[axis], found=k))
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return TensorFacts(x.dtype, shape), TensorFacts(DType.INT32, shape)


_ORDERED = 24
"""Bytes of numpy's arrays for an element that is brought into order."""


@kernel("TopK", _top_k_types, rounding=Rounding.ON_GRID)
@kernel("TopKD", _top_k_d_types, rounding=Rounding.ON_GRID)
def top_k(call: Call) -> None:
    """Find the first k elements in falling or rising order, and their positions.

    NaN is larger than all numbers. Of equal elements, and of several NaN, the one in front comes
    first. They are ordered whether `sorted` asks for it or not.
    """
    call.require_scratch(_ORDERED * call.x.size + 2 * sum(each.nbytes for each in call.outputs))
    axis, largest = call.node.integer("dim"), call.node.flag("largest")
    k, x = call.out.shape[axis], np.moveaxis(call.x, axis, -1)
    if largest:  # rising order from the back, read backwards, keeps equal elements in their order
        reverse = np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        order = x.shape[-1] - 1 - reverse[..., :k]
    else:
        order = np.argsort(x, axis=-1, kind="stable")[..., :k]
    chosen = np.moveaxis(order, -1, axis)
    np.copyto(call.out, np.take_along_axis(call.x, chosen, axis))
    np.copyto(call.outputs[1], chosen, casting="unsafe")
