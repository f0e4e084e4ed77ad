"""Pools over sliding windows of NCHW data."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from atc_py.device.ort.axes import reduced
from atc_py.device.ort.body import Body
from atc_py.device.ort.node import NoFormError
from atc_py.device.ort.numbers import carrier, number
from atc_py.device.ort.registry import emulates
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
        return _global_average(body, x, override)
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


def _global_average(body: Body, x: str, override: int) -> str:
    if not override:
        return reduced(body, "ReduceMean", x, SPATIAL)
    return body.add("Div", reduced(body, "ReduceSum", x, SPATIAL), number(body, override))


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
