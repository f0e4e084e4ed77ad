"""Lowering of what runs along axes: reductions, positions, running sums, the largest elements."""

from collections.abc import Sequence
from math import prod

import numpy as np

from atc_py.ir import AttrValue, TensorType, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_REDUCTIONS = {
    "ReduceMax": ("ReduceMaxD", "axes"),
    "ReduceMean": ("ReduceMeanD", "axes"),
    "ReduceMin": ("ReduceMinD", "axes"),
    "ReduceProd": ("ReduceProdD", "axes"),
    "ReduceSum": ("ReduceSumD", "axes"),
    "ReduceSumSquare": ("SquareSumV1", "axis"),
}
"""Target operators, and their names of the axes."""

_NORMS = {"ReduceL1": 1, "ReduceL2": 2}

_POOLED_RANKS = {4, 5}
"""Ranks that CANN's GlobalLpPool takes."""

_POSITIONS = {"ArgMax": "ArgMaxD", "ArgMin": "ArgMinD"}


@lowering("ReduceMax")
@lowering("ReduceMean")
@lowering("ReduceMin")
@lowering("ReduceProd")
@lowering("ReduceSum")
@lowering("ReduceSumSquare")
def lower_reduction(b: Builder) -> Sequence[Value]:
    """Lower reductions to one operator each.

    ReduceSum with axes that only the run knows takes them as an input.
    """
    if b.node.op_type == "ReduceSum" and b.is_computed(1):
        noop = b.flag("noop_with_empty_axes")
        given: dict[str, AttrValue] = {"keep_dims": _keeps(b), "noop_with_empty_axes": noop}
        return [b.op("ReduceSum", [b.input(0), b.input(1)], b.output_type(), given)]
    axes = _axes(b)
    if axes is None:
        return [b.input(0)]
    op, name = _REDUCTIONS[b.node.op_type]
    attributes: dict[str, AttrValue] = {name: axes, "keep_dims": _keeps(b)}
    return [b.op(op, [b.input(0)], b.output_type(), attributes)]


@lowering("ReduceL1")
@lowering("ReduceL2")
def lower_norm(b: Builder) -> Sequence[Value]:
    """ReduceL1 and ReduceL2 -> LpNorm without the least value that CANN gives a norm."""
    axes = _axes(b)
    if axes is None:
        return [b.input(0)]
    attributes: dict[str, AttrValue] = {
        "p": _NORMS[b.node.op_type],
        "axes": axes,
        "keepdim": _keeps(b),
        "epsilon": 0.0,
    }
    return [b.op("LpNorm", [b.input(0)], b.output_type(), attributes)]


@lowering("ReduceLogSum")
def lower_reduce_log_sum(b: Builder) -> Sequence[Value]:
    """Lower ReduceLogSum to ReduceSumD and Log, as CANN's parser does."""
    axes = _axes(b)
    if axes is None:
        return [b.input(0)]
    attributes: dict[str, AttrValue] = {"axes": axes, "keep_dims": _keeps(b)}
    total = b.op("ReduceSumD", [b.input(0)], b.output_type(), attributes, "sum")
    return [b.op("Log", [total], b.output_type())]


@lowering("ReduceLogSumExp")
def lower_reduce_log_sum_exp(b: Builder) -> Sequence[Value]:
    """Lower ReduceLogSumExp to the operator of that name, whose axes are an input."""
    axes = _axes(b)
    if axes is None:
        return [b.input(0)]
    inputs = [b.input(0), b.const("axes", np.array(axes, np.int64))]
    attributes: dict[str, AttrValue] = {"keep_dims": _keeps(b)}
    return [b.op("ReduceLogSumExp", inputs, b.output_type(), attributes)]


@lowering("GlobalLpPool")
def lower_global_lp_pool(b: Builder) -> Sequence[Value]:
    """Lower GlobalLpPool to the operator of that name, which takes two or three spatial axes.

    Other numbers of them become one, and one of size 1.
    """
    p = b.integer("p", 2)
    if p < 1:
        raise b.bad(Text("takes a p of 1 or more, found {found}", found=p), "attribute p")
    x, result = b.input(0), b.output_type()
    attributes: dict[str, AttrValue] = {"p": float(p)}
    if x.type.rank in _POOLED_RANKS:
        return [b.op("GlobalLpPool", [x], result, attributes)]
    images, channels, *pixels = b.source(0).shape
    plane = b.reshape(x, (images, channels, prod(pixels), 1), "plane")
    pooled = TensorType(result.dtype, (images, channels, 1, 1))
    norms = b.op("GlobalLpPool", [plane], pooled, attributes, "norms")
    return [b.reshape(norms, result.shape)]


@lowering("GlobalMaxPool")
def lower_global_max_pool(b: Builder) -> Sequence[Value]:
    """Lower GlobalMaxPool to ReduceMaxD over all axes but batch and channel."""
    axes = tuple(range(2, b.source(0).rank))
    attributes: dict[str, AttrValue] = {"axes": axes, "keep_dims": True}
    return [b.op("ReduceMaxD", [b.input(0)], b.output_type(), attributes)]


@lowering("ArgMax")
@lowering("ArgMin")
def lower_position(b: Builder) -> Sequence[Value]:
    """Lower ArgMax to ArgMaxD, ArgMin -> ArgMinD, in int32; then the axis again, and int64."""
    if b.integer("select_last_index", 0):
        raise b.unsupported(
            Text("the model asks for the last of equal values, but the device finds the first"),
            "attribute select_last_index",
            Text("export the model with select_last_index 0, or reverse the axis before the node"),
        )
    x = b.input(0)
    axis = b.axis(b.integer("axis", 0), x.type.rank)
    if x.type.dims[axis] == 0:
        raise b.bad(Text("needs elements along axis {axis}, found none", axis=axis), "input data")
    shape = x.type.dims[:axis] + x.type.dims[axis + 1 :]
    attributes: dict[str, AttrValue] = {"dimension": axis, "dtype": DType.INT32}
    counted = TensorType(DType.INT32, shape)
    found = b.op(_POSITIONS[b.node.op_type], [x], counted, attributes, "position")
    if _keeps(b):
        kept = TensorType(DType.INT32, (*shape[:axis], 1, *shape[axis:]))
        found = b.op("Unsqueeze", [found], kept, {"axes": (axis,)}, "position.kept")
    return [b.cast(found, DType.INT64, _name(b, 0))]


@lowering("CumSum")
def lower_cum_sum(b: Builder) -> Sequence[Value]:
    """Lower CumSum to CumsumD; Cumsum where only the run knows the axis."""
    attributes: dict[str, AttrValue] = {
        "exclusive": b.flag("exclusive"),
        "reverse": b.flag("reverse"),
    }
    if b.source(1).const is None:
        return [b.op("Cumsum", [b.input(0), b.input(1)], b.output_type(), attributes)]
    axis = b.axis(_number(b, 1, "axis"), b.source(0).rank, "input axis")
    attributes["axis"] = axis
    return [b.op("CumsumD", [b.input(0)], b.output_type(), attributes)]


@lowering("TopK")
def lower_top_k_by_attribute(b: Builder) -> Sequence[Value]:
    """TopK before opset 10: k is an attribute."""
    return _top_k(b, b.integer("k", -1))


@lowering("TopK", since=10)
def lower_top_k_by_input(b: Builder) -> Sequence[Value]:
    return _top_k(b, None if b.is_computed(1) else _number(b, 1, "K"))


def _top_k(b: Builder, k: int | None) -> Sequence[Value]:
    """TopK with int32 positions, which then become int64; k None is the second input."""
    x = b.input(0)
    axis = b.axis(b.integer("axis", -1), x.type.rank)
    dim = x.type.dims[axis]
    if k is not None and (k < 0 or (dim is not None and k > dim)):
        raise b.bad(Text("takes k from 0 to {dim}, found {found}", dim=dim, found=k), "K")
    shape = (*x.type.dims[:axis], k, *x.type.dims[axis + 1 :])
    attributes: dict[str, AttrValue] = {
        "sorted": b.integer("sorted", 1) != 0,
        "largest": b.integer("largest", 1) != 0,
        "dim": axis,
    }
    inputs = [x, b.input(1) if k is None else b.const("k", np.array([k], np.int64))]
    kept, counted = TensorType(x.type.dtype, shape), TensorType(DType.INT32, shape)
    outputs = [(_name(b, 0) or "values", kept), ("positions", counted)]
    values, found = b.ops("TopK", inputs, outputs, attributes)
    return [values, b.cast(found, DType.INT64, _name(b, 1))]


def _name(b: Builder, position: int) -> str | None:
    output = b.node.outputs[position] if b.wants_output(position) else None
    return output.name if output else None


def _axes(b: Builder) -> tuple[int, ...] | None:
    """The axes to reduce, from the front: all by default; None if the input is the result.

    They are an input from some opset on, before that an attribute.
    """
    axes = b.optional_integers("axes")
    if b.optional_source(1) is not None:
        axes = b.numbers(1, "axes")
    rank = b.source(0).rank
    if not axes:
        return None if b.integer("noop_with_empty_axes", 0) else tuple(range(rank))
    return tuple(sorted({b.axis(axis, rank, "axes") for axis in axes}))


def _keeps(b: Builder) -> bool:
    return b.integer("keepdims", 1) != 0


def _number(b: Builder, position: int, name: str) -> int:
    numbers = b.numbers(position, name)
    if numbers is None or len(numbers) != 1:
        found = Text("none") if numbers is None else len(numbers)
        raise b.bad(
            Text("needs 1 number in {name}, found {found}", name=name, found=found),
            Text("input {at}", at=name),
        )
    return numbers[0]
