"""Lowering of operators on feature maps: blocks of channels and space, resizing."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.ir import AttrValue, TensorType, Value
from atc_py.lowering.builder import Builder, lowering
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

_MODES = ("nearest", "linear")
_CROP = "tf_crop_and_resize"


@lowering("GridSample", since=16)
def lower_grid_sample(b: Builder) -> Sequence[Value]:
    """Lower GridSample to GridSampler2D; x and grid of two dtypes meet in float32."""
    x, grid, result = b.input(0), b.input(1), b.output_type()
    attributes: dict[str, AttrValue] = {
        "interpolation_mode": b.string("mode", "bilinear"),
        "padding_mode": b.string("padding_mode", "zeros"),
        "align_corners": b.flag("align_corners"),
    }
    if x.type.dtype is grid.type.dtype:
        return [b.op("GridSampler2D", [x, grid], result, attributes)]
    wide = [b.cast(each, DType.FLOAT32) for each in (x, grid)]
    type_ = result.with_dtype(DType.FLOAT32)
    label = None if result.dtype is DType.FLOAT32 else "sampled"
    sampled = b.op("GridSampler2D", wide, type_, attributes, label)
    return [b.cast(sampled, result.dtype, b.output_name(0))]


@lowering("Resize")
def lower_resize_by_scales(b: Builder) -> Sequence[Value]:
    """Resize before opset 11 -> Resize with asymmetric coordinates.

    ONNX leaves open which element is nearest there. onnxruntime rounds down on axes that grow and
    up on axes that shrink, so a node that has both becomes two.
    """
    scales = _numbers(b, 1, "scales")
    if scales is None:
        raise b.bad(Text("needs scales, found none"), "input scales")
    mode = _mode(b)
    attributes: dict[str, AttrValue] = {
        "mode": mode,
        "coordinate_transformation_mode": "asymmetric",
    }
    x, result = b.input(0), b.output_type()
    if mode == "linear":
        return [_resize(b, x, result.shape, scales, attributes)]
    for rounding, chosen in (("ceil", scales < 1), ("floor", scales > 1)):
        if chosen.any():
            shape = tuple(
                new if taken else old
                for taken, new, old in zip(chosen, result.shape, x.type.shape, strict=True)
            )
            step = {**attributes, "nearest_mode": rounding}
            x = _resize(b, x, shape, np.where(chosen, scales, np.ones_like(scales)), step)
    return [x]


@lowering("Resize", since=11)
def lower_resize(b: Builder) -> Sequence[Value]:
    """Lower Resize to Resize; scales must be constants, sizes may be computed; one is empty or absent."""
    result, scales = b.output_type(), _numbers(b, 2, "scales")
    sizes = b.input(3) if b.is_computed(3) else _const(b, "sizes", _numbers(b, 3, "sizes"))
    if (scales is None) is (sizes is None):
        raise b.bad(Text("needs either scales or sizes"), "input scales")
    coordinates = b.string("coordinate_transformation_mode", "half_pixel")
    attributes: dict[str, AttrValue] = {
        "mode": _mode(b),
        "coordinate_transformation_mode": coordinates,
        "nearest_mode": b.string("nearest_mode", "round_prefer_floor"),
        "exclude_outside": b.integer("exclude_outside", 0),
        "extrapolation_value": b.number("extrapolation_value", 0.0),
    }
    roi = _roi(b) if coordinates == _CROP else None
    inputs = [
        b.input(0),
        roi,
        _const(b, "scales", scales),
        *([] if sizes is None else [sizes]),
    ]
    return [b.op("Resize", inputs, result, attributes)]


def _const(b: Builder, name: str, numbers: npt.NDArray[Any] | None) -> Value | None:
    return None if numbers is None else b.const(name, numbers)


def _resize(
    b: Builder,
    x: Value,
    shape: Shape,
    scales: npt.NDArray[Any],
    attributes: dict[str, AttrValue],
) -> Value:
    inputs = [x, None, b.const("scales", scales)]
    return b.op("Resize", inputs, TensorType(x.type.dtype, shape), attributes)


def _mode(b: Builder) -> str:
    mode = b.string("mode", "nearest")
    if mode not in _MODES:
        raise b.unsupported(
            Text(
                "mode must be {known}, found {found}", known=" or ".join(_MODES), found=repr(mode)
            ),
            "attribute mode",
            Text("resize with mode linear, or run this node on the host"),
        )
    return mode


def _numbers(b: Builder, position: int, name: str) -> npt.NDArray[Any] | None:
    if b.optional_source(position) is None or b.source(position).shape == (0,):
        return None
    numbers = b.constant_input(position, name)
    rank = b.source(0).rank
    if numbers is not None and numbers.shape != (rank,):
        raise b.bad(
            Text("needs {n} {name}, found {found}", n=rank, name=name, found=numbers.size),
            Text("input {at}", at=name),
        )
    return numbers


def _roi(b: Builder) -> Value:
    count = 2 * b.source(0).rank
    roi = b.optional_source(1)
    if roi is None or roi.shape != (count,):
        found = Text("none") if roi is None else Text("shape {dims}", dims=list(roi.shape))
        text = Text("needs a roi of {count} numbers for {crop}, found {found}")
        raise b.bad(text.with_values(count=count, crop=_CROP, found=found), "input roi")
    return b.cast(b.input(1), DType.FLOAT32)
