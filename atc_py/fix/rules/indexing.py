"""Rules of operators that pick or scatter elements by position."""

from collections.abc import Sequence
from math import prod

import numpy as np

from atc_py.fix import tables
from atc_py.fix.case import Fed, case
from atc_py.fix.context import RuleContext
from atc_py.fix.facts import FLOATS
from atc_py.fix.range_rules import Range
from atc_py.fix.rule import EQUAL, REORDERED, rule
from atc_py.fix.unfit import require, skip_unless
from atc_py.tensor.dtypes import DType


def from_front(ctx: RuleContext, indices: str, size: int, bounds: Range | None) -> str:
    """Write int32 positions counted from the front: those below 0 get the size added."""
    if bounds is not None and bounds.low >= 0:
        return indices
    zero, length = (
        ctx.const(number, DType.INT32, label) for number, label in ((0, "zero"), (size, "size"))
    )
    below = ctx.op("Less", indices, zero)
    return ctx.op("Where", below, ctx.op("Add", indices, length), indices)


@rule(
    EQUAL,
    case("ArgMax", [3, 4], axis=1, select_last_index=1),
    operators="ArgMax ArgMin",
    miss=case("ArgMax", Fed((3, 4), DType.INT32), axis=1),
)
def arg_max_of_reversed(ctx: RuleContext) -> str:
    """ArgMax or ArgMin with select_last_index 1 -> Gather of the axis in reverse order, the
    operator, its distance from the end, if the dim of the axis is known.
    """
    skip_unless(ctx.integer("select_last_index", 0))
    dims = ctx.dims(0)
    axis = ctx.axis(0, len(dims))
    size = dims[axis]
    require(size is not None, "the dim of the axis is known")
    order = ctx.const(tables.arange(int(size or 0))[::-1], label="reversed")
    x = ctx.op("Gather", ctx.name(0), order, axis=axis)
    (found,) = ctx.again(x, select_last_index=None)
    count = ctx.cast(found, DType.INT32)
    last = ctx.const(int(size or 1) - 1, DType.INT32, "last")
    return ctx.cast(ctx.op("Sub", last, count), DType.INT64)


@rule(
    EQUAL,
    case("ArgMax", [2, 3, 4], axis=2, cann="5"),
    operators="ArgMax ArgMin",
    miss=case("ArgMax", [2, 3, 4], axis=1, cann="5"),
    deviations="ArgMax/kept-axis-at-1 ArgMin/kept-axis-at-1",
)
def arg_max_unsqueezed(ctx: RuleContext) -> str:
    """ArgMax or ArgMin that keeps its axis -> the operator with keepdims 0, Unsqueeze, if the rank
    is known.
    """
    skip_unless(ctx.flag("keepdims", default=True))
    axis = ctx.axis(0, len(ctx.dims(0)))
    (result,) = ctx.again(ctx.name(0), keepdims=0)
    return ctx.unsqueeze(result, [axis])


@rule(
    EQUAL,
    case("Compress", [3, 4], np.array([True, False, True]), axis=1, opset=11),
    miss=case("Compress", [3, 4], Fed((3,), DType.BOOL), axis=1, opset=11),
)
def compress_as_gather(ctx: RuleContext) -> str:
    """Compress with a constant condition -> Gather of the positions where the condition is true, if
    the condition is constant and true somewhere.
    """
    dims = ctx.dims(0)
    chosen = np.flatnonzero(ctx.constant(1))
    x, axis = ctx.name(0), 0
    if "axis" in ctx.node.attributes:
        axis = ctx.axis(0, len(dims))
        size = dims[axis]
    else:
        x = ctx.reshape(x, [-1])
        known = [dim for dim in dims if isinstance(dim, int)]
        size = prod(known) if len(known) == len(dims) else None
    if isinstance(size, int):
        chosen = chosen[chosen < size]  # a condition that is too long is cut off
    require(chosen.size, "the condition is true somewhere")
    return ctx.op("Gather", x, ctx.const(chosen, label="positions"), axis=axis)


@rule(
    EQUAL,
    case("GatherND", [3, 4], np.array([[-1, 0], [1, -2]])),
    operators="Gather GatherND",
    miss=case("GatherND", [3, 4], np.array([[1, 0]])),
    deviations="Gather/negative-indices GatherND/negative-indices",
)
def gather_from_start(ctx: RuleContext) -> Sequence[str]:
    """Gather or GatherND with negative constant indices -> the operator with indices of 0 or more,
    if indices are constant; dims along them are known.
    """
    indices, dims = ctx.constant(1), ctx.dims(0)
    if ctx.node.op_type == "Gather":
        sizes = [dims[ctx.axis(0, len(dims))]]
    else:
        first = ctx.integer("batch_dims", 0)
        sizes = list(dims[first : first + indices.shape[-1]])
    require(None not in sizes, "dims along indices are known")
    values = np.where(indices < 0, indices + np.array(sizes, indices.dtype), indices)
    dtype = DType.INT32 if indices.dtype == np.int32 else DType.INT64
    return ctx.again(ctx.name(0), ctx.const(values, dtype, "indices"))


@rule(
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
def gather_nd_with_batches(ctx: RuleContext) -> Sequence[str]:
    """GatherND with batch_dims -> Concat of constant positions and indices, GatherND, if the dims
    of indices are known.
    """
    batches = ctx.integer("batch_dims", 0)
    skip_unless(batches)
    dims = ctx.shape(1)
    require(batches < len(dims), "batch_dims is below the rank")
    grid = np.moveaxis(tables.indices(dims[:-1])[:batches], 0, -1)
    whole = ctx.op("Concat", ctx.const(grid, label="batches"), ctx.name(1), axis=len(dims) - 1)
    return ctx.again(ctx.name(0), whole, batch_dims=None)


_EQUAL = frozenset({DType.INT32, DType.INT64, DType.FLOAT32})


@rule(
    EQUAL,
    case("OneHot", Fed((3,), DType.INT64, (-9, 9)), np.array(4), np.array([0.5, 2], np.float32)),
    miss=case("OneHot", np.array([0, -1]), np.array(4), [2]),
    deviations="OneHot/indices-wrap",
)
def one_hot_as_equal(ctx: RuleContext) -> str:
    """OneHot whose indices may be out of range -> Equal with the positions, and with those counted
    from the end, Or, Where, if depth is constant; the rank of indices is known; indices are
    int32, int64 or float32.
    """
    require(ctx.element in _EQUAL, "Equal has the dtype of indices")
    depth = int(ctx.constant(1).reshape(-1)[0])
    rank = len(ctx.dims(0)) + 1
    axis = ctx.axis(-1, rank)
    places = tables.arange(depth).reshape([-1 if place == axis else 1 for place in range(rank)])
    index = ctx.unsqueeze(ctx.name(0), [axis])
    marks = [
        ctx.op("Equal", index, ctx.const(value, ctx.element, "places"))
        for value in (places, places - depth)
    ]
    off, on = (ctx.reshape(ctx.slice(ctx.name(2), 0, at, at + 1), []) for at in (0, 1))
    return ctx.op("Where", ctx.op("Or", *marks), on, off)


# Integers up to this magnitude are exact in float32.
_EXACT_FLOAT = 2**24


@rule(
    EQUAL,
    case("ScatterElements", [3, 4], np.array([[1, 0, 2, 3]]), [1, 4], axis=1),
    operators="Scatter ScatterElements",
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
def scatter_elements_as_nd(ctx: RuleContext) -> str:
    """ScatterElements without a reduction -> positions of every element by Concat with constants,
    ScatterND, if dims of indices are known; indices have no negative value; integers are below
    2^24.
    """
    skip_unless(ctx.text("reduction", "none") == "none")
    dims, shape = ctx.dims(0), ctx.shape(1)
    rank = len(dims)
    axis = ctx.axis(0, rank)
    found = ctx.range(1)
    indices = ctx.name(1)
    if ctx.tensor(1) is not None and ctx.input(1).dtype is not DType.INT64:
        indices = ctx.cast(indices, DType.INT64)
    if found is None or found.low < 0:
        size = dims[axis]
        require(size is not None, "the axis has a known dim")
        small = ctx.cast(indices, DType.INT32)
        indices = ctx.cast(from_front(ctx, small, int(size or 0), found), DType.INT64)
    grid = tables.indices(shape)
    column = ctx.unsqueeze(indices, [rank])
    columns = [
        column if at == axis else ctx.const(grid[at][..., None], label="grid") for at in range(rank)
    ]
    whole = ctx.concat(columns, rank)
    if ctx.element in FLOATS:
        return ctx.op("ScatterND", ctx.name(0), whole, ctx.name(2))
    for position in (0, 2):
        bounds = ctx.range(position)
        fits = bounds is not None and max(-bounds.low, bounds.high) <= _EXACT_FLOAT
        require(fits, "integers are below 2^24")
    given, updates = (ctx.cast(ctx.name(number), DType.FLOAT32) for number in (0, 2))
    return ctx.cast(ctx.op("ScatterND", given, whole, updates), ctx.element)


# Elements of the mask, which has every update for every position.
_MOST_ELEMENTS = 2**24

# By reduction: that of the updates, and the operator that joins them with the data.
_REDUCTIONS = {
    "add": ("ReduceSum", "Add"), "max": ("ReduceMax", "Max"), "min": ("ReduceMin", "Min"),
    "mul": ("ReduceProd", "Mul"),
}  # fmt: skip


@rule(
    REORDERED,
    case(
        "ScatterElements", [3, 4], np.array([[1, 1, 3]]), [1, 3], axis=1, reduction="add", opset=16
    ),
    operators="ScatterElements ScatterND",
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
def scatter_with_reduction(ctx: RuleContext) -> str:
    """ScatterElements or ScatterND with reduction add, mul, max or min -> Equal of indices and
    positions, Where, the reduction over all updates, Add, Mul, Max or Min, if dims are known;
    data are floats; updates times positions are at most 2^24.

    Of one row with indices i(k) and updates u(k): y(p) = data(p) + sum over k with i(k) = p of
    u(k); the same with products, the largest and the smallest.
    """
    reduction = ctx.text("reduction", "none")
    skip_unless(reduction in _REDUCTIONS)
    require(ctx.element in FLOATS, "data are floats")
    if ctx.node.op_type == "ScatterND":
        return _scatter_rows(ctx, reduction)
    return _scatter_along(ctx, reduction)


def _scatter_along(ctx: RuleContext, reduction: str) -> str:
    """Write the reduction along an axis; what other axes of the updates leave out stays."""
    dims, shape = ctx.shape(0), ctx.shape(1)
    rank = len(dims)
    axis = ctx.axis(0, rank)
    size, count = dims[axis], shape[axis]
    others = [at for at in range(rank) if at != axis]
    outer = [shape[other] for other in others]
    require(prod(outer) * size * count <= _MOST_ELEMENTS, _TOO_MANY)
    order = [*others, axis]
    data = ctx.transpose(ctx.name(0), order)
    part = data
    for place, other in enumerate(others):
        if shape[other] < dims[other]:
            part = ctx.slice(part, place, 0, shape[other])
    indices = from_front(ctx, ctx.cast(ctx.name(1), DType.INT32), size, ctx.range(1))
    indices, updates = (ctx.transpose(name, order) for name in (indices, ctx.name(2)))
    part = _reduce_updates(ctx, reduction, part, (indices, updates), rank - 1)
    for place in range(rank - 2, -1, -1):
        along = others[place]
        if shape[along] == dims[along]:
            continue
        rest = data
        for before in range(place):
            if shape[others[before]] < dims[others[before]]:
                rest = ctx.slice(rest, before, 0, shape[others[before]])
        rest = ctx.slice(rest, place, shape[along], dims[along])
        part = ctx.op("Concat", part, rest, axis=place)
    return ctx.transpose_back(part, order)


def _reduce_updates(
    ctx: RuleContext, reduction: str, data: str, given: tuple[str, str], outer: int
) -> str:
    """Write the reduction of rows: data [..., n], indices and updates [..., m]."""
    over, join = _REDUCTIONS[reduction]
    indices, updates = (ctx.unsqueeze(value, [outer + 1]) for value in given)
    size = _row(ctx)
    places = ctx.const(tables.arange(size), DType.INT32, "places")
    mask = ctx.op("Equal", indices, places)
    neutral = {"add": 0.0, "mul": 1.0}.get(reduction)
    rest = (
        ctx.unsqueeze(data, [outer])
        if neutral is None
        else ctx.const(neutral, ctx.element, "neutral")
    )
    y = ctx.reduce(over, ctx.op("Where", mask, updates, rest), [outer], keepdims=False)
    return ctx.op(join, data, y)


def _row(ctx: RuleContext) -> int:
    dims = ctx.shape(0)
    if ctx.node.op_type == "ScatterElements":
        return dims[ctx.axis(0, len(dims))]
    return int(np.prod(dims[: ctx.shape(1)[-1]], dtype=np.int64))


def _scatter_rows(ctx: RuleContext, reduction: str) -> str:
    dims, shape = ctx.shape(0), ctx.shape(1)
    depth = shape[-1]
    require(0 < depth <= len(dims), "positions have 1 to rank parts")
    count = prod(shape[:-1])
    width = prod(dims[depth:])
    size = _row(ctx)
    require(count * size * width <= _MOST_ELEMENTS, _TOO_MANY)
    whole = ctx.reshape(ctx.cast(ctx.name(1), DType.INT32), [count, depth])
    steps = np.cumprod([1, *dims[depth - 1 : 0 : -1]])[::-1]
    total = ""
    for part in range(depth):
        column = ctx.slice(whole, 1, part, part + 1)
        place = from_front(ctx, column, dims[part], ctx.range(1))
        grown = ctx.op("Mul", place, ctx.const(int(steps[part]), DType.INT32, "step"))
        total = ctx.add(total, grown)
    data = ctx.transpose(ctx.reshape(ctx.name(0), [size, width]), [1, 0])
    updates = ctx.transpose(ctx.reshape(ctx.name(2), [count, width]), [1, 0])
    result = _reduce_updates(ctx, reduction, data, (ctx.reshape(total, [1, count]), updates), 1)
    return ctx.reshape(ctx.transpose(result, [1, 0]), list(dims))


_TOO_MANY = "updates times positions are at most 2^24"


@rule(
    EQUAL,
    case("TensorScatter", [2, 3, 5, 4], [2, 3, 2, 4], Fed((2,), DType.INT64, (0, 3)), opset=24),
    miss=case(
        "TensorScatter", Fed((2, 5, 4), DType.FLOAT64), Fed((2, 2, 4), DType.FLOAT64), opset=24
    ),
    boundary=case(
        "TensorScatter", [2, 5, 4], [2, 5, 4], Fed((2,), DType.INT64, (0, 0)), axis=1, opset=24
    ),
)
def tensor_scatter_as_nd(ctx: RuleContext) -> str:
    """TensorScatter -> positions by Add (and Mod if circular), Transpose, ScatterND, if dims are
    known; data are floats.
    """
    require(ctx.element in FLOATS, "data are floats")
    dims, new = ctx.shape(0), ctx.shape(1)
    axis = ctx.axis(-2, len(dims))
    require(axis > 0, "the axis is not that of the batch")
    batch, count, size = new[0], new[axis], dims[axis]
    steps = ctx.const(tables.arange(count)[None], DType.INT32, "steps")
    places = ctx.const(tables.zeros((batch, count)), DType.INT32, "start")
    places = ctx.op("Add", places, steps)
    if ctx.tensor(2) is not None:
        start = ctx.unsqueeze(ctx.cast(ctx.name(2), DType.INT32), [1])
        places = ctx.op("Add", start, places)
    if ctx.text("mode", "linear") == "circular":
        places = ctx.op("Mod", places, ctx.const(size, DType.INT32, "size"))
    places = ctx.unsqueeze(ctx.cast(places, DType.INT64), [2])
    rows = ctx.const(tables.repeat(tables.arange(batch)[:, None, None], count, 1), label="rows")
    whole = ctx.op("Concat", rows, places, axis=2)
    order = [0, axis, *(index for index in range(1, len(dims)) if index != axis)]
    given = [ctx.transpose(ctx.name(at), order) for at in (0, 1)]
    y = ctx.op("ScatterND", given[0], whole, given[1])
    return ctx.transpose_back(y, order)
