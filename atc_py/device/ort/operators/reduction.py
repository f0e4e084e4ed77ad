"""Work along axes: reductions, running sums, and the largest and smallest elements in order."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from atc_py.device.ort.axes import (
    arg_of,
    from_front,
    from_ordered,
    mean,
    ordered,
    reduced,
    with_nan,
)
from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.carriers import carrier_of
from atc_py.device.ort.integer_reductions import integer_norm, integer_sum, wrapped_product
from atc_py.device.ort.numbers import carrier, number
from atc_py.tensor.dtypes import DType

_POOLED_FROM = 2
"""The first axis that a global pool reduces, after batch and channel."""


def _axes(body: Body, name: str = "axes") -> tuple[int, ...]:
    return from_front(body.node.integers(name), body.node.rank())


def _summed(
    body: Body, axes: Sequence[int], *, keep: bool, before: Callable[[str], str] = str
) -> str:
    """Write the sum over axes of `before` of each element; integers wrap around."""
    dtype = body.node.dtype()
    if not dtype.is_integer:
        return reduced(body, "ReduceSum", before(body.x()), axes, keep=keep)
    wide = before(body.cast(body.own(), DType.INT64))
    if not axes:
        return body.cast(wide, dtype)
    total = integer_sum(body, wide, DType.INT64, body.ints(*axes), keep=keep)
    return body.cast(total, dtype)


@emulates("ReduceSumD")
def reduce_sum(body: Body) -> str:
    """Write the sum of x over the axes, 0 of none; integers wrap around."""
    return _summed(body, _axes(body), keep=body.node.flag("keep_dims"))


@emulates("ReduceProdD")
def reduce_prod(body: Body) -> str:
    """Write the product of x over the axes, 1 of none; integers wrap around."""
    axes, keep, dtype = _axes(body), body.node.flag("keep_dims"), body.node.dtype()
    if not dtype.is_integer:
        return reduced(body, "ReduceProd", body.x(), axes, keep=keep)
    value = body.cast(body.x(), DType.INT64)
    return body.cast(wrapped_product(body, value, axes, keep=keep), dtype)


@emulates("SquareSumV1")
def square_sum(body: Body) -> str:
    """Write the sum of x * x over the axes; integers wrap around."""
    keep = body.node.flag("keep_dims")
    return _summed(body, _axes(body, "axis"), keep=keep, before=partial(_square, body))


def _square(body: Body, value: str) -> str:
    return body.add("Mul", value, value)


@emulates("ReduceMeanD")
def reduce_mean(body: Body) -> str:
    """Write the sum of x over the axes, divided by how many there are; NaN of none."""
    return mean(body, body.x(), _axes(body), keep=body.node.flag("keep_dims"))


@emulates("ReduceMaxD", "ReduceMinD")
def reduce_to_extreme(body: Body) -> str:
    """Write the largest or least x over the axes; NaN if there is one, of none the other end."""
    which = "Max" if body.node.op == "ReduceMaxD" else "Min"
    dtype, keep, axes = body.node.dtype(), body.node.flag("keep_dims"), _axes(body)
    if not axes:
        return body.x()
    value = ordered(body, body.x(), dtype)
    found = reduced(body, f"Reduce{which}", value, axes, keep=keep)
    if dtype in {
        DType.INT16,
        DType.UINT16,
        DType.UINT32,
    }:  # the end of x's dtype, not a wider one's
        limits = np.iinfo(dtype.numpy)
        held = DType.INT64 if dtype is DType.UINT32 else DType.INT32
        end = limits.min if which == "Max" else limits.max
        found = body.add(which, found, body.const(end, held))
    if dtype.is_integer or dtype is DType.BOOL:
        return from_ordered(body, found, dtype)
    return with_nan(body, found, value, axes, keep=keep)


@emulates("ReduceLogSumExp")
def reduce_log_sum_exp(body: Body) -> str:
    """Write `m + log(sum of exp(x - m))`, m the largest x, or 0 where that is infinite."""
    rank, keep = body.node.rank(), body.node.flag("keep_dims")
    axes = from_front((int(axis) for axis in body.node.data(1).reshape(-1)), rank)
    x = body.x()
    largest = reduced(body, "ReduceMax", x, axes)
    finite = body.add("Where", body.add("IsInf", largest), number(body, 0), largest)
    powers = body.add("Exp", body.add("Sub", x, finite))
    total = body.add("Log", reduced(body, "ReduceSum", powers, axes))
    result = body.add("Add", total, finite)
    return result if keep or not axes else body.add("Squeeze", result, body.ints(*axes))


@emulates("GlobalLpPool")
def global_lp_pool(body: Body) -> str:
    """Write `(sum of |x|^p)^(1/p)` over all axes but batch and channel."""
    p, axes = body.node.number("p"), range(_POOLED_FROM, body.node.rank())
    magnitudes = body.add("Abs", body.x())
    powers = body.add("Pow", magnitudes, number(body, p))
    inverse = number(body, 1 / carrier(body.node.dtype()).numpy.type(p))
    return body.add("Pow", reduced(body, "ReduceSum", powers, axes), inverse)


@emulates("ArgMaxD", "ArgMinD")
def position_of_extreme(body: Body) -> str:
    """Write the place of the first of the largest or smallest elements, as which NaN counts."""
    which = "Max" if body.node.op == "ArgMaxD" else "Min"
    axis = body.node.integer("dimension") % body.node.rank()
    place = arg_of(body, which, body.x(), axis, keep=False)
    return body.cast(place, body.node.outputs[0].dtype)


@emulates("LpNorm")
def lp_norm(body: Body) -> str:
    """Write the p-norm of x over the axes; of floats, epsilon where that is larger."""
    dtype, axes, keep = body.node.dtype(), _axes(body), body.node.flag("keepdim")
    unsigned = dtype.value.startswith("u")

    def magnitude(value: str) -> str:
        return value if unsigned else body.add("Abs", value)

    if body.node.integer("p") == 1:
        norm = _summed(body, axes, keep=keep, before=magnitude)
    elif dtype.is_integer:
        norm = integer_norm(body, axes, keep=keep)
    else:
        norm = body.add("Sqrt", _summed(body, axes, keep=keep, before=partial(_square, body)))
    if dtype.is_integer:
        return norm
    epsilon = number(body, body.node.number("epsilon"))
    return body.add("Where", body.add("Less", norm, epsilon), epsilon, norm)


_INFINITE, _NO_NUMBER = 1e300, 1e301
"""What stands for infinity and NaN: beyond every float32."""


def rank_key(body: Body, value: str) -> str:
    """Float64 numbers in the order of float32 `value`, NaN after infinity.

    Runtimes compare NaN with numbers as they please.
    """
    wide = body.cast(value, DType.FLOAT64)
    limit = DType.FLOAT64
    held = body.add("Clip", wide, body.const(-_INFINITE, limit), body.const(_INFINITE, limit))
    return body.add("Where", body.add("IsNaN", value), body.const(_NO_NUMBER, limit), held)


_SUMMED = frozenset({DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64})
"""Dtypes that a runtime's CumSum takes."""


@emulates("Cumsum", "CumsumD")
def running_sum(body: Body) -> str:
    """Write `y[i] = sum of x[j] for j <= i` along the axis of the second input, or attribute."""
    if body.node.op == "CumsumD":
        axis = body.const(body.node.integer("axis") % max(body.node.rank(), 1), DType.INT64)
    else:
        axis = body.add("Reshape", body.cast(body.own(1), DType.INT64), body.ints())
    value, dtype = body.x(), body.node.dtype()
    narrow = dtype.is_integer and dtype not in _SUMMED
    if narrow:
        value = body.cast(value, carrier_of(dtype, _SUMMED))
    flags = {name: int(body.node.flag(name)) for name in ("exclusive", "reverse")}
    value = body.add("CumSum", value, axis, **flags)
    return body.cast(value, dtype) if narrow else value


@emulates("TopK", "TopKD", moves=True)
def top_k(body: Body) -> tuple[str, str]:
    """Write the first k elements in falling or rising order, and their places.

    NaN is larger than all numbers, and of equal elements the one in front comes first.
    """
    if body.node.op == "TopKD":
        k = body.ints(body.node.integer("k"))
    else:
        k = body.add("Reshape", body.cast(body.own(1), DType.INT64), body.ints(1))
    node, value = body.node, body.x()
    axis = node.integer("dim")
    if node.dtype() is DType.FLOAT64:
        places = _ordered(body, value, k, axis)
    else:
        _, places = body.several(
            "TopK", 2, rank_key(body, value), k, axis=axis, largest=node.flag("largest")
        )
    values = body.add("GatherElements", body.own(), places, axis=axis)
    return values, body.cast(places, DType.INT32)


def _ordered(body: Body, value: str, k: str, axis: int) -> str:
    """Places of the first k elements: all sorted as numbers, then by being a number."""
    largest = body.node.flag("largest")
    unknown = body.add("IsNaN", value)
    numbers = body.add("Where", unknown, body.const(0.0, DType.FLOAT64), value)
    dim = body.add("Gather", body.add("Shape", value), body.ints(axis))
    _, order = body.several("TopK", 2, numbers, dim, axis=axis, largest=largest)
    flags = body.cast(unknown, DType.FLOAT32)
    flags = body.add("GatherElements", flags, order, axis=axis)
    _, first = body.several("TopK", 2, flags, k, axis=axis, largest=largest)
    return body.add("GatherElements", order, first, axis=axis)
