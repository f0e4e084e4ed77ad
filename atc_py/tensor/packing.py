"""Packing: the elements of a tensor in the order of its storage, padded with zeros, and back.

Nothing is computed: bits move, of any dtype, also those that numpy itself does not know. What each
order is, element by element, stands in docs/layout.md; here they are reshapes, transpositions and
copies of whole arrays.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape, closed_shape
from atc_py.tensor.storage import (
    FRACTAL_ROWS,
    MATRIX_RANK,
    SMALL_CHANNELS,
    Storage,
    blocks_of,
    depth_of,
    group_blocks,
    stored_shape,
)

Array = NDArray[Any]


_TO_NCHW, _TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)


def pack(array: NDArray[Any], origin: Format, storage: Storage | None) -> NDArray[Any]:
    """`array`, its axes in the order of `origin`, in `storage`: C-ordered, of the stored shape.

    A tensor that cannot be stored so is an ImpossibleStorageError; None leaves it row by row.
    """
    dtype = DType.from_numpy(array.dtype)
    shape = closed_shape(stored_shape(array.shape, origin, storage, dtype))
    if storage is None:
        return np.ascontiguousarray(array).reshape(shape)
    if _is_nhwc_map(origin, storage):
        array = array.transpose(_TO_NCHW)
    packer, _ = _ORDERS[_order_row(storage, array.ndim)]
    packed = packer(array, storage, depth_of(storage, dtype))
    return np.ascontiguousarray(packed).reshape(shape)


def unpack(
    packed: NDArray[Any], shape: Shape, origin: Format, storage: Storage | None
) -> NDArray[Any]:
    """The tensor of `shape` in `origin` that `pack` packed into `storage`, as a new array.

    Elements may come in any shape with the right number of them; padding is not looked at.
    """
    dtype = DType.from_numpy(packed.dtype)
    stored = closed_shape(stored_shape(shape, origin, storage, dtype))
    packed = packed.reshape(stored)
    return np.array(packed) if storage is None else unpack_stored(packed, shape, origin, storage)


def unpack_stored(stored: Array, shape: Shape, origin: Format, storage: Storage) -> Array:
    """As `unpack`, of an array in its stored dims, whose blocks are taken as they are.

    Dims that do not go together are a ValueError or IndexError.
    """
    is_nhwc = _is_nhwc_map(origin, storage)
    logical = tuple(shape[axis] for axis in _TO_NCHW) if is_nhwc else shape
    _, unpacker = _ORDERS[_order_row(storage, len(shape))]
    array = unpacker(stored, logical, storage)
    return np.array(array.transpose(_TO_NHWC) if is_nhwc else array, order="C")


def _is_nhwc_map(origin: Format, storage: Storage) -> bool:
    """True if channels come last in a tensor whose storage tells the axes apart."""
    return origin is Format.NHWC and storage.format is not Format.FRACTAL_NZ


def _order_row(storage: Storage, rank: int) -> str:
    if storage.format is not Format.FRACTAL_Z:
        name: str = storage.format.value
        return name
    if rank == MATRIX_RANK:
        return "matrix"
    return "filter" if storage.groups == 1 else "grouped filter"


def _zero_padded(array: Array, shape: Shape) -> Array:
    """`array` with zeros after its end along each axis, up to `shape`."""
    if array.shape == shape:
        return array
    result = np.zeros(shape, array.dtype)
    result[tuple(slice(dim) for dim in array.shape)] = array
    return result


def _cropped(array: Array, shape: Shape) -> Array:
    return array[tuple(slice(dim) for dim in shape)]


def _pack_map(x: Array, _storage: Storage, c0: int) -> Array:
    """[N, C, H, W] as [N, C1, H, W, C0]."""
    batch, channels, height, width = x.shape
    c1 = blocks_of(channels, c0)
    blocked = _zero_padded(x, (batch, c1 * c0, height, width)).reshape(batch, c1, c0, height, width)
    ordered: Array = blocked.transpose(0, 1, 3, 4, 2)
    return ordered


def _unpack_map(packed: Array, shape: Shape, _storage: Storage) -> Array:
    batch, c1, height, width, c0 = packed.shape
    return _cropped(packed.transpose(0, 1, 4, 2, 3).reshape(batch, c1 * c0, height, width), shape)


def _pack_volume(x: Array, storage: Storage, c0: int) -> Array:
    """[N, C, D, H, W] as [N, D, C1, H, W, C0]: a map for each slice."""
    batch, channels, depth, height, width = x.shape
    slices = x.swapaxes(1, 2).reshape(batch * depth, channels, height, width)
    return _pack_map(slices, storage, c0)


def _unpack_volume(packed: Array, shape: Shape, storage: Storage) -> Array:
    batch, channels, depth, height, width = shape
    maps = packed.reshape(batch * depth, *packed.shape[2:])
    slices = _unpack_map(maps, (batch * depth, channels, height, width), storage)
    volume: Array = slices.reshape(batch, depth, channels, height, width).swapaxes(1, 2)
    return volume


def _pack_matrix(x: Array, _storage: Storage, c0: int) -> Array:
    """[K, N] as [K1, N1, 16, C0]."""
    k1, n1 = blocks_of(x.shape[0], c0), blocks_of(x.shape[1], FRACTAL_ROWS)
    blocked = _zero_padded(x, (k1 * c0, n1 * FRACTAL_ROWS)).reshape(k1, c0, n1, FRACTAL_ROWS)
    ordered: Array = blocked.transpose(0, 2, 3, 1)
    return ordered


def _unpack_matrix(packed: Array, shape: Shape, _storage: Storage) -> Array:
    k1, n1, rows, c0 = packed.shape
    return _cropped(packed.transpose(0, 3, 1, 2).reshape(k1 * c0, n1 * rows), shape)


def _pack_diagonals(x: Array, c0: int) -> Array:
    """[blocks, outputs, inputs, H, W] as [blocks, C1, H, W, N1, 16, C0]."""
    blocks, outputs, inputs, height, width = x.shape
    n1, c1 = blocks_of(outputs, FRACTAL_ROWS), blocks_of(inputs, c0)
    padded = _zero_padded(x, (blocks, n1 * FRACTAL_ROWS, c1 * c0, height, width))
    blocked = padded.reshape(blocks, n1, FRACTAL_ROWS, c1, c0, height, width)
    ordered: Array = blocked.transpose(0, 3, 5, 6, 1, 2, 4)
    return ordered


def _unpack_diagonals(packed: Array, shape: Shape) -> Array:
    blocks, _, inputs, height, width = shape
    n1, rows, c0 = packed.shape[-3:]
    c1 = blocks_of(inputs, c0)
    blocked = packed.reshape(blocks, c1, height, width, n1, rows, c0)
    ordered = blocked.transpose(0, 4, 5, 1, 6, 2, 3)
    return _cropped(ordered.reshape(blocks, n1 * rows, c1 * c0, height, width), shape)


def _pack_filter(x: Array, _storage: Storage, c0: int) -> Array:
    """[N, C, H, W] as [C1, H, W, N1, 16, C0]."""
    return _pack_diagonals(x[None], c0)


def _unpack_filter(packed: Array, shape: Shape, _storage: Storage) -> Array:
    (array,) = _unpack_diagonals(packed, (1, *shape))
    return np.asarray(array)


def _pack_grouped(x: Array, storage: Storage, c0: int) -> Array:
    """[G cout, cin, H, W] on block diagonals of E groups each."""
    return _pack_diagonals(_diagonals(x, storage, c0), c0)


def _unpack_grouped(packed: Array, shape: Shape, storage: Storage) -> Array:
    sides = _sides(shape, storage, packed.shape[-1])
    return _groups_of(_unpack_diagonals(packed, sides), shape, storage, packed.shape[-1])


def _pack_deep_filter(x: Array, storage: Storage, c0: int) -> Array:
    """[G cout, cin, D, H, W] as [diagonals, D, C1, H, W, N1, 16, C0]."""
    square = np.moveaxis(_diagonals(x, storage, c0), 3, 1)
    blocks, depth, *rest = square.shape
    return _pack_diagonals(square.reshape(blocks * depth, *rest), c0)


def _unpack_deep_filter(packed: Array, shape: Shape, storage: Storage) -> Array:
    c0 = packed.shape[-1]
    blocks, outputs, inputs, depth, *window = _sides(shape, storage, c0)
    square = _unpack_diagonals(packed, (blocks * depth, outputs, inputs, *window))
    square = square.reshape(blocks, depth, outputs, inputs, *window)
    return _groups_of(np.moveaxis(square, 1, 3), shape, storage, c0)


def _sides(shape: Shape, storage: Storage, c0: int) -> Shape:
    """[blocks, outputs, inputs, ...] of the block diagonals of a filter."""
    channels, filters = shape[1], shape[0] // storage.groups
    merged, blocks, _, _ = group_blocks(storage.groups, channels, filters, c0)
    return (blocks, merged * filters, merged * channels, *shape[2:])


def _diagonals(x: Array, storage: Storage, c0: int) -> Array:
    """The groups of a filter on block diagonals of the shape `_sides`."""
    groups, (channels, *window) = storage.groups, x.shape[1:]
    filters = x.shape[0] // groups
    merged, blocks, _, _ = group_blocks(groups, channels, filters, c0)
    split = x.reshape(groups, filters, channels, *window)
    whole = _zero_padded(split, (blocks * merged, *split.shape[1:]))
    whole = whole.reshape(blocks, merged, filters, channels, *window)
    square = np.zeros((blocks, merged, filters, merged, channels, *window), x.dtype)
    each = np.arange(merged)
    square[:, each, :, each] = whole.swapaxes(0, 1)
    return square.reshape(_sides(x.shape, storage, c0))


def _groups_of(square: Array, shape: Shape, storage: Storage, c0: int) -> Array:
    groups, (outputs, channels, *window) = storage.groups, shape
    filters = outputs // groups
    merged, blocks, _, _ = group_blocks(groups, channels, filters, c0)
    square = square.reshape(blocks, merged, filters, merged, channels, *window)
    each = np.arange(merged)
    whole = square[:, each, :, each].swapaxes(0, 1)
    split = whole.reshape(blocks * merged, filters, channels, *window)
    return _cropped(split, (groups, *split.shape[1:])).reshape(shape)


def _pack_nz(x: Array, _storage: Storage, c0: int) -> Array:
    """[..., H, W] as [..., W1, H1, 16, C0]."""
    *outer, height, width = x.shape
    h1, w1 = blocks_of(height, FRACTAL_ROWS), blocks_of(width, c0)
    padded = _zero_padded(x, (*outer, h1 * FRACTAL_ROWS, w1 * c0))
    blocked = padded.reshape(*outer, h1, FRACTAL_ROWS, w1, c0)
    return np.moveaxis(blocked, -2, -4)


def _unpack_nz(packed: Array, shape: Shape, _storage: Storage) -> Array:
    *outer, w1, h1, rows, c0 = packed.shape
    return _cropped(np.moveaxis(packed, -4, -2).reshape(*outer, h1 * rows, w1 * c0), shape)


def _pack_depthwise(x: Array, storage: Storage, c0: int) -> Array:
    """[C m, 1, H, W] as [C1, H, W, m, C0, C0], channels on the diagonal."""
    channels, (height, width) = storage.groups, x.shape[2:]
    multiplier = x.shape[0] // channels
    c1 = blocks_of(channels, c0)
    split = x.reshape(channels, multiplier, height, width)
    blocked = _zero_padded(split, (c1 * c0, *split.shape[1:])).reshape(c1, c0, *split.shape[1:])
    square = np.zeros((c1, height, width, multiplier, c0, c0), x.dtype)
    each = np.arange(c0)
    square[..., each, each] = blocked.transpose(0, 3, 4, 2, 1)
    return square


def _unpack_depthwise(packed: Array, shape: Shape, storage: Storage) -> Array:
    c1, height, width, multiplier, c0, _ = packed.shape
    each = np.arange(c0)
    blocked = packed[..., each, each].transpose(0, 4, 3, 1, 2)
    split = blocked.reshape(c1 * c0, multiplier, height, width)
    return _cropped(split, (storage.groups, *split.shape[1:])).reshape(shape)


def _pack_small(x: Array, storage: Storage, c0: int) -> Array:
    """[N, C, H, W] as [K1, N1, 16, C0], k counting the four channels of each tap."""
    outputs, _, height, width = x.shape
    padded = _zero_padded(x, (outputs, SMALL_CHANNELS, height, width))
    rows = padded.transpose(2, 3, 1, 0).reshape(SMALL_CHANNELS * height * width, outputs)
    return _pack_matrix(rows, storage, c0)


def _unpack_small(packed: Array, shape: Shape, storage: Storage) -> Array:
    outputs, channels, height, width = shape
    rows = _unpack_matrix(packed, (SMALL_CHANNELS * height * width, outputs), storage)
    taps = rows.reshape(height, width, SMALL_CHANNELS, outputs)
    filters: Array = taps[:, :, :channels].transpose(3, 2, 0, 1)
    return filters


_ORDERS: dict[
    str,
    tuple[Callable[[Array, Storage, int], Array], Callable[[Array, Shape, Storage], Array]],
] = {
    Format.NC1HWC0.value: (_pack_map, _unpack_map),
    Format.FRACTAL_NZ.value: (_pack_nz, _unpack_nz),
    Format.C1HWNCOC0.value: (_pack_depthwise, _unpack_depthwise),
    Format.FRACTAL_Z_C04.value: (_pack_small, _unpack_small),
    Format.NDC1HWC0.value: (_pack_volume, _unpack_volume),
    Format.FRACTAL_Z_3D.value: (_pack_deep_filter, _unpack_deep_filter),
    "matrix": (_pack_matrix, _unpack_matrix),
    "filter": (_pack_filter, _unpack_filter),
    "grouped filter": (_pack_grouped, _unpack_grouped),
}
"""How to pack and unpack, by blocked format; FRACTAL_Z has three."""
