"""Feature maps: blocks moved between channels and space, and resizing.

Resizing follows ONNX: every axis has coordinates in x for its results, from which elements are
taken or between which they are interpolated, one axis after the other. Coordinates are worked out
in float32, as onnxruntime does, so that rounding decides the same way where two elements are
equally near.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.kernel import Call, Rounding, kernel
from atc_py.device.sim.numerics.rounding import is_rounded
from atc_py.device.sim.primitives.blocks import Copies, moving
from atc_py.device.sim.typing_rules import require_number, require_rank
from atc_py.package.node_view import NodeError, NodeView, TensorFacts
from atc_py.tensor.resampling import resize_modes
from atc_py.text import Text

Places = NDArray[Any]  # float32: numpy's stubs widen scalars


_MAP_RANK = 4

# Blocks ----------------------------------------------------------------------------------------

_DEPTH_AXES = {"DCR": (0, 3, 4, 1, 5, 2), "CRD": (0, 1, 4, 2, 5, 3)}
"""Order of the axes N, (block, block, C) or (C, block, block), H, W in the result, by mode."""


def _block_size(node: NodeView) -> int:
    require_rank(node.x, _MAP_RANK, "x")
    node.expect("data_format", "NCHW")
    block = node.integer("block_size")
    if block < 1:
        raise NodeError(Text("block_size must be at least 1, found {found}", found=block))
    return block


def _depth_to_space_types(node: NodeView) -> tuple[TensorFacts, ...]:
    block, mode = _block_size(node), node.text("mode")
    images, channels, height, width = node.x.shape
    if mode not in _DEPTH_AXES:
        raise NodeError(Text("mode must be DCR or CRD, found {found}", found=repr(mode)))
    if channels % block**2:
        text = Text("{channels} channels cannot form blocks of {block} x {block}")
        raise NodeError(text.with_values(channels=channels, block=block))
    shape = (images, channels // block**2, height * block, width * block)
    return (TensorFacts(node.x.dtype, shape),)


@moving("DepthToSpace", _depth_to_space_types)
def depth_to_space(call: Call) -> Copies:
    """Move channels to blocks; DCR: (i * block + j) * C + c is c at (i, j); CRD: c comes first."""
    images, channels, height, width = call.x.shape
    block, mode = call.node.integer("block_size"), call.node.text("mode")
    depth = channels // block**2
    split = (block, block, depth) if mode == "DCR" else (depth, block, block)
    blocks = call.x.reshape(images, *split, height, width).transpose(_DEPTH_AXES[mode])
    return [(call.out.reshape(images, depth, height, block, width, block), blocks)]


def _space_to_depth_types(node: NodeView) -> tuple[TensorFacts, ...]:
    block = _block_size(node)
    images, channels, height, width = node.x.shape
    if height % block or width % block:
        raise NodeError(
            Text("{h} x {w} cannot form blocks of {b} x {b}", h=height, w=width, b=block)
        )
    shape = (images, channels * block**2, height // block, width // block)
    return (TensorFacts(node.x.dtype, shape),)


@moving("SpaceToDepth", _space_to_depth_types)
def space_to_depth(call: Call) -> Copies:
    """Channel (i * block + j) * C + c is element (i, j) of the blocks of channel c."""
    images, channels, height, width = call.x.shape
    block = call.node.integer("block_size")
    rows, columns = height // block, width // block
    blocks = call.x.reshape(images, channels, rows, block, columns, block)
    target = call.out.reshape(images, block, block, channels, rows, columns)
    return [(target, blocks.transpose(0, 3, 5, 1, 2, 4))]


# Resizing --------------------------------------------------------------------------------------


class _Axis(NamedTuple):
    """One axis to resize: dims before and after, their ratio, and the part of x to take."""

    length: int
    resized: int
    scale: np.float32
    start: float
    end: float


def _half_pixel(axis: _Axis, places: Places) -> Places:
    """Take elements as intervals of length 1, and a coordinate as the middle of one."""
    at: Places = (places + np.float32(0.5)) / axis.scale - np.float32(0.5)
    return at


def _align_corners(axis: _Axis, places: Places) -> Places:
    """Positions that map the first element to the first and the last to the last."""
    at: Places = places * np.float32(axis.length - 1) / np.float32(max(axis.resized - 1, 1))
    return at


def _tf_crop_and_resize(axis: _Axis, places: Places) -> Places:
    """Positions like align_corners, in x from start to end, as shares of its length."""
    start, end, last = np.float32(axis.start), np.float32(axis.end), np.float32(axis.length - 1)
    if axis.resized == 1:
        return np.full_like(places, np.float32(0.5) * (start + end) * last)
    at: Places = start * last + places * (end - start) * last / np.float32(axis.resized - 1)
    return at


_COORDINATES: Mapping[str, Callable[[_Axis, Places], Places]] = {
    "align_corners": _align_corners,
    "asymmetric": lambda axis, places: places / axis.scale,
    "half_pixel": _half_pixel,
    "pytorch_half_pixel": lambda axis, places: (
        _half_pixel(axis, places) if axis.resized > 1 else np.zeros_like(places)
    ),
    "tf_crop_and_resize": _tf_crop_and_resize,
    "tf_half_pixel_for_nn": lambda axis, places: (places + np.float32(0.5)) / axis.scale,
}
"""Positions in x of the results of an axis, by coordinate_transformation_mode."""

_NEAREST: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "ceil": np.ceil,
    "floor": np.floor,
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
}
"""The element that a coordinate stands for, by nearest_mode."""


def _resize_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_number(node.x)
    for name, known in (
        ("coordinate_transformation_mode", [*_COORDINATES]),
        ("mode", ["linear", "nearest"]),
        ("nearest_mode", [*_NEAREST]),
    ):
        if node.text(name) not in known:
            text = Text("{name} must be {known}, found {node}")
            raise NodeError(
                text.with_values(name=name, known=", ".join(known), node=repr(node.text(name)))
            )
    scales, sizes = node.input(2), node.input(3)
    if (scales is None) is (sizes is None):
        raise NodeError(Text("either scales or sizes must be given"))
    _check_numbers(node, "scales" if sizes is None else "sizes", 2 if sizes is None else 3)
    if _crops(node) and (node.input(1) is None or node.required(1).shape != (2 * node.x.rank,)):
        text = Text("tf_crop_and_resize needs a roi of {n} numbers")
        raise NodeError(text.with_values(n=2 * node.x.rank))
    shape = tuple(int(np.float32(n) * s) for n, s in zip(node.x.shape, _scales(node), strict=True))
    if sizes is not None:
        shape = tuple(_sizes(node))
    if min(node.x.shape, default=1) == 0 and 0 not in shape:
        raise NodeError(Text("{x} has nothing to fill {shape} with", x=node.x, shape=list(shape)))
    return (TensorFacts(node.x.dtype, shape),)


def _check_numbers(node: NodeView, name: str, position: int) -> None:
    numbers = node.numbers.get(position)
    if numbers is None or numbers.shape != (node.x.rank,):
        text = Text("{name} must be a constant with {rank} numbers")
        raise NodeError(text.with_values(name=name, rank=node.x.rank))
    least = 0 if name == "sizes" else np.nextafter(np.float32(0), np.float32(1))
    if not (np.isfinite(numbers).all() and (numbers >= least).all()):
        text = Text("{name} must be positive, found {found}")
        raise NodeError(text.with_values(name=name, found=numbers.tolist()))


def _size_types(node: NodeView) -> tuple[TensorFacts, ...]:
    require_number(node.x)
    require_rank(node.x, _MAP_RANK, "x")
    size = node.integers_of(1, "size")
    if len(size) != len("HW") or min(size) < 1:
        raise NodeError(Text("size must be two positive numbers, found {found}", found=[*size]))
    if node.flag("align_corners") and node.flag("half_pixel_centers"):
        raise NodeError(Text("align_corners and half_pixel_centers must not both be true"))
    shape = (*node.x.shape[:2], *size)
    if 0 in node.x.shape[2:]:
        raise NodeError(Text("{x} has nothing to fill {shape} with", x=node.x, shape=list(shape)))
    return (TensorFacts(node.x.dtype, shape),)


def _crops(node: NodeView) -> bool:
    modes = resize_modes(node.op, node.attributes)
    return bool(modes["coordinate_transformation_mode"] == "tf_crop_and_resize")


def _scales(node: NodeView) -> list[np.float32]:
    if node.op == "Resize" and 2 in node.numbers:  # noqa: PLR2004  (the position of scales)
        return [np.float32(scale) for scale in node.numbers[2]]
    pairs = zip(_sizes(node), node.x.shape, strict=True)
    return [np.float32(size) / np.float32(max(dim, 1)) for size, dim in pairs]


def _sizes(node: NodeView) -> Sequence[int]:
    if node.op == "Resize":
        return [int(size) for size in node.numbers[3]]
    return (*node.x.shape[:2], *(int(size) for size in node.numbers[1]))


_INTERPOLATED = 12
"""Bytes of numpy's arrays for an element that is interpolated."""


@kernel("ResizeBilinearV2", _size_types, rounding=Rounding.ON_GRID)
@kernel("ResizeNearestNeighborV2", _size_types, rounding=Rounding.ON_GRID)
@kernel("Resize", _resize_types, rounding=Rounding.ON_GRID)
def resize(call: Call) -> None:
    """Resize axes in turn, the last first, while little is moved; round once where linear.

    What is outside x under tf_crop_and_resize is set at the end, on the grid of the dtype. Integers
    are interpolated in float32 and their fractions dropped, as in onnxruntime; they saturate.
    """
    node, result, modes = call.node, call.x, resize_modes(call.node.op, call.node.attributes)
    crops, linear = _crops(node), modes["mode"] == "linear"
    call.require_scratch((_INTERPOLATED if linear else 4) * (result.size + call.out.size))
    if linear and node.x.dtype.is_integer:
        result = result.astype(np.float32)
    coordinates = _COORDINATES[modes["coordinate_transformation_mode"]]
    outside: list[tuple[int, NDArray[np.bool_]]] = []
    axes = [(at, axis) for at, axis in enumerate(_axes(call)) if axis.scale != 1 or crops]
    for number, axis in reversed(axes):
        at = coordinates(axis, np.arange(axis.resized, dtype=np.float32)).astype(np.float64)
        if crops:
            outside.append((number, (at < 0) | (at > axis.length - 1)))
        if linear:
            result = _interpolated(result, number, at.clip(0, axis.length - 1))
        else:
            nearest = _NEAREST[modes["nearest_mode"]](at).clip(0, axis.length - 1)
            last = call.out if number == axes[0][0] else None
            result = result.take(nearest.astype(np.intp), axis=number, out=last, mode="clip")
    if result is not call.out:
        _store(result, call.out)
    for number, beyond in outside:
        call.out[(slice(None),) * number + (beyond,)] = node.number("extrapolation_value")
    if (linear or outside) and is_rounded(node.x.dtype):
        call.rounding(call.out, node.x.dtype)()


def _store(values: NDArray[Any], out: NDArray[Any]) -> None:
    """Put results into `out`; those that round to beyond the largest integer become it."""
    if out.dtype.kind == "f":
        np.copyto(out, values)
        return
    largest = np.iinfo(out.dtype).max
    with np.errstate(invalid="ignore"):
        np.copyto(out, values, casting="unsafe")
    np.copyto(out, largest, where=values >= float(largest) + 1.0)


def _axes(call: Call) -> list[_Axis]:
    rank = call.x.ndim
    given = call.optional(1) if _crops(call.node) else None
    roi = [0.0] * rank + [1.0] * rank if given is None else given.tolist()
    return [
        _Axis(length, resized, scale, roi[axis], roi[rank + axis])
        for axis, (length, resized, scale) in enumerate(
            zip(call.x.shape, call.out.shape, _scales(call.node), strict=True)
        )
    ]


def _interpolated(x: NDArray[Any], axis: int, at: NDArray[np.float64]) -> NDArray[Any]:
    """`x` at coordinates inside it along one axis: `(1 - w) * left + w * right`.

    Where w is 0 both are the element itself, half of each: 0 times an infinite neighbor is NaN.
    """
    left = np.floor(at)
    weight, first = at - left, left.astype(np.intp)
    second = np.where(weight == 0, first, np.minimum(first + 1, x.shape[axis] - 1))
    share = np.where(weight == 0, 0.5, weight).astype(x.dtype)
    share = share.reshape((-1,) + (1,) * (x.ndim - axis - 1))
    result: NDArray[Any] = x.take(first, axis=axis) * (1 - share)
    result += x.take(second, axis=axis) * share
    return result
