"""Feature maps: blocks moved between channels and space, and resizing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.export.carriers import carried, carrier_of
from atc_py.export.dims import dims_of, over, shaped, times
from atc_py.export.marks import CHOSEN
from atc_py.export.node import NoFormError
from atc_py.export.registry import emulates
from atc_py.export.sampling import ResizedAxis
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.export.body import Body

__all__: list[str] = []

_ROI, _SCALES, _SIZES = 1, 2, 3
"""Positions of what a Resize reads."""

_DEPTH_AXES = {"DCR": (0, 3, 4, 1, 5, 2), "CRD": (0, 1, 4, 2, 5, 3)}
"""Order of the axes N, (block, block, C) or (C, block, block), H, W in the result, by mode."""

_BLOCKS = frozenset({DType.FLOAT32, DType.FLOAT64})
"""Dtypes that a runtime's operators of blocks take."""

_NATIVE = frozenset({DType.FLOAT32, DType.INT8, DType.INT32, DType.UINT8})
"""Dtypes that a runtime's Resize takes."""


# Blocks ----------------------------------------------------------------------------------------


@emulates("DepthToSpace", moves=True)
def depth_to_space(body: Body) -> str:
    """Write channels as blocks; DCR: (i * block + j) * C + c is c at (i, j); CRD: c comes first."""
    block, mode = body.node.integer("block_size"), body.node.text("mode")
    if body.node.dtype() in _BLOCKS:
        return body.add("DepthToSpace", body.own(), blocksize=block, mode=mode)
    images, channels, height, width = dims_of(body)
    depth = over(body, channels, block**2)
    split = (block, block, depth) if mode == "DCR" else (depth, block, block)
    value = shaped(body, body.own(), (images, *split, height, width))
    value = body.add("Transpose", value, perm=_DEPTH_AXES[mode])
    sides = (times(body, height, block), times(body, width, block))
    return shaped(body, value, (images, depth, *sides))


@emulates("SpaceToDepth", moves=True)
def space_to_depth(body: Body) -> str:
    """Write blocks as channels: channel (i * block + j) * C + c is element (i, j) of channel c."""
    block = body.node.integer("block_size")
    if body.node.dtype() in _BLOCKS:
        return body.add("SpaceToDepth", body.own(), blocksize=block)
    images, channels, height, width = dims_of(body)
    rows, columns = over(body, height, block), over(body, width, block)
    value = shaped(body, body.own(), (images, channels, rows, block, columns, block))
    value = body.add("Transpose", value, perm=(0, 3, 5, 1, 2, 4))
    return shaped(body, value, (images, times(body, channels, block**2), rows, columns))


# Resizing --------------------------------------------------------------------------------------


@emulates("Resize", moves=True)
def resize(body: Body) -> str:
    """Write axes in turn, the last first: elements taken, or `(1 - w) * left + w * right`.

    Where they are, and the weights, are constants: runtimes round coordinates differently.
    """
    node = body.node
    if 0 in node.outputs[0].dims:
        return _empty(body)
    axes = _axes(body)
    resized = _interpolated if node.text("mode") == "linear" else _taken
    value = resized(body, axes)
    return _extrapolated(body, value, axes) if _crops(body) else value


def _crops(body: Body) -> bool:
    """Return True if only the part of x that roi gives is resized."""
    return body.node.text("coordinate_transformation_mode") == "tf_crop_and_resize"


def _axes(body: Body) -> list[ResizedAxis]:
    """Return the axes that are resized, the last one first."""
    node, crops = body.node, _crops(body)
    dims, made = node.shape(), node.outputs[0].dims
    if None in made:
        raise NoFormError("the dims of its result are open")
    if node.has(_SCALES):
        scales = [np.float32(scale) for scale in node.numbers(_SCALES)]
    else:
        sizes = node.numbers(_SIZES)
        scales = [
            np.float32(n) / np.float32(max(dim, 1)) for n, dim in zip(sizes, dims, strict=True)
        ]
    rank = node.rank()
    roi = node.numbers(_ROI).tolist() if crops else [0.0] * rank + [1.0] * rank
    found = [
        ResizedAxis(at, dims[at], made[at] or 0, scales[at], (roi[at], roi[rank + at]))
        for at in range(rank)
    ]
    return [axis for axis in reversed(found) if axis.scale != 1 or crops]


def _taken(body: Body, axes: Sequence[ResizedAxis]) -> str:
    """Return the elements nearest to the results."""
    node, mode = body.node, body.node.text("coordinate_transformation_mode")
    places = {axis: axis.nearest(mode, node.text("nearest_mode")) for axis in axes}
    repeats = [1] * node.rank()
    for axis, place in places.items():
        times = axis.resized // axis.length
        if not np.array_equal(place, np.arange(axis.length * times) // max(times, 1)):
            break
        repeats[axis.number] = times
    else:
        return _repeated(body, repeats)
    value = body.own()
    for axis, place in places.items():
        value = body.add("Gather", value, body.const(place, DType.INT64), axis=axis.number)
    return value


def _repeated(body: Body, repeats: Sequence[int]) -> str:
    """Return each element of x as often as `repeats` says; runtimes are fast at that."""
    dtype = body.node.dtype()
    if max(repeats, default=1) == 1:
        return body.add("Identity", body.own())
    carrier = dtype if dtype in _NATIVE else DType.FLOAT32
    if dtype in {DType.FLOAT64, DType.INT16, DType.UINT16, DType.INT64}:
        value = body.own()
        for axis, times in enumerate(repeats):
            if times > 1:
                count = body.node.shape()[axis]
                place = body.const(np.arange(count * times) // times, DType.INT64)
                value = body.add("Gather", value, place, axis=axis)
        return value
    value = body.own() if carrier is dtype else body.cast(body.own(), carrier)
    value = body.add(
        "Resize",
        value,
        "",
        body.const(np.array(repeats, np.float32)),
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    return value if carrier is dtype else body.cast(value, dtype)


def _interpolated(body: Body, axes: Sequence[ResizedAxis]) -> str:
    """Return results between two elements; fractions of integers are dropped."""
    node, dtype = body.node, body.node.dtype()
    computed = dtype if dtype is DType.FLOAT64 else DType.FLOAT32
    value = body.own() if dtype is computed else body.cast(body.own(), computed)
    for axis in axes:
        first, second, share = axis.between(node.text("coordinate_transformation_mode"))
        share = share.astype(computed.numpy).reshape(-1, *(1,) * (node.rank() - axis.number - 1))
        parts = [
            body.add(
                "Mul",
                body.add("Gather", value, body.const(place, DType.INT64), axis=axis.number),
                body.const(weight, computed),
            )
            for place, weight in ((first, 1 - share), (second, share))
        ]
        value = body.add("Add", *parts)
    if not axes:
        return body.add("Identity", body.own())
    if dtype.is_integer:
        return _truncated(body, value)
    return value if dtype is computed else body.cast(value, dtype)


def _truncated(body: Body, value: str) -> str:
    """Return float32 numbers as integers, those that rounded to beyond the largest as that one."""
    dtype = body.node.dtype()
    largest = np.iinfo(dtype.numpy).max
    if dtype not in {DType.INT32, DType.INT64}:  # narrow ones are exact in float32
        return body.cast(body.cast(value, DType.INT32), dtype)
    beyond = body.add("GreaterOrEqual", value, body.const(np.float32(float(largest) + 1.0)))
    held = body.add("Where", beyond, body.const(np.float32(0)), value)
    return body.add("Where", beyond, body.const(largest, dtype), body.cast(held, dtype))


def _extrapolated(body: Body, value: str, axes: Sequence[ResizedAxis]) -> str:
    """Return results of which those outside x have a given value."""
    node, dtype = body.node, body.node.dtype()
    outside = np.zeros([1] * node.rank(), np.bool_)
    for axis in axes:
        shape = [1] * node.rank()
        shape[axis.number] = axis.resized
        outside = outside | axis.outside("tf_crop_and_resize").reshape(shape)
    if not outside.any():
        return value
    beyond = np.asarray(node.number("extrapolation_value")).astype(dtype.numpy)
    carrier = carrier_of(dtype, CHOSEN)
    constant = body.const(beyond.astype(carrier.numpy), carrier)
    mask = body.const(outside, DType.BOOL)
    return carried(body, value, dtype, CHOSEN, lambda x: body.add("Where", mask, constant, x))


def _empty(body: Body) -> str:
    """Return a result without elements."""
    dims = body.node.outputs[0].dims
    if None in dims:
        raise NoFormError("the dims of its result are open")
    shape = body.ints(*(dim or 0 for dim in dims))
    return body.cast(body.add("ConstantOfShape", shape), body.node.dtype())
