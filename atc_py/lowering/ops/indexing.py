"""Lowering of operators that pick, place or mark elements by index."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from atc_py.ir import AttrValue, SplatConst, TensorType, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.spec.rewrites import performs
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Dims, closed_shape, element_count, format_shape
from atc_py.text import Text

_NARROW = {DType.INT8, DType.INT16, DType.UINT8, DType.UINT16}
"""Integers that int32, in which the target marks indices, holds."""


@lowering("Gather")
def lower_gather(b: Builder) -> Sequence[Value]:
    """Gather -> GatherV2D; constant negative indices are counted from the front."""
    shape = b.source(0).required_dims
    axis = b.axis(b.integer("axis", 0), len(shape))
    indices = _from_front(b, (shape[axis],))
    attributes = {"axis": axis, "negative_index_support": _may_be_negative(b, indices)}
    return [b.op("GatherV2D", [b.input(0), indices], b.output_type(), attributes)]


@lowering("GatherElements")
def lower_gather_elements(b: Builder) -> Sequence[Value]:
    shape = b.source(0).required_dims
    axis = b.axis(b.integer("axis", 0), len(shape))
    inputs = [b.input(0), _from_front(b, (shape[axis],))]
    return [b.op("GatherElements", inputs, b.output_type(), {"dim": axis})]


@lowering("GatherND")
def lower_gather_nd(b: Builder) -> Sequence[Value]:
    """Lower GatherND to GatherNd; constant negative indices are counted from the front."""
    batch = b.integer("batch_dims", 0)
    indices = _from_front(b, _reached(b, batch))
    attributes = {"batch_dims": batch, "negative_index_support": _may_be_negative(b, indices)}
    return [b.op("GatherNd", [b.input(0), indices], b.output_type(), attributes)]


@lowering("ScatterElements")
@lowering("Scatter")
def lower_scatter_elements(b: Builder) -> Sequence[Value]:
    """Lower ScatterElements, which was called Scatter before, to ScatterElements."""
    shape = b.source(0).required_dims
    axis = b.axis(b.integer("axis", 0), len(shape))
    _require_replacing(b)
    inputs = [b.input(0), _from_front(b, (shape[axis],)), b.input(2)]
    return [b.op("ScatterElements", inputs, b.output_type(), {"axis": axis})]


@lowering("ScatterND")
def lower_scatter_nd(b: Builder) -> Sequence[Value]:
    _require_replacing(b)
    indices = _from_front(b, _reached(b, 0))
    inputs = [b.input(0), indices, b.input(2)]
    return [b.op("TensorScatterUpdate", inputs, b.output_type())]


@lowering("OneHot")
@performs("count-from-front")
def lower_one_hot(b: Builder) -> Sequence[Value]:
    """Lower OneHot to OneHotD with depth from the result's shape; values become off and on.

    OneHot where only the run knows the depth.
    """
    result, indices = b.output_type(), b.input(0)
    axis = b.axis(b.integer("axis", -1), result.rank)
    depth = result.dims[axis]
    dtype = indices.type.dtype
    if dtype in _NARROW:
        indices = b.cast(indices, DType.INT32)
    elif dtype not in {DType.INT32, DType.UINT64}:
        indices = b.cast(indices, DType.INT64)  # ONNX's own first step for floats
    off, on = _off_and_on(b)
    if depth is None:
        count = b.cast(b.input(1), DType.INT64)
        return [b.op("OneHot", [indices, count, on, off], result, {"axis": axis})]
    attributes = {"depth": depth, "axis": axis}
    return [b.op("OneHotD", [indices, on, off], result, attributes)]


@lowering("NonZero")
def lower_non_zero(b: Builder) -> Sequence[Value]:
    """Lower NonZero to NonZero, which gives ONNX's layout when it transposes."""
    return [b.op("NonZero", [b.input(0)], b.output_type(), {"transpose": True})]


@lowering("Compress")
def lower_compress(b: Builder) -> Sequence[Value]:
    """Lower Compress to GatherV2D with the places where the condition holds.

    A constant condition gives constant indices; else Where finds them in the run, as CANN's
    parser has it: then the result is as large as the condition says.
    """
    x, result = b.source(0), b.output_type()
    axis = b.node.attributes.get("axis")
    data = b.flat(b.input(0)) if axis is None else b.input(0)
    at = 0 if axis is None else b.axis(b.integer("axis", 0), x.rank)
    indices = _chosen(b, data.type.dims[at])
    return [b.op("GatherV2D", [data, indices], result, {"axis": at})]


def _chosen(b: Builder, dim: int | None) -> Value:
    """The places along an axis of `dim` elements where the second input holds."""
    condition = b.source(1)
    if condition.const is None:
        count = TensorType(DType.INT64, (None, 1))
        rows = b.op("Where", [b.input(1)], count, label="rows")
        return b.op("Squeeze", [rows], TensorType(DType.INT64, (None,)), {"axis": (1,)}, "chosen")
    (chosen,) = np.nonzero(condition.const.numpy())
    if dim is not None and chosen.size and chosen[-1] >= dim:
        text = Text("chooses element {chosen} of an axis of {dim}")
        raise b.bad(text.with_values(chosen=chosen[-1], dim=dim), "input condition")
    return b.const("chosen", chosen.astype(np.int64))


@lowering("ReverseSequence")
def lower_reverse_sequence(b: Builder) -> Sequence[Value]:
    """Lower ReverseSequence with ONNX's default axes, which are not the target's."""
    rank = b.source(0).rank
    batch = b.axis(b.integer("batch_axis", 1), rank, "attribute batch_axis")
    time = b.axis(b.integer("time_axis", 0), rank, "attribute time_axis")
    inputs = [b.input(0), b.input(1)]
    attributes = {"seq_dim": time, "batch_dim": batch}
    return [b.op("ReverseSequence", inputs, b.output_type(), attributes)]


def _off_and_on(b: Builder) -> tuple[Value, Value]:
    values = b.source(2)
    if values.const is not None:
        array = values.const.numpy()
        return b.const("off", array[:1]), b.const("on", array[1:])
    outputs = [
        (f"{b.output_name(0)}.{name}", TensorType(values.required_dtype, (1,)))
        for name in ("off", "on")
    ]
    attributes: dict[str, AttrValue] = {"size_splits": (1, 1), "split_dim": 0, "num_split": 2}
    off_value, on_value = b.ops("SplitVD", [b.value(values)], outputs, attributes)
    return off_value, on_value


def _require_replacing(b: Builder) -> None:
    """Refuse a node that combines updates with the elements that are there; UNSUPPORTED_FORM."""
    reduction = b.string("reduction", "none")
    if reduction != "none":
        raise b.unsupported(
            Text("reduction must be none, found {found}", found=repr(reduction)),
            "attribute reduction",
            Text("run this node on the host"),
        )


def _reached(b: Builder, batch: int) -> Dims:
    data, indices = b.source(0), b.source(1)
    (length,) = closed_shape(indices.required_dims[-1:]) or (0,)
    if not indices.required_dims or batch < 0 or batch + length > data.rank:
        text = Text("has tuples of {length} indices after {batch} batch axes, data has {rank} axes")
        raise b.bad(text.with_values(length=length, batch=batch, rank=data.rank), "input indices")
    return data.required_dims[batch : batch + length]


def _may_be_negative(b: Builder, indices: Value) -> bool:
    """True if indices may count from the end: computed ones, or if the end is unknown."""
    return indices.const is None or None in b.source(0).required_dims


@performs("count-from-front")
def _from_front(b: Builder, dims: Dims) -> Value:
    """The second input; constant indices count from the front where the dims are known."""
    source = b.source(1)
    if source.const is None or None in dims:
        return b.input(1)
    indices: Any = source.const.numpy()
    reached = np.array(dims, dtype=np.int64).squeeze()  # one size also meets a scalar index
    limits = np.broadcast_to(reached, indices.shape)
    outside = (indices < -limits) | (indices >= limits)
    if outside.any():
        index, limit = indices[outside][0], limits[outside][0]
        text = Text("has the index {index} into an axis of {limit}")
        raise b.bad(text.with_values(index=index, limit=limit), "input indices")
    if not (indices < 0).any():
        return b.input(1)
    counted = np.where(indices < 0, indices + limits, indices).astype(indices.dtype)
    return b.const("indices", counted)


_OUTPUT_SHAPE = 2


@lowering("MaxUnpool", since=9)
def lower_max_unpool(b: Builder) -> Sequence[Value]:
    """Lower MaxUnpool to ScatterElements of a vector of zeros, in the shape of the result.

    CANN's parser makes the same of it, the zeros by ZerosLike and BroadcastTo. Positions count in
    the shape that is asked for, as in CANN and onnxruntime; kernel_shape, strides and pads only
    give the shape where none is asked for.
    """
    x, indices, result = b.source(0), b.source(1), b.output_type()
    if x.required_dims != indices.required_dims:
        found = format_shape(indices.required_dims)
        wanted = format_shape(x.required_dims)
        text = Text("takes one position for each of {wanted} values, found {found}")
        raise b.bad(text.with_values(wanted=wanted, found=found), "input I")
    zeros = _zeros(b, result)
    values = [zeros, b.flat(b.input(1)), b.flat(b.input(0))]
    placed = b.op("ScatterElements", values, zeros.type, {"axis": 0}, "placed")
    if b.is_computed(_OUTPUT_SHAPE):
        return [b.op("Reshape", [placed, b.input(_OUTPUT_SHAPE)], result, {"allowzero": 1})]
    return [b.reshape(placed, result.shape)]


def _zeros(b: Builder, result: TensorType) -> Value:
    if b.is_computed(_OUTPUT_SHAPE):
        zero = b.const("zero", SplatConst(0.0, result.dtype, (1,) * result.rank))
        return b.flat(b.op("Tile", [zero, b.input(_OUTPUT_SHAPE)], result, label="zeros"))
    return b.const("zeros", SplatConst(0.0, result.dtype, (element_count(result.shape),)))
