"""Operators whose numbers are inputs, which only the run may know."""

from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.carriers import PADDED, bordered, carried, marked
from atc_py.device.ort.integer_reductions import integer_sum
from atc_py.device.ort.operators.movement import REPEATED
from atc_py.tensor.dtypes import DType

_AXES, _STRIDES = 3, 4
"""Positions of inputs of StridedSliceV2."""


def _numbers(body: Body, position: int) -> str:
    """The numbers of an input as int64 [n]."""
    value = body.integers(position)
    return value if body.node.rank(position) == 1 else body.add("Reshape", value, body.ints(-1))


@emulates("Expand", moves=True)
def expand(body: Body) -> str:
    """Write a copy of x for each place of the shape along its axes of one element."""
    return body.add("Expand", body.own(), _numbers(body, 1))


@emulates("Shape", moves=True)
def shape_of(body: Body) -> str:
    """Write the dims of x."""
    return body.add("Shape", body.own())


@emulates("Size", moves=True)
def size_of(body: Body) -> str:
    """Write the product of the dims of x."""
    return body.add("ReduceProd", body.add("Shape", body.own()), keepdims=0)


@emulates("SqueezeV3", moves=True)
def squeeze(body: Body) -> str:
    """Write x without the axes that the second input names, or without all axes of size 1."""
    if 0 in body.node.required(1).dims:
        return body.add("Squeeze", body.own())
    axes = _numbers(body, 1)
    if body.node.constant(1) is None:
        distinct = body.add("Size", _distinct(body, axes, body.node.rank()))
        axes = body.held(axes, body.add("Equal", distinct, body.add("Size", axes)))
    return body.add("Squeeze", body.own(), axes)


@emulates("SplitD", moves=True)
def split(body: Body) -> list[str]:
    """Write equal parts along one axis."""
    count, axis = body.node.integer("num_split"), body.node.integer("split_dim")
    dim = body.node.required(0).dims[axis]
    if dim is None:
        return body.several("Split", count, body.own(), axis=axis, num_outputs=count)
    sizes = body.ints(*(dim // count,) * count)
    return body.several("Split", count, body.own(), sizes, axis=axis)


@emulates("Tile", moves=True)
def tile(body: Body) -> str:
    """Write `y[i] = x[i mod dim of x]` along each axis."""
    multiples = _numbers(body, 1)
    return carried(
        body, body.own(), body.node.dtype(), REPEATED, lambda x: body.add("Tile", x, multiples)
    )


@emulates("OneHot", moves=True)
def one_hot(body: Body) -> str:
    """Write `y[.., d, ..] = on_value where d = x[..], else off_value`, d along axis."""
    depth = _numbers(body, 1)
    if body.node.constant(1) is None:
        depth = body.held(depth, body.add("GreaterOrEqual", depth, body.ints(0)))
    return marked(body, depth, body.own(2), body.own(3), body.node.dtype(2))


@emulates("ReduceSum")
def reduce_sum(body: Body) -> str:
    """Write `y = sum of x over axes`, which the second input names, one of them perhaps twice."""
    node, dtype = body.node, body.node.dtype()
    constant = node.constant(1)
    if constant is None:
        axes, rank = _numbers(body, 1), node.rank()
        least, most = (body.const(bound, DType.INT64) for bound in (-rank, rank))
        bounded = (body.add("GreaterOrEqual", axes, least), body.add("Less", axes, most))
        axes = _distinct(body, body.held(axes, body.add("And", *bounded)), rank)
    else:
        axes = body.ints(*sorted({int(axis) % node.rank() for axis in constant.reshape(-1)}))
    keep, noop = node.flag("keep_dims"), node.flag("noop_with_empty_axes")
    if dtype.is_integer:
        return integer_sum(body, body.own(), dtype, axes, keep=keep, noop=noop)
    return body.add("ReduceSum", body.x(), axes, keepdims=keep, noop_with_empty_axes=noop)


def _distinct(body: Body, axes: str, rank: int) -> str:
    """Axes, each once and counted from the front."""
    places = body.add("Mod", axes, body.ints(rank))
    ones = body.add("Expand", body.ints(1), body.add("Shape", axes))
    named = body.add("ScatterElements", body.ints(*(0,) * rank), places, ones)
    return body.add("Squeeze", body.add("NonZero", named), body.ints(0))


@emulates("PadV3", moves=True)
def pad(body: Body) -> str:
    """Write `y[i] = x[i - before]` inside; outside 0, or x of the nearest edge or mirrored at it."""
    node, rank = body.node, body.node.rank()
    constant = node.constant(1)
    joint = node.flag("paddings_contiguous")
    if constant is not None:
        numbers = [int(number) for number in constant.reshape(-1)]
        before, after = (numbers[::2], numbers[1::2]) if joint else (numbers[:rank], numbers[rank:])
        return bordered(body, body.own(), before, after, node.text("mode"), 0.0)
    if not rank:
        return body.add("Identity", body.own())
    borders = _numbers(body, 1)
    if joint:
        pairs = body.add("Reshape", borders, body.ints(rank, 2))
        borders = body.add("Reshape", body.add("Transpose", pairs, perm=(1, 0)), body.ints(-1))
    nothing = body.ints(0)
    cut = body.add("Neg", body.add("Min", borders, nothing))
    starts, ends = body.several("Split", 2, cut, axis=0, num_outputs=2)
    ends = body.add("Sub", body.add("Shape", body.own()), ends)
    starts = body.held(starts, body.add("LessOrEqual", starts, ends))
    inside = body.add("Slice", body.own(), starts, ends)
    pads, mode = body.add("Max", borders, nothing), node.text("mode")
    return carried(
        body, inside, node.dtype(), PADDED, lambda x: body.add("Pad", x, pads, mode=mode)
    )


@emulates("StridedSliceV2", moves=True)
def strided_slice(body: Body) -> str:
    """Write `y[i] = x[begin + i * stride]` along each axis that axes names."""
    node = body.node
    begins, ends = _numbers(body, 1), _numbers(body, 2)
    if (
        None in (*node.required(1).dims, *node.required(2).dims)
        or node.required(1).dims != node.required(2).dims
    ):
        lengths = (body.add("Size", each) for each in (begins, ends))
        ends = body.held(ends, body.add("Equal", *lengths))
    axes = _numbers(body, _AXES) if node.has(_AXES) else ""
    if not node.has(_STRIDES):
        return body.add("Slice", body.own(), begins, ends, *([axes] if axes else []))
    strides, known = _numbers(body, _STRIDES), node.constant(_STRIDES)
    if not axes:
        axes = body.range(body.add("Size", begins))
    if known is None or known.min(initial=1) < 0:
        ends = _ends(body, begins, ends, axes, strides)
    return body.add("Slice", body.own(), begins, ends, axes, strides)


def _ends(body: Body, begins: str, ends: str, axes: str, strides: str) -> str:
    """Ends with which nothing is taken from a begin in front of the axis backwards.

    ONNX moves such a begin to the first element, which then is taken; numpy takes nothing.
    """
    dims = body.add("Gather", body.add("Shape", body.own()), axes)
    nothing = body.const(0, DType.INT64)
    outside = body.add("Less", body.add("Add", begins, dims), nothing)
    backwards = body.add("Less", strides, nothing)
    return body.add("Where", body.add("And", outside, backwards), dims, ends)
