"""Elements picked, placed or marked by index.

Indices are looked at before anything is moved: one outside its axis stops the run. Where negative
indices are taken they count from the end of their axis.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Rounding, kernel
from atc_py.device.sim.typing_rules import axes_of, one_dtype, require_one_element
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

Indices = NDArray[np.intp]

_LOOKED_AT, _PUT = 32, 80
"""Bytes of numpy's arrays for an index that is looked at, and for one by which is written."""


def _from_front(indices: NDArray[Any], dims: Any, *, negative: bool = True) -> Indices:
    """`indices` into axes of `dims`, negative ones counted from the end if allowed."""
    wide = indices.astype(np.intp, copy=False)
    if isinstance(dims, int) and wide.size and wide.min() >= 0 and wide.max() < dims:
        return wide
    inside = (wide < dims) & (wide >= (-np.asarray(dims) if negative else 0))
    if not inside.all():
        wrong, dim = wide[~inside][0], np.broadcast_to(dims, wide.shape)[~inside][0]
        raise ValueError(Text("index {wrong} is outside an axis of {dim}", wrong=wrong, dim=dim))
    return np.where(wide < 0, wide + dims, wide) if negative else wide


def _require_indices(facts: TensorFacts, name: str) -> None:
    if facts.dtype not in {DType.INT32, DType.INT64}:
        text = Text("{name} must be int32 or int64, found {found}")
        raise NodeError(text.with_values(name=name, found=facts))


def _require_within(x: TensorFacts, index: TensorFacts, axis: int, names: tuple[str, str]) -> None:
    """Check that an index for each element stays inside `x` along all axes but `axis`."""
    of_x, of_index = names
    if index.rank != x.rank:
        text = Text("{name} must have {rank} axes like {other}, found {found}")
        raise NodeError(text.with_values(name=of_index, rank=x.rank, other=of_x, found=index))
    for other, (wanted, dim) in enumerate(zip(index.shape, x.shape, strict=True)):
        if other != axis and wanted > dim:
            text = Text("{name} {index} reaches beyond {other} {x} along axis {axis}")
            raise NodeError(
                text.with_values(name=of_index, index=index, other=of_x, x=x, axis=other)
            )


def _one_axis(node: NodeView, name: str) -> int:
    return axes_of((node.integer(name),), node.x.rank)[0]


# Picking ---------------------------------------------------------------------------------------


def _gather_types(node: NodeView) -> tuple[TensorFacts, ...]:
    axis, indices = _one_axis(node, "axis"), node.required(1)
    _require_indices(indices, "indices")
    shape = (*node.x.shape[:axis], *indices.shape, *node.x.shape[axis + 1 :])
    return (TensorFacts(node.x.dtype, shape),)


@kernel("GatherV2D", _gather_types, rounding=Rounding.ON_GRID)
def gather(call: Call) -> None:
    """Compute `y[..., i, ...] = x[..., indices[i], ...]`."""
    call.require_scratch(_LOOKED_AT * call.input(1).size)
    axis, negative = _one_axis(call.node, "axis"), call.node.flag("negative_index_support")
    indices = _from_front(call.input(1), call.x.shape[axis], negative=negative)
    call.x.take(indices, axis=axis, out=call.out, mode="clip")


def _gather_elements_types(node: NodeView) -> tuple[TensorFacts, ...]:
    axis, index = _one_axis(node, "dim"), node.required(1)
    _require_indices(index, "index")
    _require_within(node.x, index, axis, ("x", "index"))
    return (TensorFacts(node.x.dtype, index.shape),)


@kernel("GatherElements", _gather_elements_types, rounding=Rounding.ON_GRID)
def gather_elements(call: Call) -> None:
    """Compute `y[i][j] = x[index[i][j]][j]` for axis 0, and so on."""
    axis, index = _one_axis(call.node, "dim"), call.input(1)
    call.require_scratch(_LOOKED_AT * index.size + call.out.nbytes)
    wanted = _from_front(index, call.x.shape[axis])
    reached = [slice(dim) for dim in index.shape]
    reached[axis] = slice(None)
    np.copyto(call.out, np.take_along_axis(call.x[tuple(reached)], wanted, axis))


def _tuple_length(node: NodeView, batch_dims: int = 0) -> int:
    """Number of axes of x, after those of the batch, that tuples of indices reach into."""
    indices = node.required(1)
    _require_indices(indices, "indices")
    if not indices.rank:
        raise NodeError(Text("indices must have an axis of tuples, found a scalar"))
    if not 0 <= batch_dims < min(indices.rank, node.x.rank + 1):
        text = Text("batch_dims {batch_dims} does not fit x {x} and indices {indices}")
        raise NodeError(text.with_values(batch_dims=batch_dims, x=node.x, indices=indices))
    if indices.shape[:batch_dims] != node.x.shape[:batch_dims]:
        text = Text("x {x} and indices {indices} differ in their {batch_dims} batch axes")
        raise NodeError(text.with_values(x=node.x, indices=indices, batch_dims=batch_dims))
    length = indices.shape[-1]
    if length > node.x.rank - batch_dims:
        text = Text("tuples of {length} indices are too long for x {x}")
        raise NodeError(text.with_values(length=length, x=node.x))
    return length


def _gather_nd_types(node: NodeView) -> tuple[TensorFacts, ...]:
    batch = node.integer("batch_dims")
    length = _tuple_length(node, batch)
    shape = node.required(1).shape[:-1] + node.x.shape[batch + length :]
    return (TensorFacts(node.x.dtype, shape),)


@kernel("GatherNd", _gather_nd_types, rounding=Rounding.ON_GRID)
def gather_nd(call: Call) -> None:
    """Compute `y[b, i] = x[b, indices[b, i]]`; a tuple stands for as many axes as its indices."""
    batch, indices = call.node.integer("batch_dims"), call.input(1)
    call.require_scratch(2 * _LOOKED_AT * indices.size)
    reached = call.x.shape[batch : batch + indices.shape[-1]]
    negative = call.node.flag("negative_index_support")
    places = _places(indices, reached, negative=negative)
    images = math.prod(call.x.shape[:batch])
    places = places.reshape(images, -1) + np.arange(images)[:, None] * math.prod(reached)
    rows = call.x.reshape(images * math.prod(reached), -1)
    target = call.out.reshape(places.size, -1)
    rows.take(places.reshape(-1), axis=0, out=target, mode="clip")


def _places(indices: NDArray[Any], reached: Shape, *, negative: bool = True) -> Indices:
    """Tuples of indices as row-major positions in the axes that they reach."""
    tuples = _from_front(indices, np.array(reached, np.intp), negative=negative)
    strides = [math.prod(reached[axis + 1 :]) for axis in range(len(reached))]
    result: Indices = tuples @ np.array(strides, np.intp)
    return result


# Placing ---------------------------------------------------------------------------------------


def _scatter_types(node: NodeView) -> tuple[TensorFacts, ...]:
    length, updates = _tuple_length(node), node.required(2)
    one_dtype((node.x, updates))
    wanted = node.required(1).shape[:-1] + node.x.shape[length:]
    if updates.shape != wanted:
        text = Text("updates must have shape {shape}, found {found}")
        raise NodeError(text.with_values(shape=list(wanted), found=updates))
    return (node.x,)


@kernel("TensorScatterUpdate", _scatter_types, rounding=Rounding.ON_GRID)
def scatter(call: Call) -> None:
    """Compute `y = x`, then `y[indices[i]] = updates[i]`; of equal tuples the last one wins."""
    indices = call.input(1)
    call.require_scratch(_PUT * indices.size + call.input(2).nbytes)
    reached = call.x.shape[: indices.shape[-1]]
    places = _places(indices, reached).reshape(-1)
    np.copyto(call.out, call.x)
    _put(call.out.reshape(math.prod(reached), -1), places, call.input(2))


def _scatter_elements_types(node: NodeView) -> tuple[TensorFacts, ...]:
    axis, indices, updates = _one_axis(node, "axis"), node.required(1), node.required(2)
    node.expect("reduction", "none")
    one_dtype((node.x, updates))
    _require_indices(indices, "indices")
    _require_within(node.x, indices, axis, ("data", "indices"))
    if updates.shape != indices.shape:
        text = Text("updates must have shape {shape}, found {found}")
        raise NodeError(text.with_values(shape=list(indices.shape), found=updates))
    return (node.x,)


@kernel("ScatterElements", _scatter_elements_types, rounding=Rounding.ON_GRID)
def scatter_elements(call: Call) -> None:
    """Compute `y = data`, then `y[indices[i][j]][j] = updates[i][j]` for axis 0, and so on.

    Of several updates of one element the last one wins.
    """
    axis, indices = _one_axis(call.node, "axis"), call.input(1)
    call.require_scratch(_PUT * indices.size + call.input(2).nbytes)
    steps = [math.prod(call.x.shape[at + 1 :]) for at in range(call.x.ndim)]
    places = _from_front(indices, call.x.shape[axis]) * steps[axis]
    for at, dim in enumerate(indices.shape):
        if at != axis:
            shape = [1] * indices.ndim
            shape[at] = dim
            places = places + (np.arange(dim) * steps[at]).reshape(shape)
    np.copyto(call.out, call.x)
    _put(call.out.reshape(-1, 1), places.reshape(-1), call.input(2))


def _put(rows: NDArray[Any], places: Indices, updates: NDArray[Any]) -> None:
    # numpy leaves open which of several writes to one place stays
    last = places.size - 1 - np.unique(places[::-1], return_index=True)[1]
    rows[places[last]] = updates.reshape(places.size, rows.shape[1])[last]


def _reverse_types(node: NodeView) -> tuple[TensorFacts, ...]:
    batch, time = (_one_axis(node, name) for name in ("batch_dim", "seq_dim"))
    lengths = node.required(1)
    _require_indices(lengths, "seq_lengths")
    if batch == time:
        raise NodeError(Text("batch_dim and seq_dim must differ, found {found}", found=batch))
    if lengths.shape != (node.x.shape[batch],):
        text = Text("seq_lengths must have {n} elements, found {found}")
        raise NodeError(text.with_values(n=node.x.shape[batch], found=lengths))
    return (node.x,)


@kernel("ReverseSequence", _reverse_types, rounding=Rounding.ON_GRID)
def reverse_sequence(call: Call) -> None:
    """Compute `y[b, t] = x[b, lengths[b] - 1 - t]` for t < lengths[b], else `x[b, t]`."""
    batch, time = (_one_axis(call.node, name) for name in ("batch_dim", "seq_dim"))
    dim = call.x.shape[time]
    call.require_scratch(_LOOKED_AT * call.input(1).size * dim + call.out.nbytes)
    lengths = call.input(1).astype(np.intp)
    if lengths.min() < 0 or lengths.max() > dim:
        text = Text("seq_lengths must be in [0, {dim}], found {found}")
        raise ValueError(text.with_values(dim=dim, found=lengths.tolist()))
    steps = np.arange(dim)
    order = np.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)
    shape = [1] * call.x.ndim
    shape[batch], shape[time] = order.shape
    order = (order if batch < time else order.T).reshape(shape)
    np.copyto(call.out, np.take_along_axis(call.x, order, time))


# Marking ---------------------------------------------------------------------------------------


def _one_hot_types(node: NodeView) -> tuple[TensorFacts, ...]:
    one_dtype((node.required(1), node.required(2)))
    require_one_element(node, {1: "on_value", 2: "off_value"})
    depth = node.integer("depth")
    if depth < 0 or not node.x.dtype.is_integer:
        text = Text("indices must be integers and depth at least 0, found {found}, {depth}")
        raise NodeError(text.with_values(found=node.x, depth=depth))
    (axis,) = axes_of((node.integer("axis"),), node.x.rank + 1)
    shape = (*node.x.shape[:axis], depth, *node.x.shape[axis:])
    return (TensorFacts(node.required(1).dtype, shape),)


@kernel("OneHotD", _one_hot_types, rounding=Rounding.ON_GRID)
def one_hot(call: Call) -> None:
    """Compute `y[..., d, ...] = on_value where x counts as d, else off_value`."""
    call.require_scratch(2 * _LOOKED_AT * call.x.size)
    (axis,) = axes_of((call.node.integer("axis"),), call.x.ndim + 1)
    on, off = (call.input(position).reshape(-1)[0] for position in (1, 2))
    depth, inner = call.out.shape[axis], math.prod(call.x.shape[axis:])
    indices = call.x.reshape(-1)
    inside = indices < depth
    if indices.dtype.kind == "i":
        inside &= indices >= -depth
    (marked,) = np.nonzero(inside)
    chosen = indices[marked].astype(np.intp)
    chosen[chosen < 0] += depth
    call.out.fill(off)
    outer, rest = np.divmod(marked, max(inner, 1))
    call.out.reshape(-1)[(outer * depth + chosen) * inner + rest] = on


def _non_zero_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """A row for each axis and as many columns as declared, which the run must keep."""
    node.expect("transpose", allowed=True)
    node.expect("dtype", DType.INT64)
    declared, rank = node.outputs[0].dims, node.x.rank
    if len(declared) != 2 or declared[0] not in {rank, None}:  # noqa: PLR2004  (axes and elements)
        text = Text("the result must have {rank} rows, found {found}")
        raise NodeError(text.with_values(rank=rank, found=node.outputs[0]))
    return (TensorFacts(DType.INT64, (rank, declared[1])),)


def _found(call: Call) -> tuple[NDArray[Any], ...]:
    """The indices of `non_zero`, however many; a scalar has no axis, so no row."""
    count = np.count_nonzero(call.x)
    call.require_scratch(3 * np.dtype(np.int64).itemsize * call.x.ndim * count)
    rows = np.nonzero(call.x) if call.x.ndim else ()
    return (np.array(rows, np.int64).reshape(call.x.ndim, count),)


@kernel("NonZero", _non_zero_types, rounding=Rounding.ON_GRID, results=_found)
def non_zero(call: Call) -> None:
    """Find the indices of the elements other than 0, in row-major order."""
    call.require_scratch(call.out.nbytes)
    found = np.nonzero(call.x)
    if found[0].size != call.out.shape[1]:
        text = Text("{found} are not zero, the model says {declared}")
        raise ValueError(text.with_values(found=found[0].size, declared=call.out.shape[1]))
    np.stack(found, out=call.out)


def _where_types(node: NodeView) -> tuple[TensorFacts, ...]:
    """As many rows as declared, which the run must keep, and a column for each axis."""
    declared, rank = node.outputs[0].dims, node.x.rank
    if len(declared) != 2 or declared[1] not in {rank, None}:  # noqa: PLR2004  (elements and axes)
        text = Text("the result must have {rank} columns, found {found}")
        raise NodeError(text.with_values(rank=rank, found=node.outputs[0]))
    return (TensorFacts(DType.INT64, (declared[0], rank)),)


@kernel(
    "Where",
    _where_types,
    rounding=Rounding.ON_GRID,
    results=lambda call: (np.ascontiguousarray(_found(call)[0].T),),
)
def where(call: Call) -> None:
    """Find the indices of the elements other than 0, in row-major order."""
    call.require_scratch(2 * call.out.nbytes)
    found = np.argwhere(call.x)
    if len(found) != call.out.shape[0]:
        text = Text("{found} are not zero, the model says {declared}")
        raise ValueError(text.with_values(found=len(found), declared=call.out.shape[0]))
    np.copyto(call.out, found)
