"""Feature maps resized: elements taken from, or interpolated between, places along each axis."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from atc_py.device.ort.axes import dims_of
from atc_py.device.ort.body import Body, emulates
from atc_py.device.ort.carriers import CHOSEN, carried, carrier_of
from atc_py.device.ort.sampling import LateAxis, SampledAxis
from atc_py.tensor.dtypes import DType
from atc_py.tensor.resampling import RESIZES_TO_SIZE, resize_modes

Axis: TypeAlias = SampledAxis | LateAxis


_ROI, _SCALES, _SIZES = 1, 2, 3
"""Positions of what a Resize reads."""

_IMAGE_AXES = 2
"""Axes before rows and columns, which keep their dims where a size is given."""

_REPEATED = frozenset({DType.FLOAT32, DType.INT8, DType.INT32, DType.UINT8})
"""Dtypes that a runtime's Resize takes."""


@emulates("ResizeBilinearV2", moves=True)
@emulates("ResizeNearestNeighborV2", moves=True)
@emulates("Resize", moves=True)
def resize(body: Body) -> str:
    """Write axes in turn, the last first: elements taken, or `(1 - w) * left + w * right`.

    Where they are, and the weights, are worked out here: runtimes round coordinates differently.
    """
    node = body.node
    dims = node.outputs[0].dims
    if 0 in dims and None not in dims:
        shape = body.ints(*(dim or 0 for dim in dims))
        return body.cast(body.add("ConstantOfShape", shape), node.dtype())
    axes = _axes(body)
    if not axes:
        return body.add("Identity", body.own())
    resized = _interpolated if _modes(body)["mode"] == "linear" else _taken
    value = resized(body, axes)
    return _extrapolated(body, value, axes) if _mode(body) == _CROPS else value


_CROPS = "tf_crop_and_resize"
"""The mode in which only the part of x that roi gives is resized."""


def _modes(body: Body) -> Mapping[str, Any]:
    return resize_modes(body.node.op, body.node.attributes)


def _mode(body: Body) -> str:
    return str(_modes(body)["coordinate_transformation_mode"])


# Axes ------------------------------------------------------------------------------------------


def _axes(body: Body) -> list[Axis]:
    crops = _mode(body) == _CROPS
    to_size = body.node.op in RESIZES_TO_SIZE
    numbers = range(_IMAGE_AXES if to_size else 0, body.node.rank())
    found = (_axis(body, number) for number in numbers)
    return [axis for axis in [*found][::-1] if crops or axis.scale is None or axis.scale != 1]


def _axis(body: Body, number: int) -> Axis:
    """An axis, worked out here where its dims and what of it is taken are known."""
    node, crops = body.node, _mode(body) == _CROPS
    length = node.required(0).dims[number]
    scale = np.float32(node.data(_SCALES)[number]) if node.has(_SCALES) else None
    size = None if scale is not None else _size(body, number)
    roi = node.constant(_ROI) if crops else None
    if length is None or (crops and roi is None):
        late = _late_roi(body, number) if crops else None
        return LateAxis(body, number, dims_of(body)[number], size, scale, late)
    made = int(np.float32(length) * scale) if scale is not None else size or 0
    ratio = np.float32(made) / np.float32(max(length, 1)) if scale is None else scale
    ends = (0.0, 1.0) if roi is None else (float(roi[number]), float(roi[node.rank() + number]))
    return SampledAxis(number, length, made, ratio, ends)


def _size(body: Body, number: int) -> int:
    node = body.node
    to_size = node.op in RESIZES_TO_SIZE
    return int(node.data(1)[number - _IMAGE_AXES] if to_size else node.data(_SIZES)[number])


def _late_roi(body: Body, number: int) -> tuple[str, str]:
    """The first and the last place to take of an axis, as float32 scalars."""
    roi = body.cast(body.own(_ROI), DType.FLOAT32)
    first, last = (
        body.add("Gather", roi, body.const(at, DType.INT64))
        for at in (number, body.node.rank() + number)
    )
    return first, last


# Elements --------------------------------------------------------------------------------------


def _taken(body: Body, axes: Sequence[Axis]) -> str:
    repeats = [_repeats(body, axis) for axis in axes]
    dtype = body.node.dtype()
    if all(repeats) and carrier_of(dtype, _REPEATED) in _REPEATED:
        scales = np.ones(body.node.rank(), np.float32)
        scales[[axis.number for axis in axes]] = repeats
        return carried(body, body.own(), dtype, _REPEATED, lambda x: _repeated(body, x, scales))
    value, nearest = body.own(), str(_modes(body)["nearest_mode"])
    for axis in axes:
        if isinstance(axis, LateAxis):
            places = axis.nearest(_mode(body), nearest)
        else:
            places = body.const(axis.nearest(_mode(body), nearest), DType.INT64)
        value = body.add("Gather", value, places, axis=axis.number)
    return value


def _repeats(body: Body, axis: Axis) -> int:
    """Repeats of each element of an axis, one after the other; 0 where they differ."""
    nearest = str(_modes(body)["nearest_mode"])
    if isinstance(axis, LateAxis):
        known = (_mode(body), nearest) == ("asymmetric", "floor") and axis.scale is not None
        return int(axis.scale or 0) if known and axis.scale == int(axis.scale or 0) else 0
    times = axis.resized // axis.length
    wanted = np.arange(axis.length * times) // max(times, 1)
    return times if np.array_equal(axis.nearest(_mode(body), nearest), wanted) else 0


def _repeated(body: Body, value: str, scales: np.ndarray) -> str:
    """Each element as often as `scales` says; runtimes are faster at that than at picking."""
    return body.add(
        "Resize",
        value,
        "",
        body.const(scales),
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


def _interpolated(body: Body, axes: Sequence[Axis]) -> str:
    """Results between two elements; fractions of integers are dropped."""
    dtype = body.node.dtype()
    computed = dtype if dtype is DType.FLOAT64 else DType.FLOAT32
    value = body.own() if dtype is computed else body.cast(body.own(), computed)
    for axis in axes:
        first, second, *weights = _between(body, axis, computed)
        parts = [
            body.add("Mul", body.add("Gather", value, places, axis=axis.number), weight)
            for places, weight in zip((first, second), weights, strict=True)
        ]
        value = body.add("Add", *parts)
    if dtype.is_integer:
        return _truncated(body, value)
    return value if dtype is computed else body.cast(value, dtype)


def _between(body: Body, axis: Axis, dtype: DType) -> tuple[str, str, str, str]:
    """The two elements between which each result is, and the weights of both."""
    column = (-1, *(1,) * (body.node.rank() - axis.number - 1))
    if isinstance(axis, LateAxis):
        left, right, part = axis.between(_mode(body))
        weight = body.add("Reshape", body.cast(part, dtype), body.ints(*column))
        return left, right, body.add("Sub", body.const(1.0, dtype), weight), weight
    first, second, shares = axis.between(_mode(body))
    share = shares.astype(dtype.numpy).reshape(column)
    left, right = (body.const(each, DType.INT64) for each in (first, second))
    return left, right, body.const(1 - share, dtype), body.const(share, dtype)


def _truncated(body: Body, value: str) -> str:
    """Float32 numbers as integers, those that rounded to beyond the largest as that one."""
    dtype = body.node.dtype()
    largest = np.iinfo(dtype.numpy).max
    if dtype not in {DType.INT32, DType.INT64}:  # narrow ones are exact in float32
        return body.cast(body.cast(value, DType.INT32), dtype)
    beyond = body.add("GreaterOrEqual", value, body.const(np.float32(float(largest) + 1.0)))
    held = body.add("Where", beyond, body.const(np.float32(0)), value)
    return body.add("Where", beyond, body.const(largest, dtype), body.cast(held, dtype))


def _extrapolated(body: Body, value: str, axes: Sequence[Axis]) -> str:
    node, dtype = body.node, body.node.dtype()
    carrier = carrier_of(dtype, CHOSEN)
    number = np.asarray(node.number("extrapolation_value")).astype(dtype.numpy)
    beyond = body.const(number.astype(carrier.numpy), carrier)
    mask = ""
    for axis in axes:
        column = [-1, *(1,) * (node.rank() - axis.number - 1)]
        if isinstance(axis, LateAxis):
            outside = body.add("Reshape", axis.outside(_CROPS), body.ints(*column))
        elif axis.outside(_CROPS).any():
            outside = body.const(axis.outside(_CROPS).reshape(column), DType.BOOL)
        else:
            continue
        mask = body.add("Or", mask, outside) if mask else outside
    if not mask:
        return value
    return carried(body, value, dtype, CHOSEN, lambda x: body.add("Where", mask, beyond, x))
