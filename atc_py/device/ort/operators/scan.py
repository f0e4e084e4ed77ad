"""Work along one axis that keeps it: running sums, and the largest elements in order."""

from atc_py.device.ort.body import Body
from atc_py.device.ort.carriers import carrier_of
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType

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


@emulates("CumsumD")
def cumsum(body: Body) -> str:
    """Write `y[i] = sum of x[j] for j <= i` along the axis of the attribute."""
    axis = body.node.integer("axis") % max(body.node.rank(), 1)
    return _running(body, body.const(axis, DType.INT64))


@emulates("Cumsum")
def running_sum(body: Body) -> str:
    """Write `y[i] = sum of x[j] for j <= i` along the axis of the second input."""
    return _running(body, body.add("Reshape", body.cast(body.own(1), DType.INT64), body.ints()))


def _running(body: Body, axis: str) -> str:
    value, dtype = body.x(), body.node.dtype()
    narrow = dtype.is_integer and dtype not in _SUMMED
    if narrow:
        value = body.cast(value, carrier_of(dtype, _SUMMED))
    flags = {name: int(body.node.flag(name)) for name in ("exclusive", "reverse")}
    value = body.add("CumSum", value, axis, **flags)
    return body.cast(value, dtype) if narrow else value


@emulates("TopK", moves=True)
def top_k(body: Body) -> tuple[str, str]:
    """Write the first k elements in falling or rising order, and their places.

    NaN is larger than all numbers, and of equal elements the one in front comes first.
    """
    k = body.add("Reshape", body.cast(body.own(1), DType.INT64), body.ints(1))
    return _ranked(body, k)


@emulates("TopKD", moves=True)
def top_k_d(body: Body) -> tuple[str, str]:
    """Write the first k elements of rows in falling or rising order, and their places."""
    return _ranked(body, body.ints(body.node.integer("k")))


def _ranked(body: Body, k: str) -> tuple[str, str]:
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
