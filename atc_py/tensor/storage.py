"""Storage of a tensor: the blocked format of its bytes, and the shape that this gives.

The rules are those of CANN's storage formats; docs/layout.md has them with their sources. The
dims of a tensor keep their meaning, storage says only where its elements are.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Dims, format_shape
from atc_py.text import Text

FRACTAL_ROWS = 16
"""Rows of a fractal, and output channels of a filter block, whatever the dtype."""

FLOAT32_C0 = 8
"""C0 of float32 where a cube that multiplies float32 reads or writes it: 32 bytes."""

_C0 = {DType.INT8: 32, DType.UINT8: 32, DType.INT4: 64}
_DEFAULT_C0 = 16

SMALL_CHANNELS = 4
"""Channels that each tap of a filter in FRACTAL_Z_C04 has, padded with zeros."""

MATRIX_RANK = 2
"""Axes of a matrix, which FRACTAL_NZ cuts into fractals."""

_MOST_GROUPS = 65535
"""Groups that the sub-format of CANN's FRACTAL_Z has room for."""

_IMAGE_RANK, _VOLUME_RANK = 4, 5
_GROUPED = (Format.FRACTAL_Z, Format.C1HWNCOC0, Format.FRACTAL_Z_3D)
_FRACTALS = (Format.FRACTAL_Z, Format.FRACTAL_Z_3D)


class ImpossibleStorageError(ValueError):
    """A tensor of that type cannot have that storage; the text says why."""

    def __init__(self, reason: Text) -> None:
        super().__init__(reason)


class Storage(msgspec.Struct, frozen=True):
    """Layout of a tensor's elements in memory, where it is not row by row."""

    format: Format  # a blocked format, one of `BLOCKED_FORMATS`
    groups: int = 1  # of the convolution that reads it, for a filter; 1 for all else
    # elements of the innermost block, where they are not those that the dtype has; else 0
    c0: int = 0

    def __str__(self) -> str:
        parts = [str(self.groups)] if self.groups != 1 else []
        parts += [f"C0={self.c0}"] if self.c0 else []
        return f"{self.format.value}({','.join(parts)})" if parts else self.format.value


class GroupBlocks(NamedTuple):
    """Sharing of the blocks of FRACTAL_Z by the groups of a filter."""

    merged: int  # E, groups on one block diagonal
    blocks: int  # block diagonals that all groups need, G / E rounded up
    channels: int  # C1opt, blocks of input channels of one diagonal
    filters: int  # N1opt, blocks of output channels of one diagonal


def c0_of(dtype: DType) -> int:
    """C0, the elements of `dtype` in the innermost block: the cube's depth for it.

    16 unless said otherwise: 32 for int8 and uint8, 64 for int4. It is 16 for float32 too, by
    the platform's configuration, although 32 bytes hold 8 of them; a storage may say 8.
    """
    return _C0.get(dtype, _DEFAULT_C0)


def depth_of(storage: Storage | None, dtype: DType) -> int:
    """C0 of a tensor in `storage`: the storage's own, else that of the dtype."""
    return c0_of(dtype) if storage is None or not storage.c0 else storage.c0


def blocks_of(length: int, size: int) -> int:
    """Blocks of `size` that hold `length` elements, the last one perhaps padded."""
    return -(-length // size)


def group_blocks(groups: int, channels: int, filters: int, c0: int) -> GroupBlocks:
    """The block diagonals of a filter with `channels` and `filters` per group.

    E = min(lcm(lcm(cin, C0) / cin, lcm(cout, 16) / cout), G), C1opt = E cin / C0 and
    N1opt = E cout / 16, both rounded up.
    """
    fill = math.lcm(
        math.lcm(channels, c0) // max(channels, 1),
        math.lcm(filters, FRACTAL_ROWS) // max(filters, 1),
    )
    merged = min(max(fill, 1), groups)
    return GroupBlocks(
        merged,
        blocks_of(groups, merged),
        blocks_of(merged * channels, c0),
        blocks_of(merged * filters, FRACTAL_ROWS),
    )


def why_impossible(dims: Dims, origin: Format, storage: Storage) -> Text | None:
    """The reason why a tensor of `dims` in `origin` cannot be stored in `storage`, or None.

    Open dims are taken to be ones that fit.
    """
    rule = _RULES.get(storage.format)
    if rule is None:
        known = ", ".join(form.value for form in BLOCKED_FORMATS)
        text = Text("storage must be one of {known}, found {found}")
        return text.with_values(known=known, found=storage.format.value)
    reason = _refuse_numbers(storage)
    if reason is not None:
        return reason
    axes = _RANKS.get(origin)
    if axes is not None and len(dims) != axes:
        text = Text("{format} has {n} axes, found {found}")
        return text.with_values(format=origin.value, n=axes, found=format_shape(dims))
    return rule.refuse(dims, origin, storage)


def stored_shape(dims: Dims, origin: Format, storage: Storage | None, dtype: DType) -> Dims:
    """The shape of the array that holds a tensor, padding included, outermost first.

    An open dim leaves open what depends on it; storage None is row by row, which is `dims`. What
    `why_impossible` has a reason against is an ImpossibleStorageError.
    """
    return dims if storage is None else _blocked_shape(dims, origin, storage, dtype)


@lru_cache(maxsize=4096)
def _blocked_shape(dims: Dims, origin: Format, storage: Storage, dtype: DType) -> Dims:
    """`stored_shape` in blocks; tensors of a model are alike, and each is asked often."""
    reason = why_impossible(dims, origin, storage)
    if reason is not None:
        raise ImpossibleStorageError(reason)
    return _RULES[storage.format].shape(dims, origin, storage, depth_of(storage, dtype))


def is_stored_like_rows(dims: Dims, storage: Storage | None, dtype: DType) -> bool:
    """True if a tensor has the same bytes in `storage` as row by row.

    So do NC1HWC0 and NDC1HWC0 of one pixel an image and whole blocks of channels, and FRACTAL_NZ of
    whole fractals one below the other. `dims` are in the order of NCHW or NCDHW; a tensor that
    cannot have `storage` at all has no such bytes.
    """
    if storage is None:
        return True
    c0 = depth_of(storage, dtype)
    if len(dims) == _MAP_RANKS.get(storage.format):
        channels = dims[1]
        return set(dims[2:]) == {1} and channels is not None and channels % c0 == 0
    if storage.format is Format.FRACTAL_NZ and len(dims) >= MATRIX_RANK:
        height, width = dims[-MATRIX_RANK:]
        return width == c0 and height is not None and height % FRACTAL_ROWS == 0
    return False


def shows_same_bytes(
    before: tuple[Dims, Storage | None], after: tuple[Dims, Storage | None], dtype: DType
) -> bool:
    """True if the second type shows the first's bytes with elements in order.

    Between tensors stored row by row any view does; stacks of equal matrices in FRACTAL_NZ may be
    stacked otherwise.

    Each type is a shape and a storage; both have as many elements.
    """
    if all(is_stored_like_rows(dims, storage, dtype) for dims, storage in (before, after)):
        return True
    same = before[1] == after[1] is not None
    if not same or before[1] is None or before[1].format is not Format.FRACTAL_NZ:
        return same and before[0] == after[0]
    return before[0][-MATRIX_RANK:] == after[0][-MATRIX_RANK:]


def _ceil(length: int | None, size: int) -> int | None:
    """`blocks_of`, or None for a dim that only the run knows."""
    return None if length is None else blocks_of(length, size)


def _product(lengths: Sequence[int | None]) -> int | None:
    """The product as far as it is known: of an open dim and a zero it is zero."""
    known = math.prod(length for length in lengths if length is not None)
    return known if known == 0 or None not in lengths else None


def _as_nchw(dims: Dims, origin: Format) -> Dims:
    if origin is Format.NHWC:
        batch, height, width, channels = dims
        return batch, channels, height, width
    return dims


def _feature_map(dims: Dims, origin: Format, _storage: Storage, c0: int) -> Dims:
    """NC1HWC0: [N, C / C0, H, W, C0]."""
    batch, channels, height, width = _as_nchw(dims, origin)
    return batch, _ceil(channels, c0), height, width, c0


def _volume(dims: Dims, _origin: Format, _storage: Storage, c0: int) -> Dims:
    """NDC1HWC0: [N, D, C / C0, H, W, C0]."""
    batch, channels, depth, height, width = dims
    return batch, depth, _ceil(channels, c0), height, width, c0


def _fractal_z(dims: Dims, origin: Format, storage: Storage, c0: int) -> Dims:
    """FRACTAL_Z: [C1 H W, N/16, 16, C0] of a filter, [K/C0, N/16, 16, C0] of K x N.

    FRACTAL_Z_3D is [D C1 H W, N/16, 16, C0]; groups come first in both.
    """
    if len(dims) == MATRIX_RANK:
        return _ceil(dims[0], c0), _ceil(dims[1], FRACTAL_ROWS), FRACTAL_ROWS, c0
    outputs, channels, *window = _as_nchw(dims, origin)
    if storage.groups == 1:
        outer = [_ceil(channels, c0), *window]
        return _product(outer), _ceil(outputs, FRACTAL_ROWS), FRACTAL_ROWS, c0
    if outputs is None or channels is None:
        return None, None, FRACTAL_ROWS, c0
    blocks = group_blocks(storage.groups, channels, outputs // storage.groups, c0)
    outer = [blocks.blocks, blocks.channels, *window]
    return _product(outer), blocks.filters, FRACTAL_ROWS, c0


def _fractal_nz(dims: Dims, _origin: Format, _storage: Storage, c0: int) -> Dims:
    """FRACTAL_NZ: [..., W / C0, H / 16, 16, C0] of [..., H, W]."""
    *outer, height, width = dims
    return (*outer, _ceil(width, c0), _ceil(height, FRACTAL_ROWS), FRACTAL_ROWS, c0)


def _depthwise(dims: Dims, _origin: Format, storage: Storage, c0: int) -> Dims:
    """C1HWNCoC0: [C / C0, H, W, N / C, C0, C0] of a filter [N, 1, H, W] of C groups."""
    outputs, _, height, width = dims
    multiplier = None if outputs is None else outputs // storage.groups
    return _ceil(storage.groups, c0), height, width, multiplier, c0, c0


def _fractal_z_c04(dims: Dims, origin: Format, _storage: Storage, c0: int) -> Dims:
    """FRACTAL_Z_C04: [4 H W / C0, N/16, 16, C0]."""
    outputs, _, height, width = _as_nchw(dims, origin)
    depth = _product([SMALL_CHANNELS, height, width])
    return _ceil(depth, c0), _ceil(outputs, FRACTAL_ROWS), FRACTAL_ROWS, c0


def _refuse_fractal_z_c04(dims: Dims, origin: Format, _storage: Storage) -> Text | None:
    if origin not in {Format.NCHW, Format.NHWC}:
        return _found(Text("FRACTAL_Z_C04 is for filters in NCHW or NHWC"), dims, origin)
    channels = _as_nchw(dims, origin)[1]
    if channels is None or channels <= SMALL_CHANNELS:
        return None
    text = Text("FRACTAL_Z_C04 has at most {most} channels, found {found}")
    return text.with_values(most=SMALL_CHANNELS, found=channels)


def _refuse_numbers(storage: Storage) -> Text | None:
    """Refuse groups and C0 that no storage has."""
    if storage.groups < 1:
        return Text("groups of a storage must be at least 1, found {found}", found=storage.groups)
    if storage.format in _FRACTALS and storage.groups > _MOST_GROUPS:
        text = Text("groups of {format} must be at most {most}, found {found}")
        values = {"format": storage.format.value, "most": _MOST_GROUPS, "found": storage.groups}
        return text.with_values(**values)
    if storage.c0 not in {0, FLOAT32_C0}:
        text = Text("C0 of a storage must be {c0} or that of the dtype, found {found}")
        return text.with_values(c0=FLOAT32_C0, found=storage.c0)
    if storage.groups > 1 and storage.format not in _GROUPED:
        text = Text("{format} has no groups, found {found}")
        return text.with_values(format=storage.format.value, found=storage.groups)
    return None


def _refuse_feature_map(dims: Dims, origin: Format, _storage: Storage) -> Text | None:
    if origin in {Format.NCHW, Format.NHWC}:
        return None
    return _found(Text("NC1HWC0 is for NCHW or NHWC"), dims, origin)


def _refuse_fractal_z(dims: Dims, origin: Format, storage: Storage) -> Text | None:
    """Refuse all but filters whose groups are equal, and matrices."""
    if origin is Format.ND and len(dims) == MATRIX_RANK:
        if storage.groups == 1:
            return None
        return Text("FRACTAL_Z of a matrix has no groups, found {found}", found=storage.groups)
    if origin not in {Format.NCHW, Format.NHWC}:
        text = Text("FRACTAL_Z is for filters in NCHW or NHWC and for matrices in ND")
        return _found(text, dims, origin)
    return _refuse_outputs(dims[0], storage.groups)


def _refuse_volume(dims: Dims, origin: Format, storage: Storage) -> Text | None:
    """Refuse all but volumes, and filters of them whose groups are equal."""
    if origin is not Format.NCDHW:
        return _found(Text("{format} is for NCDHW", format=storage.format.value), dims, origin)
    return _refuse_outputs(dims[0], storage.groups)


def _refuse_fractal_nz(dims: Dims, origin: Format, _storage: Storage) -> Text | None:
    if origin in BLOCKED_FORMATS or len(dims) < MATRIX_RANK:
        text = Text("FRACTAL_NZ is for row-by-row tensors of at least 2 axes")
        return _found(text, dims, origin)
    return None


def _refuse_depthwise(dims: Dims, origin: Format, storage: Storage) -> Text | None:
    """Refuse all but filters with one input channel for each group."""
    if origin is not Format.NCHW or dims[1] not in {1, None}:
        text = Text("C1HWNCoC0 is for filters in NCHW with one input channel a group")
        return _found(text, dims, origin)
    return _refuse_outputs(dims[0], storage.groups)


def _refuse_outputs(outputs: int | None, groups: int) -> Text | None:
    """Refuse output channels that do not divide among the groups."""
    if outputs is None or outputs % groups == 0:
        return None
    text = Text("{outputs} output channels do not divide into {groups} groups")
    return text.with_values(outputs=outputs, groups=groups)


def _found(rule: Text, dims: Dims, origin: Format) -> Text:
    found = Text(", found {format} of {shape}", format=origin.value, shape=format_shape(dims))
    return rule + found


class _Rule(NamedTuple):
    """Requirements of a blocked format on a tensor, and the shape that it gives."""

    refuse: Callable[[Dims, Format, Storage], Text | None]
    shape: Callable[[Dims, Format, Storage, int], Dims]


_RULES = {
    Format.NC1HWC0: _Rule(_refuse_feature_map, _feature_map),
    Format.FRACTAL_Z: _Rule(_refuse_fractal_z, _fractal_z),
    Format.FRACTAL_NZ: _Rule(_refuse_fractal_nz, _fractal_nz),
    Format.C1HWNCOC0: _Rule(_refuse_depthwise, _depthwise),
    Format.FRACTAL_Z_C04: _Rule(_refuse_fractal_z_c04, _fractal_z_c04),
    Format.NDC1HWC0: _Rule(_refuse_volume, _volume),
    Format.FRACTAL_Z_3D: _Rule(_refuse_volume, _fractal_z),
}

BLOCKED_FORMATS = tuple(_RULES)
"""Formats that say how a tensor is stored, in the order of `Format`."""

_RANKS = {Format.NCHW: _IMAGE_RANK, Format.NHWC: _IMAGE_RANK, Format.NCDHW: _VOLUME_RANK}
_MAP_RANKS = {Format.NC1HWC0: _IMAGE_RANK, Format.NDC1HWC0: _VOLUME_RANK}
