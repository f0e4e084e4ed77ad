"""Rules of operators that pick or scatter elements by position.

Over 400 lines because a page holds its whole family.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from atc_py.fix import tables
from atc_py.fix.case import Fed, case
from atc_py.fix.facts import FLOATS
from atc_py.fix.range_rules import Range
from atc_py.fix.registry import rule
from atc_py.fix.site import Site
from atc_py.fix.unfit import require, skip_unless
from atc_py.fix.writing import EQUAL, REORDERED
from atc_py.tensor.dtypes import DType


def from_front(site: Site, indices: str, size: int, found: Range | None) -> str:
    """Write int32 positions counted from the front: those below 0 get the size added."""
    if found is not None and found.low >= 0:
        return indices
    zero, length = (
        site.const(each, DType.INT32, label) for each, label in ((0, "zero"), (size, "size"))
    )
    below = site.op("Less", indices, zero)
    return site.op("Where", below, site.op("Add", indices, length), indices)


@rule(
    "ArgMax ArgMin",
    EQUAL,
    case("ArgMax", [3, 4], axis=1, select_last_index=1),
    miss=case("ArgMax", Fed((3, 4), DType.INT32), axis=1),
)
def arg_max_of_reversed(site: Site) -> str:
    """ArgMax or ArgMin with select_last_index 1 -> Gather of the axis in reverse order, the
    operator, its distance from the end, if the dim of the axis is known.
    """
    require(site.integer("select_last_index", 0), "select_last_index is 1")
    dims = site.dims(0)
    axis = site.axis(0, len(dims))
    size = dims[axis]
    require(size is not None, "the dim of the axis is known")
    order = site.const(tables.arange(int(size or 0))[::-1], label="reversed")
    x = site.op("Gather", site.name(0), order, axis=axis)
    (found,) = site.again(x, select_last_index=None)
    count = site.cast(found, DType.INT32)
    last = site.const(int(size or 1) - 1, DType.INT32, "last")
    return site.cast(site.op("Sub", last, count), DType.INT64)


@rule(
    "ArgMax ArgMin",
    EQUAL,
    case("ArgMax", [2, 3, 4], axis=2, cann=5),
    miss=case("ArgMax", [2, 3, 4], axis=1, cann=5),
    deviations="ArgMax/kept-axis-at-1 ArgMin/kept-axis-at-1",
)
def arg_max_unsqueezed(site: Site) -> str:
    """ArgMax or ArgMin that keeps its axis -> the operator with keepdims 0, Unsqueeze, if the rank
    is known.
    """
    skip_unless(site.flag("keepdims", default=True))
    axis = site.axis(0, len(site.dims(0)))
    (found,) = site.again(site.name(0), keepdims=0)
    return site.unsqueeze(found, [axis])


@rule(
    "Compress",
    EQUAL,
    case("Compress", [3, 4], np.array([True, False, True]), axis=1, opset=11),
    miss=case("Compress", [3, 4], Fed((3,), DType.BOOL), axis=1, opset=11),
)
def compress_as_gather(site: Site) -> str:
    """Compress with a constant condition -> Gather of the positions where the condition is true, if
    the condition is constant and true somewhere.
    """
    dims = site.dims(0)
    chosen = np.flatnonzero(site.constant(1))
    x, axis = site.name(0), 0
    if "axis" in site.node.attributes:
        axis = site.axis(0, len(dims))
        size = dims[axis]
    else:
        x = site.reshape(x, [-1])
        known = [dim for dim in dims if isinstance(dim, int)]
        size = prod(known) if len(known) == len(dims) else None
    if isinstance(size, int):
        chosen = chosen[chosen < size]  # a condition that is too long is cut off
    require(chosen.size, "the condition is true somewhere")
    return site.op("Gather", x, site.const(chosen, label="positions"), axis=axis)


@rule(
    "Gather GatherND",
    EQUAL,
    case("GatherND", [3, 4], np.array([[-1, 0], [1, -2]])),
    miss=case("GatherND", [3, 4], np.array([[1, 0]])),
    deviations="Gather/negative-indices GatherND/negative-indices",
)
def gather_from_start(site: Site) -> Sequence[str]:
    """Gather or GatherND with negative constant indices -> the operator with indices of 0 or more,
    if indices are constant; dims along them are known.
    """
    indices, dims = site.constant(1), site.dims(0)
    if site.node.op_type == "Gather":
        sizes = [dims[site.axis(0, len(dims))]]
    else:
        first = site.integer("batch_dims", 0)
        sizes = list(dims[first : first + indices.shape[-1]])
    require(None not in sizes, "dims along indices are known")
    values = np.where(indices < 0, indices + np.array(sizes, indices.dtype), indices)
    dtype = DType.INT32 if indices.dtype == np.int32 else DType.INT64
    return site.again(site.name(0), site.const(values, dtype, "indices"))


@rule(
    "GatherND",
    EQUAL,
    case("GatherND", [2, 3, 4], np.array([[[1]], [[0]]]), batch_dims=1, operator_list="cann-9.0"),
    miss=case("GatherND", [2, 3, 4], np.array([[1]]), operator_list="cann-9.0"),
    boundary=case(
        "GatherND",
        [2, 3, 4],
        np.array([[[3], [0], [1]], [[2], [2], [0]]]),
        batch_dims=2,
        operator_list="cann-9.0",
    ),
    deviations="GatherND/batch-dims-ignored GatherND/batch-dims-refused",
    lists=True,
)
def gather_nd_with_batches(site: Site) -> Sequence[str]:
    """GatherND with batch_dims -> Concat of constant positions and indices, GatherND, if the dims
    of indices are known.
    """
    batches = site.integer("batch_dims", 0)
    skip_unless(batches)
    dims = site.shape(1)
    require(batches < len(dims), "batch_dims is below the rank")
    grid = np.moveaxis(tables.indices(dims[:-1])[:batches], 0, -1)
    whole = site.op("Concat", site.const(grid, label="batches"), site.name(1), axis=len(dims) - 1)
    return site.again(site.name(0), whole, batch_dims=None)


_EQUAL = frozenset({DType.INT32, DType.INT64, DType.FLOAT32})


@rule(
    "OneHot",
    EQUAL,
    case("OneHot", Fed((3,), DType.INT64, (-9, 9)), np.array(4), np.array([0.5, 2], np.float32)),
    miss=case("OneHot", np.array([0, -1]), np.array(4), [2]),
    deviations="OneHot/indices-wrap",
)
def one_hot_as_equal(site: Site) -> str:
    """OneHot whose indices may be out of range -> Equal with the positions, and with those counted
    from the end, Or, Where, if depth is constant; the rank of indices is known; indices are
    int32, int64 or float32.
    """
    require(site.element in _EQUAL, "Equal has the dtype of indices")
    depth = int(site.constant(1).reshape(-1)[0])
    rank = len(site.dims(0)) + 1
    axis = site.axis(-1, rank)
    places = tables.arange(depth).reshape([-1 if place == axis else 1 for place in range(rank)])
    index = site.unsqueeze(site.name(0), [axis])
    marks = [
        site.op("Equal", index, site.const(value, site.element, "places"))
        for value in (places, places - depth)
    ]
    off, on = (site.reshape(site.slice(site.name(2), 0, at, at + 1), []) for at in (0, 1))
    return site.op("Where", site.op("Or", *marks), on, off)


# Integers up to this magnitude are exact in float32.
_EXACT_FLOAT = 2**24


@rule(
    "Scatter ScatterElements",
    EQUAL,
    case("ScatterElements", [3, 4], np.array([[1, 0, 2, 3]]), [1, 4], axis=1),
    miss=case(
        "ScatterElements",
        [3, 4],
        Fed((1, 4), DType.INT64, (0, 3)),
        [1, 4],
        axis=1,
        reduction="add",
        opset=16,
    ),
    boundary=case("ScatterElements", [3, 4], Fed((1, 3), DType.INT64, (0, 2)), [1, 3]),
    float16="integers above 2048 are carried as float32 at least",
)
def scatter_elements_as_nd(site: Site) -> str:
    """ScatterElements without a reduction -> positions of every element by Concat with constants,
    ScatterND, if dims of indices are known; indices have no negative value; integers are below
    2^24.
    """
    require(site.text("reduction", "none") == "none", "no reduction")
    dims, shape = site.dims(0), site.shape(1)
    rank = len(dims)
    axis = site.axis(0, rank)
    found = site.range(1)
    indices = site.name(1)
    if site.tensor(1) is not None and site.input(1).dtype is not DType.INT64:
        indices = site.cast(indices, DType.INT64)
    if found is None or found.low < 0:
        size = dims[axis]
        require(size is not None, "the axis has a known dim")
        small = site.cast(indices, DType.INT32)
        indices = site.cast(from_front(site, small, int(size or 0), found), DType.INT64)
    grid = tables.indices(shape)
    column = site.unsqueeze(indices, [rank])
    columns = [
        column if at == axis else site.const(grid[at][..., None], label="grid")
        for at in range(rank)
    ]
    whole = column if rank == 1 else site.op("Concat", *columns, axis=rank)
    if site.element in FLOATS:
        return site.op("ScatterND", site.name(0), whole, site.name(2))
    for position in (0, 2):
        bounds = site.range(position)
        fits = bounds is not None and max(-bounds.low, bounds.high) <= _EXACT_FLOAT
        require(fits, "integers are below 2^24")
    given, updates = (site.cast(site.name(number), DType.FLOAT32) for number in (0, 2))
    return site.cast(site.op("ScatterND", given, whole, updates), site.element)


# Elements of the mask, which has every update for every position.
_MOST_ELEMENTS = 2**24

# By reduction: that of the updates, and the operator that joins them with the data.
_REDUCTIONS = {
    "add": ("ReduceSum", "Add"), "max": ("ReduceMax", "Max"), "min": ("ReduceMin", "Min"),
    "mul": ("ReduceProd", "Mul"),
}  # fmt: skip


@rule(
    "ScatterElements ScatterND",
    REORDERED,
    case(
        "ScatterElements", [3, 4], np.array([[1, 1, 3]]), [1, 3], axis=1, reduction="add", opset=16
    ),
    miss=case(
        "ScatterElements",
        Fed((3, 4), DType.FLOAT64),
        np.array([[1, 1, 3]]),
        Fed((1, 3), DType.FLOAT64),
        axis=1,
        reduction="add",
        opset=16,
    ),
    boundary=(
        case("ScatterND", [3, 4], np.array([[1, 1], [1, 1]]), [2], reduction="mul", opset=16),
        case("ScatterND", [3, 4], np.array([[1]]), [1, 4], reduction="max", opset=18),
    ),
    float16="sums are taken in float16 where the target does",
)
def scatter_with_reduction(site: Site) -> str:
    """ScatterElements or ScatterND with reduction add, mul, max or min -> Equal of indices and
    positions, Where, the reduction over all updates, Add, Mul, Max or Min, if dims are known;
    data are floats; updates times positions are at most 2^24.

    Of one row with indices i(k) and updates u(k): y(p) = data(p) + sum over k with i(k) = p of
    u(k); the same with products, the largest and the smallest.
    """
    reduction = site.text("reduction", "none")
    require(reduction in _REDUCTIONS, "there is a reduction")
    require(site.element in FLOATS, "data are floats")
    if site.node.op_type == "ScatterND":
        return _scatter_rows(site, reduction)
    return _scatter_along(site, reduction)


def _scatter_along(site: Site, reduction: str) -> str:
    """Write the reduction along an axis; what other axes of the updates leave out stays."""
    dims, shape = site.shape(0), site.shape(1)
    rank = len(dims)
    axis = site.axis(0, rank)
    size, count = dims[axis], shape[axis]
    others = [at for at in range(rank) if at != axis]
    outer = [shape[other] for other in others]
    require(int(np.prod(outer, dtype=np.int64)) * size * count <= _MOST_ELEMENTS, _TOO_MANY)
    order = [*others, axis]
    data = site.transpose(site.name(0), order)
    part = data
    for place, other in enumerate(others):
        if shape[other] < dims[other]:
            part = site.slice(part, place, 0, shape[other])
    indices, updates = (
        site.transpose(name, order) for name in (_indices(site, size), site.name(2))
    )
    part = _reduced(site, reduction, part, (indices, updates), rank - 1)
    for place in range(rank - 2, -1, -1):
        each = others[place]
        if shape[each] == dims[each]:
            continue
        rest = data
        for before in range(place):
            if shape[others[before]] < dims[others[before]]:
                rest = site.slice(rest, before, 0, shape[others[before]])
        rest = site.slice(rest, place, shape[each], dims[each])
        part = site.op("Concat", part, rest, axis=place)
    return site.transpose(part, [int(each) for each in np.argsort(order)])


def _reduced(site: Site, reduction: str, data: str, given: tuple[str, str], outer: int) -> str:
    """Write the reduction of rows: data [..., n], indices and updates [..., m]."""
    over, join = _REDUCTIONS[reduction]
    indices, updates = (site.unsqueeze(value, [outer + 1]) for value in given)
    size = _row(site)
    places = site.const(tables.arange(size), DType.INT32, "places")
    mask = site.op("Equal", indices, places)
    neutral = {"add": 0.0, "mul": 1.0}.get(reduction)
    rest = (
        site.unsqueeze(data, [outer])
        if neutral is None
        else site.const(neutral, site.element, "neutral")
    )
    y = site.reduce(over, site.op("Where", mask, updates, rest), [outer], keepdims=False)
    return site.op(join, data, y)


def _row(site: Site) -> int:
    dims = site.shape(0)
    if site.node.op_type == "ScatterElements":
        return dims[site.axis(0, len(dims))]
    return int(np.prod(dims[: site.shape(1)[-1]], dtype=np.int64))


def _indices(site: Site, size: int) -> str:
    """Write indices in int32, counted from the front."""
    return from_front(site, site.cast(site.name(1), DType.INT32), size, site.range(1))


def _scatter_rows(site: Site, reduction: str) -> str:
    """Write the reduction over whole positions: rows are what the positions do not reach into."""
    dims, shape = site.shape(0), site.shape(1)
    depth = shape[-1]
    require(0 < depth <= len(dims), "positions have 1 to rank parts")
    count = int(np.prod(shape[:-1], dtype=np.int64))
    width = int(np.prod(dims[depth:], dtype=np.int64))
    size = _row(site)
    require(count * size * width <= _MOST_ELEMENTS, _TOO_MANY)
    whole = site.reshape(site.cast(site.name(1), DType.INT32), [count, depth])
    steps = np.cumprod([1, *dims[depth - 1 : 0 : -1]])[::-1]
    total = ""
    for part in range(depth):
        column = site.slice(whole, 1, part, part + 1)
        place = from_front(site, column, dims[part], site.range(1))
        grown = site.op("Mul", place, site.const(int(steps[part]), DType.INT32, "step"))
        total = grown if not total else site.op("Add", total, grown)
    data = site.transpose(site.reshape(site.name(0), [size, width]), [1, 0])
    updates = site.transpose(site.reshape(site.name(2), [count, width]), [1, 0])
    found = _reduced(site, reduction, data, (site.reshape(total, [1, count]), updates), 1)
    return site.reshape(site.transpose(found, [1, 0]), list(dims))


_TOO_MANY = "updates times positions are at most 2^24"


@rule(
    "TensorScatter",
    EQUAL,
    case("TensorScatter", [2, 3, 5, 4], [2, 3, 2, 4], Fed((2,), DType.INT64, (0, 3)), opset=24),
    miss=case(
        "TensorScatter", Fed((2, 5, 4), DType.FLOAT64), Fed((2, 2, 4), DType.FLOAT64), opset=24
    ),
    boundary=case(
        "TensorScatter", [2, 5, 4], [2, 5, 4], Fed((2,), DType.INT64, (0, 0)), axis=1, opset=24
    ),
)
def tensor_scatter_as_nd(site: Site) -> str:
    """TensorScatter -> positions by Add (and Mod if circular), Transpose, ScatterND, if dims are
    known; data are floats.
    """
    require(site.element in FLOATS, "data are floats")
    dims, new = site.shape(0), site.shape(1)
    axis = site.axis(-2, len(dims))
    require(axis > 0, "the axis is not that of the batch")
    batch, count, size = new[0], new[axis], dims[axis]
    steps = site.const(tables.arange(count)[None], DType.INT32, "steps")
    places = site.const(tables.zeros((batch, count)), DType.INT32, "start")
    places = site.op("Add", places, steps)
    if site.tensor(2) is not None:
        start = site.unsqueeze(site.cast(site.name(2), DType.INT32), [1])
        places = site.op("Add", start, places)
    if site.text("mode", "linear") == "circular":
        places = site.op("Mod", places, site.const(size, DType.INT32, "size"))
    places = site.unsqueeze(site.cast(places, DType.INT64), [2])
    rows = site.const(tables.repeat(tables.arange(batch)[:, None, None], count, 1), label="rows")
    whole = site.op("Concat", rows, places, axis=2)
    order = [0, axis, *(index for index in range(1, len(dims)) if index != axis)]
    given = [site.transpose(site.name(at), order) for at in (0, 1)]
    y = site.op("ScatterND", given[0], whole, given[1])
    return site.transpose(y, [int(each) for each in np.argsort(order)])
