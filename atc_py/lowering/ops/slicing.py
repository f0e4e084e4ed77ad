"""Lowering of operators that cut tensors or add borders: Slice, Split, Pad."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.ir import AttrValue, TensorType, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.spec.rewrites import performs
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


@lowering("Slice")
def lower_slice_by_attributes(b: Builder) -> Sequence[Value]:
    """Slice before opset 10 -> StridedSliceD; all steps are 1."""
    starts, ends = b.optional_integers("starts"), b.optional_integers("ends")
    if starts is None or ends is None:
        raise b.bad(Text("needs starts and ends"), "attribute starts")
    axes = b.optional_integers("axes") or tuple(range(len(starts)))
    return _sliced(b, starts, ends, axes, (1,) * len(starts))


@lowering("Slice", since=10)
def lower_slice_by_inputs(b: Builder) -> Sequence[Value]:
    """Slice -> StridedSliceD; StridedSliceV2 where only the run knows bounds or dims."""
    if any(map(b.is_computed, (1, 2, 3, 4))) or None in b.source(0).required_dims:
        return [_slice_computed(b)]
    starts, ends = b.numbers(1, "starts"), b.numbers(2, "ends")
    if starts is None or ends is None:
        raise b.bad(Text("needs starts and ends"), "input starts")
    axes = b.numbers(3, "axes") or tuple(range(len(starts)))
    steps = b.numbers(4, "steps") or (1,) * len(starts)
    return _sliced(b, starts, ends, axes, steps)


@lowering("Pad")
def lower_pad_by_attributes(b: Builder) -> Sequence[Value]:
    """Pad before opset 11 -> PadV3D."""
    pads = b.optional_integers("pads")
    if pads is None:
        raise b.bad(Text("needs pads, found none"), "attribute pads")
    return _pad(b, pads, b.number("value", 0.0))


@lowering("Pad", since=11)
def lower_pad_by_inputs(b: Builder) -> Sequence[Value]:
    """Pad -> PadV3D; PadV3 where only the run knows the pads. The value must be a constant."""
    if b.is_computed(1):
        return [_pad_computed(b)]
    pads = b.numbers(1, "pads")
    if pads is None:
        raise b.bad(Text("needs pads, found none"), "input pads")
    fill = b.constant_input(2, "constant_value")
    if b.optional_source(3) is not None:
        pads = _spread(b, pads)
    if fill is not None and fill.size != 1:
        text = Text("needs one number to fill with, found {found}")
        raise b.bad(text.with_values(found=fill.size), "input constant_value")
    return _pad(b, pads, 0.0 if fill is None else float(fill.reshape(())))


def _spread(b: Builder, pads: tuple[int, ...]) -> tuple[int, ...]:
    rank = b.source(0).rank
    axes = b.numbers(3, "axes") or ()
    if len(pads) != 2 * len(axes):
        text = Text("needs 2 pads for each of {n} axes, found {found}")
        raise b.bad(text.with_values(n=len(axes), found=len(pads)), "input pads")
    whole = [0] * 2 * rank
    for position, axis in enumerate(b.axis(axis, rank) for axis in axes):
        whole[axis] = pads[position]
        whole[rank + axis] = pads[len(axes) + position]
    return tuple(whole)


def _pad(b: Builder, pads: tuple[int, ...], fill: float) -> Sequence[Value]:
    """Crop what negative pads take away, then add what positive pads ask for."""
    x, mode = b.input(0), b.string("mode", "constant")
    rank = x.type.rank
    _check_pad_mode(b, mode)
    if len(pads) != 2 * rank:
        text = Text("needs {n} pads for rank {rank}, found {found}")
        raise b.bad(text.with_values(n=2 * rank, rank=rank, found=len(pads)), "input pads")
    pairs = list(zip(pads[:rank], pads[rank:], strict=True))
    if min((pad for pair in pairs for pad in pair), default=0) < 0:
        x = _crop(b, x, pairs)
    paddings = tuple(max(pad, 0) for pair in pairs for pad in pair)
    if not any(paddings):
        return [x]
    _check_borders(b, mode, x, pairs)
    attributes: dict[str, AttrValue] = {"paddings": paddings, "constant_values": fill, "mode": mode}
    return [b.op("PadV3D", [x], b.output_type(), attributes)]


def _check_borders(b: Builder, mode: str, x: Value, pairs: list[tuple[int, int]]) -> None:
    """Refuse borders that a mode cannot fill: each element of them mirrors or repeats one of `x`.

    What negative pads take away is gone; it is not mirrored.
    """
    field = "input pads" if b.optional_source(1) is not None else "attribute pads"
    for axis, (dim, pair) in enumerate(zip(x.type.dims, pairs, strict=True)):
        border = max(pair)
        if dim is None or border <= 0:
            continue
        if mode == "reflect" and border >= dim:
            text = Text("mirrors {n} elements of axis {axis}, where at most {most} of {dim} can be")
            raise b.bad(text.with_values(n=border, axis=axis, most=max(dim - 1, 0), dim=dim), field)
        if mode == "edge" and dim == 0:
            text = Text("repeats the edge of axis {axis}, which has no elements")
            raise b.bad(text.with_values(axis=axis), field)


def _crop(b: Builder, x: Value, pairs: list[tuple[int, int]]) -> Value:
    """`x` without the elements that negative (begin, end) pads take away.

    Where only the run knows the dims, they are pads of a node of their own.
    """
    if x.type.is_open:
        taken = [[min(pad, 0) for pad in pair] for pair in pairs]
        pads = [pad for side in zip(*taken, strict=True) for pad in side]
        return _padded(b, x, b.const("crop", np.array(pads, np.int64)), "constant", "cropped")
    kept = [
        range(max(-first, 0), dim - max(-last, 0))
        for dim, (first, last) in zip(x.type.shape, pairs, strict=True)
    ]
    if any(reached.start > reached.stop for reached in kept):
        text = Text("removes more elements than there are: {pairs}")
        raise b.bad(text.with_values(pairs=[list(pair) for pair in pairs]), "pads")
    return _taken(b, x, kept, "cropped")


def _sliced(
    b: Builder,
    starts: tuple[int, ...],
    ends: tuple[int, ...],
    axes: tuple[int, ...],
    steps: tuple[int, ...],
) -> Sequence[Value]:
    if not len(starts) == len(ends) == len(axes) == len(steps):
        counts = [len(numbers) for numbers in (starts, ends, axes, steps)]
        text = Text("needs starts, ends, axes and steps of the same length, found {found}")
        raise b.bad(text.with_values(found=counts), "starts")
    x = b.input(0)
    ranges = [range(dim) for dim in x.type.shape]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step == 0:
            raise b.bad(Text("needs steps other than 0"), "input steps")
        position = b.axis(axis, len(ranges), "input axes")
        ranges[position] = _reached(start, end, step, x.type.shape[position])
    return [_taken(b, x, ranges)]


def _reached(start: int, end: int, step: int, dim: int) -> range:
    """The part that a slice reaches, by ONNX's bounds.

    They are numpy's, but for a start before the front with a negative step, which is the front.
    """
    if not dim:
        return range(0)
    first, last = (0, dim) if step > 0 else (-1, dim - 1)
    start, end = (at + dim if at < 0 else at for at in (start, end))
    return range(min(max(start, 0), last), min(max(end, first), last), step)


@performs("align-ranks")
def _taken(b: Builder, x: Value, ranges: list[range], label: str | None = None) -> Value:
    """The elements of `x` that one range for each axis reaches.

    The target slices no vectors, and the last axis with a step of 1 alone: a vector becomes a
    matrix of one row for it, and the positions of another step are gathered.
    """
    shape = x.type.shape
    ranges = [_least_step(reached) for reached in ranges]
    if ranges == [range(dim) for dim in shape]:
        return x
    *rest, last = ranges
    if last.step == 1 and rest:
        return _strided_slice(b, x, ranges, label)
    if last.step == 1:
        row = _strided_slice(b, b.reshape(x, (1, *shape), "row"), [range(1), last], "sliced")
        return b.reshape(row, (len(last),), label)
    if rest != [range(dim) for dim in shape[:-1]]:
        x = _strided_slice(b, x, [*rest, range(shape[-1])], "rows")
    return _gathered(b, x, last, label)


def _least_step(reached: range) -> range:
    if not reached:
        return range(0)
    return reached if len(reached) > 1 else range(reached.start, reached.start + 1)


@performs("gather-steps")
def _gathered(b: Builder, x: Value, last: range, label: str | None) -> Value:
    shape = (*x.type.shape[:-1], len(last))
    places = b.const("positions", np.array(last, dtype=np.int64))
    type_ = TensorType(x.type.dtype, shape)
    return b.op("GatherV2D", [x, places], type_, {"axis": len(shape) - 1}, label)


def _strided_slice(b: Builder, x: Value, ranges: list[range], label: str | None) -> Value:
    """StridedSliceD with one begin, end and stride for every axis.

    With a negative stride an end of -1 means that the first element is taken.
    """
    attributes: dict[str, AttrValue] = {
        "begin": tuple(reached.start for reached in ranges),
        "end": tuple(reached.stop for reached in ranges),
        "strides": tuple(reached.step for reached in ranges),
    }
    type_ = TensorType(x.type.dtype, tuple(len(reached) for reached in ranges))
    return b.op("StridedSliceD", [x], type_, attributes, label)


@lowering("Split")
def lower_split_by_attribute(b: Builder) -> Sequence[Value]:
    """Split before opset 13 -> SplitVD; without sizes all parts have the same size."""
    return _split(b, b.optional_integers("split"))


@lowering("Split", since=13)
def lower_split_by_input(b: Builder) -> Sequence[Value]:
    return _split(b, b.numbers(1, "split"))


def _split(b: Builder, sizes: tuple[int, ...] | None) -> Sequence[Value]:
    x, count = b.input(0), len(b.node.outputs)
    shape = x.type.dims
    axis = b.axis(b.integer("axis", 0), len(shape))
    if count == 1:
        return [x]
    if sizes is None:
        return _equal_parts(b, x, axis)
    outputs = [
        (
            b.output_name(position),
            TensorType(x.type.dtype, (*shape[:axis], size, *shape[axis + 1 :])),
        )
        for position, size in enumerate(sizes)
    ]
    attributes: dict[str, AttrValue] = {
        "size_splits": sizes,
        "split_dim": axis,
        "num_split": count,
    }
    return b.ops("SplitVD", [x], outputs, attributes)


def _equal_parts(b: Builder, x: Value, axis: int) -> Sequence[Value]:
    """Parts of one size; SplitD where only the run knows it.

    Where the node has num_outputs, the last part may be smaller.
    """
    count, dim = len(b.node.outputs), x.type.dims[axis]
    may_be_uneven = "num_outputs" in b.node.attributes
    if dim is None and may_be_uneven:
        return _split_computed(b, x, axis)
    if dim is None:
        outputs = [(b.output_name(position), x.type) for position in range(count)]
        return b.ops("SplitD", [x], outputs, {"split_dim": axis, "num_split": count})
    part = -(-dim // count)
    last = dim - part * (count - 1)
    if last < 0 or (last != part and not may_be_uneven):
        text = Text("cannot make {count} parts of an axis of {dim}")
        raise b.bad(text.with_values(count=count, dim=dim), "input input")
    return _split(b, (*(part,) * (count - 1), last))


# Numbers that only the run knows -----------------------------------------------------------------

_PAD_MODES = ("constant", "reflect", "edge")

_STARTS, _ENDS, _AXES, _STEPS = 1, 2, 3, 4


def _check_pad_mode(b: Builder, mode: str) -> None:
    """Refuse a mode of Pad that the target does not have."""
    if mode not in _PAD_MODES:
        text = Text("mode must be one of {known}, found {found}")
        raise b.unsupported(
            text.with_values(known=", ".join(_PAD_MODES), found=repr(mode)),
            "attribute mode",
            Text("write the border with Concat, or run this node on the host"),
        )


def _pad_computed(b: Builder) -> Value:
    """PadV3 with the node's own pads: all begins first, then all ends."""
    mode = b.string("mode", "constant")
    _check_pad_mode(b, mode)
    fill = b.constant_input(2, "constant_value")
    if b.optional_source(3) is not None or (fill is not None and fill.any()):
        raise b.unsupported(
            Text("computed pads are supported only for all axes and the value 0"),
            "input pads",
            Text("compute the pads from constants, or run this node on the host"),
        )
    return _padded(b, b.input(0), b.input(1), mode)


def _padded(b: Builder, x: Value, pads: Value, mode: str, label: str | None = None) -> Value:
    result = b.output_type() if label is None else TensorType(x.type.dtype, (None,) * x.type.rank)
    attributes: dict[str, AttrValue] = {"mode": mode, "paddings_contiguous": False}
    return b.op("PadV3", [x, pads], result, attributes, label)


def _slice_computed(b: Builder) -> Value:
    """StridedSliceV2 with the node's own bounds."""
    axes, steps = b.optional_input(_AXES), b.optional_input(_STEPS)
    if axes is None:
        (count,) = b.source(_STARTS).shape
        axes = b.const("axes", np.arange(count, dtype=np.int64))
    if steps is None:
        steps = b.const("steps", np.ones(axes.type.shape, dtype=np.int64))
    starts, ends, axes, steps = (
        b.cast(each, DType.INT64) for each in (b.input(_STARTS), b.input(_ENDS), axes, steps)
    )
    starts = _held_to_front(b, starts, axes)
    return b.op("StridedSliceV2", [b.input(0), starts, ends, axes, steps], b.output_type())


def _held_to_front(b: Builder, starts: Value, axes: Value) -> Value:
    """`starts` of which none is before the front.

    With a negative step ONNX begins at the front then, and numpy's slicing has nothing.
    """
    given = b.optional_source(_STEPS)
    known = None if given is not None and given.const is None else b.numbers(_STEPS, "steps")
    if given is None or (known is not None and min(known, default=1) > 0):
        return starts
    first = b.optional_source(_STARTS)
    if first is not None and first.const is not None:
        begins: NDArray[Any] = first.const.numpy()
        if (begins >= -1).all():
            return starts
    dims = b.op(
        "GatherV2D",
        [b.shape_of(b.input(0)), axes],
        axes.type,
        {"axis": 0, "negative_index_support": True},
        "extents",
    )
    zero = b.const("zero", np.zeros(1, dtype=np.int64))
    front = b.op("Sub", [zero, dims], dims.type, label="front")
    return b.op("Maximum", [starts, front], starts.type, label="starts")


def _split_computed(b: Builder, x: Value, axis: int) -> list[Value]:
    """A StridedSliceV2 for each output: parts of one dim, the last maybe smaller.

    That dim is the axis' divided by the number of parts, rounded up.
    """
    count = len(b.node.outputs)
    axes = b.const("axis", np.array([axis], dtype=np.int64))
    number = b.const("parts", np.array([count], dtype=np.int64))
    rest = b.const("rest", np.array([count - 1], dtype=np.int64))
    step = b.const("step", np.ones(1, dtype=np.int64))
    dim = b.op("GatherV2D", [b.shape_of(x), axes], axes.type, {"axis": 0}, "extent")
    filled = b.op("Add", [dim, rest], axes.type, label="filled")
    part = b.op("RealDiv", [filled, number], axes.type, label="part")
    bounds = [
        b.op(
            "Mul",
            [part, b.const(f"at.{at}", np.array([at], dtype=np.int64))],
            axes.type,
            label=f"bound.{at}",
        )
        for at in range(count + 1)
    ]
    dims = (*x.type.dims[:axis], None, *x.type.dims[axis + 1 :])
    type_ = TensorType(x.type.dtype, dims)
    return [
        b.op("StridedSliceV2", [x, *ends, axes, step], type_, label=b.output_name(position))
        for position, ends in enumerate(pairwise(bounds))
    ]
