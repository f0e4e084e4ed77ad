"""Pools over windows that slide over NCHW data, or that divide an image."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from atc_py.device.ort.axes import reduced
from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.node import NoFormError
from atc_py.device.ort.numbers import carrier, number
from atc_py.device.ort.sliding import SPATIAL, SlidingPool
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


def _is_empty(body: Body) -> bool:
    """True if x is known to have no elements, which onnxruntime's pools refuse."""
    return 0 in body.node.required(0).dims


def _of_nothing(pool: SlidingPool, values: NDArray[np.float64]) -> str:
    body = pool.body
    windows = [axis.windows(ceil=pool.ceil) for axis in pool.axes]
    if None in windows:
        raise NoFormError(Text("a pool with open dims and no elements"))
    sizes = body.ints(*(count for count in windows if count is not None))
    shape = body.add("Concat", body.add("Shape", body.own(), start=0, end=2), sizes, axis=0)
    return body.add("Expand", body.const(values, carrier(body.node.dtype())), shape)


@emulates("MaxPoolV3")
def max_pool(body: Body) -> str:
    """Write the largest element under the window; padding counts as -inf, NaN as the largest."""
    x = body.x()
    if body.node.flag("global_pooling"):

        def largest(part: Body, value: str) -> str:
            return reduced(part, "ReduceMax", value, SPATIAL)

        return _nan_aware(body, x, largest)
    pool = SlidingPool.of(body)
    if _is_empty(body):
        return _of_nothing(pool, np.asarray(-np.inf))
    if not pool.is_plain:
        pool, x = pool.padded(x, -np.inf)

    def pooled(part: Body, value: str) -> str:
        return SlidingPool(part, pool.axes, pool.ceil).add("MaxPool", value)

    return _nan_aware(body, x, pooled)


def _nan_aware(body: Body, x: str, pooled: Callable[[Body, str], str]) -> str:
    """Write a pool that finds NaN, which ONNX's pools do not, where there may be one.

    The sum of all elements is NaN if there is one, or infinities of both signs.
    """
    kind = carrier(body.node.dtype())
    total = body.add("ReduceSum", x, keepdims=0)
    plain, careful = body.inner(), body.inner()
    found = pooled(plain, x)
    marks = careful.cast(careful.add("IsNaN", x), DType.FLOAT32)
    marked = careful.cast(pooled(careful, marks), DType.BOOL)
    result = careful.add("Where", marked, number(careful, np.nan), pooled(careful, x))
    return body.add(
        "If",
        body.add("IsNaN", total),
        then_branch=careful.as_graph([], [(result, kind, None)]),
        else_branch=plain.as_graph([], [(found, kind, None)]),
    )


@emulates("AvgPoolV2")
def avg_pool(body: Body) -> str:
    """Write the sum under the window, divided by how many elements count, or `divisor_override`."""
    node, x = body.node, body.x()
    override, exclusive = node.integer("divisor_override"), node.flag("exclusive")
    if node.flag("global_pooling"):
        if not override:
            return reduced(body, "ReduceMean", x, SPATIAL)
        return body.add("Div", reduced(body, "ReduceSum", x, SPATIAL), number(body, override))
    pool = SlidingPool.of(body)
    wide = carrier(body.node.dtype()) is DType.FLOAT32
    if wide and pool.is_plain and not override:
        return pool.add("AveragePool", x, count_include_pad=int(not exclusive))
    counts = _counts(pool, override, exclusive=exclusive)
    if _is_empty(body):
        with np.errstate(invalid="ignore"):
            return _of_nothing(pool, np.divide(0, counts))
    bare, value = pool.padded(x, 0)
    if wide:
        size = pool.axes[0].size * pool.axes[1].size
        average = bare.add("AveragePool", value, count_include_pad=1)
        total = body.add("Mul", average, body.const(size))
        return body.add("Div", total, body.const(counts))
    return body.add(
        "Div", bare.combined("Add", value), body.const(counts, carrier(body.node.dtype()))
    )


def _counts(pool: SlidingPool, override: int, *, exclusive: bool) -> NDArray[np.float64]:
    """The divisor of each output, broadcast against [oh, ow]."""
    if override:
        return np.asarray(override, np.float64)
    unpadded = not any(axis.before + axis.after for axis in pool.axes) and not pool.ceil
    if unpadded:
        return np.asarray(pool.axes[0].size * pool.axes[1].size, np.float64)
    if any(axis.dim is None for axis in pool.axes):
        raise NoFormError(Text("an average over such pads with open dims"))
    rows, columns = (axis.counts(ceil=pool.ceil, exclusive=exclusive) for axis in pool.axes)
    return np.outer(rows, columns).astype(np.float64)


@emulates("AdaptiveMaxPool2d", moves=True)
def adaptive_max_pool(body: Body) -> tuple[str, str]:
    """Write the largest x of each window, and its place in the plane; NaN is larger than all.

    Window i of n has the rows floor(i * height / n) to ceil((i + 1) * height / n), columns alike.
    """
    node = body.node
    height, width = node.required(0).dims[2:]
    if height is None or width is None:
        raise NoFormError(Text("height and width are open"))
    rows, columns = (
        _places(dim, count)
        for dim, count in zip((height, width), node.integers("output_size"), strict=True)
    )
    places = rows[:, None, :, None] * width + columns[None, :, None, :]
    windows, size = len(rows) * len(columns), rows.shape[1] * columns.shape[1]
    places = places.reshape(windows, size)
    outer = body.add("Shape", body.own(), start=0, end=2)
    flat = body.add("Concat", outer, body.ints(height * width), axis=0)
    planes = body.add("Reshape", body.own(), flat, allowzero=1)
    taken = body.add("Gather", planes, body.const(places, DType.INT64), axis=2)
    best = _largest(body, taken)
    first = body.const(np.arange(windows) * size, DType.INT64)
    listed = body.const(places.reshape(-1), DType.INT64)
    chosen = body.add("Gather", listed, body.add("Add", best, first))
    shape = body.add("Concat", outer, body.ints(len(rows), len(columns)), axis=0)
    values = body.add("GatherElements", planes, chosen, axis=2)
    return (
        body.add("Reshape", values, shape, allowzero=1),
        body.cast(body.add("Reshape", chosen, shape, allowzero=1), DType.INT32),
    )


def _largest(body: Body, windows: str) -> str:
    """The place of the largest element in each window, or that of the first NaN."""
    dtype = DType.FLOAT64 if body.node.dtype() is DType.FLOAT64 else DType.FLOAT32
    value = windows if body.node.dtype() is dtype else body.cast(windows, dtype)
    unknown = body.add("IsNaN", value)
    known = body.add("Where", unknown, body.const(0.0, dtype), value)
    flags = body.cast(unknown, DType.INT32)
    some = body.cast(body.add("ReduceMax", flags, body.ints(3), keepdims=0), DType.BOOL)
    first, best = (body.add("ArgMax", each, axis=3, keepdims=0) for each in (flags, known))
    return body.add("Where", some, first, best)


def _places(dim: int, count: int) -> NDArray[np.int64]:
    """Elements of each window along one axis [count, longest]; short ones repeat their last."""
    window = np.arange(count)
    starts, stops = window * dim // count, -(-(window + 1) * dim // count)
    longest = int((stops - starts).max())
    places: NDArray[np.int64] = np.minimum(starts[:, None] + np.arange(longest), stops[:, None] - 1)
    return places
