"""Elements picked, placed or marked by index."""

import numpy as np

from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.carriers import carried, marked
from atc_py.device.ort.node import NoFormError
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_FOUND = frozenset({DType.BOOL, DType.FLOAT32, DType.INT32, DType.INT64, DType.UINT8})
"""Dtypes that a runtime's NonZero takes."""

_REVERSED = frozenset(DType) - {DType.BFLOAT16}
"""Dtypes that a runtime's ReverseSequence takes."""


@emulates("GatherV2D", moves=True)
def gather(body: Body) -> str:
    """Write `y[..., i, ...] = x[..., indices[i], ...]`."""
    return body.add("Gather", body.own(0), _indices(body), axis=body.node.integer("axis"))


def _indices(body: Body) -> str:
    """Write indices of which negative ones, where they are not allowed, are out of bounds.

    ONNX counts them from the end.
    """
    known = body.node.constant(1)
    if body.node.flag("negative_index_support") or not (known is None or (known < 0).any()):
        return body.own(1)
    indices = body.integers(1)
    negative = body.add("Less", indices, body.const(0, DType.INT64))
    return body.add("Where", negative, body.const(np.iinfo(np.int64).max, DType.INT64), indices)


@emulates("GatherElements", moves=True)
def gather_elements(body: Body) -> str:
    """Write `y[i][j] = x[index[i][j]][j]` for axis 0, and so on."""
    return body.add("GatherElements", body.own(0), body.own(1), axis=body.node.integer("dim"))


@emulates("GatherNd", moves=True)
def gather_nd(body: Body) -> str:
    """Write `y[b, i] = x[b, indices[b, i]]`; a tuple stands for as many axes as its indices."""
    indices = _indices(body)
    if indices == body.own(1):
        indices = body.integers(1)
    return body.add("GatherND", body.own(0), indices, batch_dims=body.node.integer("batch_dims"))


@emulates("ScatterElements", moves=True)
def scatter_elements(body: Body) -> str:
    """Write data with `y[indices[i][j]][j] = updates[i][j]` for axis 0, and so on."""
    operands = [body.own(position) for position in range(3)]
    return body.add("ScatterElements", *operands, axis=body.node.integer("axis"))


@emulates("TensorScatterUpdate", moves=True)
def scatter(body: Body) -> str:
    """Write x with `y[indices[i]] = updates[i]`; of equal tuples the last one wins."""
    length = body.node.required(1).dims[-1]
    if length is None:
        raise NoFormError(Text("the length of its tuples is open"))
    if not length:
        return _replaced(body)
    indices, updates = body.integers(1), body.own(2)
    if not _are_distinct(body):
        updates = _last_updates(body, indices, length)
    return body.add("ScatterND", body.own(0), indices, updates)


def _replaced(body: Body) -> str:
    """The last of the updates, each of which is as large as x, or x if there is none."""
    shape = body.add("Shape", body.own())
    rows = [
        body.add("Reshape", value, body.add("Concat", body.ints(count), shape, axis=0))
        for value, count in ((body.own(), 1), (body.own(2), -1))
    ]
    last = body.const(-1, DType.INT64)
    return body.add("Gather", body.add("Concat", *rows, axis=0), last)


def _are_distinct(body: Body) -> bool:
    if body.node.rank(1) == 1:
        return True
    indices = body.node.constant(1)
    if indices is None or indices.min(initial=0) < 0:
        return False
    tuples = indices.reshape(-1, indices.shape[-1])
    return len(np.unique(tuples, axis=0)) == len(tuples)


def _last_updates(body: Body, indices: str, length: int) -> str:
    """Updates of which those of equal tuples are all the last one.

    ONNX leaves open which of several updates stays, and runtimes write them side by side.
    """
    dims = body.add("Shape", body.own(), start=0, end=length)
    tuples = body.add("Mod", indices, dims)  # from the front
    places = ""
    for axis in range(length):
        at = body.const(axis, DType.INT64)
        column = body.add("Gather", tuples, at, axis=-1)
        if places:
            column = body.add("Add", body.add("Mul", places, body.add("Gather", dims, at)), column)
        places = column
    places = body.add("Reshape", places, body.ints(-1))
    count = body.add("Shape", places)
    nothing, one = body.const(0, DType.INT64), body.const(1, DType.INT64)
    order = body.add("Range", nothing, body.add("Squeeze", count), one)
    table = body.add("Expand", body.ints(0), body.add("ReduceProd", dims))
    last = body.add("Gather", body.add("ScatterElements", table, places, order), places)
    updates = body.own(2)
    inner = body.add("Shape", updates, start=body.node.rank(1) - 1)
    rows = body.add("Reshape", updates, body.add("Concat", count, inner, axis=0), allowzero=1)
    chosen = body.add("Gather", rows, last)
    return body.add("Reshape", chosen, body.add("Shape", updates), allowzero=1)


@emulates("ReverseSequence", moves=True)
def reverse_sequence(body: Body) -> str:
    """Write `y[b, t] = x[b, lengths[b] - 1 - t]` for t < lengths[b], else `x[b, t]`."""
    node = body.node
    rank = node.rank()
    batch, time = (node.integer(name) % rank for name in ("batch_dim", "seq_dim"))
    order = [batch, time, *(axis for axis in range(rank) if axis not in {batch, time})]
    if time < 2 and batch < 2:  # noqa: PLR2004  (the axes that ONNX's operator has)
        return _reversed(body, body.own(), batch, time)
    value = _reversed(body, body.add("Transpose", body.own(), perm=tuple(order)), 0, 1)
    back = tuple(order.index(axis) for axis in range(rank))
    return body.add("Transpose", value, perm=back)


def _reversed(body: Body, value: str, batch: int, time: int) -> str:
    """A value of the first input's dtype with sequences reversed along axes 0 and 1."""
    lengths = body.integers(1)
    return carried(
        body,
        value,
        body.node.dtype(),
        _REVERSED,
        lambda x: body.add("ReverseSequence", x, lengths, batch_axis=batch, time_axis=time),
    )


@emulates("OneHotD", moves=True)
def one_hot(body: Body) -> str:
    """Write `y[..., d, ...] = on_value where x counts as d, else off_value`."""
    depth = body.ints(body.node.integer("depth"))
    return marked(body, depth, body.own(1), body.own(2), body.node.dtype(1))


@emulates("NonZero")
def non_zero(body: Body) -> str:
    """Write the indices of the elements other than 0, in row-major order, a row for each axis."""
    return _found(body)


@emulates("Where")
def where(body: Body) -> str:
    """Write the indices of the elements other than 0, in row-major order, one in each row."""
    return body.add("Transpose", _found(body), perm=(1, 0))


def _found(body: Body) -> str:
    """Int64 [rank, n]; a scalar has no axis, so no row."""
    value, dtype = body.x(), body.node.dtype()
    if dtype not in {*_FOUND, DType.FLOAT16, DType.BFLOAT16}:
        value = body.cast(value, DType.BOOL)
    if body.node.rank():
        return body.add("NonZero", value)
    found = body.add("NonZero", body.add("Reshape", value, body.ints(1)))
    return body.add("Slice", found, body.ints(0), body.ints(0), body.ints(0))
