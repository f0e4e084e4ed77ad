"""Nodes that cut, split or pad by numbers that only the run knows."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.ir import AttrValue, TensorType, Value
from atc_py.lowering.builder import Builder
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_PAD_MODES = ("constant", "reflect", "edge")

_STARTS, _ENDS, _AXES, _STEPS = 1, 2, 3, 4


def check_pad_mode(b: Builder, mode: str) -> None:
    """Refuse a mode of Pad that the target does not have."""
    if mode not in _PAD_MODES:
        text = Text("mode must be one of {known}, found {found}")
        raise b.unsupported(
            text.with_values(known=", ".join(_PAD_MODES), found=repr(mode)),
            "attribute mode",
            Text("write the border with Concat, or run this node on the host"),
        )


def pad_computed(b: Builder) -> Value:
    """PadV3 with the node's own pads: all begins first, then all ends."""
    mode = b.string("mode", "constant")
    check_pad_mode(b, mode)
    fill = b.constant_input(2, "constant_value")
    if b.optional_source(3) is not None or (fill is not None and fill.any()):
        raise b.unsupported(
            Text("computed pads are supported only for all axes and the value 0"),
            "input pads",
            Text("compute the pads from constants, or run this node on the host"),
        )
    return _padded(b, b.input(0), b.input(1), mode)


def crop(b: Builder, x: Value, pads: Sequence[int]) -> Value:
    """PadV3 of `x`, dims of which are open, with pads all of which take elements away."""
    return _padded(b, x, b.const("crop", np.array(pads, dtype=np.int64)), "constant", "cropped")


def _padded(b: Builder, x: Value, pads: Value, mode: str, label: str | None = None) -> Value:
    result = b.output_type() if label is None else TensorType(x.type.dtype, (None,) * x.type.rank)
    attributes: dict[str, AttrValue] = {"mode": mode, "paddings_contiguous": False}
    return b.op("PadV3", [x, pads], result, attributes, label)


def slice_computed(b: Builder) -> Value:
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


def split_computed(b: Builder, x: Value, axis: int) -> list[Value]:
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
