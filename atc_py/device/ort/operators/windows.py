"""The largest elements of windows that divide an image."""

import numpy as np
from numpy.typing import NDArray

from atc_py.device.ort.body import Body
from atc_py.device.ort.node import NoFormError
from atc_py.device.ort.registry import emulates
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


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
