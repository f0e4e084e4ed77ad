"""How work is cut into tiles: formulas from element counts and SoC figures alone.

Every function takes plain numbers and returns one frozen row; each field's documentation is also
its comment in the kernel's `_tiling.h`. Sizes are elements unless a name says bytes. Four facts
rule them: unified buffer and L1 move blocks of 32 bytes, the cube multiplies fractals of 16 rows
of 32 bytes (512 bytes), it accumulates in four bytes, and a queue is two buffers deep so that
copies run beside arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isqrt
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from atc_py.dtypes import DType
    from atc_py.target import Soc

__all__ = [
    "BLOCK",
    "DEPTH",
    "CubeTiling",
    "Footprint",
    "Product",
    "RowTiling",
    "ShardTiling",
    "Tiling",
    "VectorTiling",
    "cube_tiling",
    "row_tiling",
    "shard_tiling",
    "vector_cores",
    "vector_tiling",
]

BLOCK = 32
"""Bytes that the unified buffer and L1 are addressed and copied by."""

DEPTH = 2
"""Buffers of a queue."""

_SIDE = 16
_FRACTAL = _SIDE * BLOCK
_ACCUMULATOR = 4


def _wide(doc: str) -> Any:
    """A field bounded by a tensor's size: 64 bits in the kernel."""
    return field(metadata={"doc": doc, "ctype": "uint64_t"})


def _narrow(doc: str) -> Any:
    """A field bounded by a buffer or a core count: 32 bits in the kernel."""
    return field(metadata={"doc": doc, "ctype": "uint32_t"})


@dataclass(frozen=True, slots=True)
class VectorTiling:
    """Elementwise work: a flat range of elements, cut over cores, then into tiles."""

    total_length: int = _wide("elements of the result")
    core_num: int = _narrow("cores that have work")
    core_length: int = _wide("elements of every core but the last, whole blocks")
    tile_length: int = _narrow("elements of a tile, whole blocks")
    tile_count: int = _wide("tiles of every core but the last")
    tail_length: int = _narrow("elements of the last tile of such a core")
    last_tile_count: int = _wide("tiles of the last core")
    last_tail_length: int = _narrow("elements of the last core's last tile")


@dataclass(frozen=True, slots=True)
class RowTiling:
    """Work along axes: `outer` rows of `axis` x `inner` elements, cut over cores by rows."""

    outer: int = _wide("rows")
    axis: int = _wide("extent that the operator runs along")
    inner: int = _wide("elements that stand side by side at each step of the axis")
    core_num: int = _narrow("cores that have work")
    core_rows: int = _wide("rows of every core but the last")
    last_core_rows: int = _wide("rows of the last core")
    tile_rows: int = _narrow("rows in the buffer at once; 1 where a row is cut into chunks")
    chunk_length: int = _narrow("elements of a chunk of a row")
    chunk_count: int = _wide("chunks of a row")
    tail_length: int = _narrow("elements of a row's last chunk")
    buffer_length: int = _narrow("elements of one buffer, each row padded to whole blocks")


@dataclass(frozen=True, slots=True)
class CubeTiling:
    """A product of matrices [m, k] x [k, n], `batch` times over, cut into tiles of the result."""

    batch: int = _wide("independent products: batch times groups")
    m: int = _wide("rows of the result")
    n: int = _wide("columns of the result")
    k: int = _wide("extent summed over")
    block_m: int = _narrow("rows of a cube block")
    block_k: int = _narrow("summed extent of a cube block: C0, 32 bytes")
    block_n: int = _narrow("columns of a cube block")
    tile_m: int = _narrow("rows of a tile in L0")
    tile_n: int = _narrow("columns of a tile in L0")
    tile_k: int = _narrow("summed extent of a tile in L0")
    l1_k: int = _narrow("summed extent of a tile in L1, whole tiles of L0")
    m_count: int = _wide("tiles along the rows")
    n_count: int = _wide("tiles along the columns")
    k_count: int = _wide("tiles of L0 along the summed extent")
    l1_count: int = _wide("tiles of L1 along the summed extent")
    tile_count: int = _wide("tiles of the result, all products together")
    core_num: int = _narrow("cores that have work; core c takes tiles c, c + core_num ...")


@dataclass(frozen=True, slots=True)
class ShardTiling:
    """Work of an AI CPU kernel: a flat range of elements, cut into one shard per core."""

    total_length: int = _wide("elements of all results")
    shard_count: int = _narrow("shards that have work")
    shard_length: int = _wide("elements of every shard but the last")


Tiling: TypeAlias = VectorTiling | RowTiling | CubeTiling | ShardTiling


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one element takes of the unified buffer.

    Attributes:
        align: elements in the smallest run that is whole blocks in every operand.
        nbytes: bytes for one element of every buffer together.
    """

    align: int
    nbytes: int

    @classmethod
    def of(cls, queued: Iterable[DType], scratch: int = 0) -> Footprint:
        """The footprint of queues of these dtypes plus `scratch` bytes an element.

        nbytes = DEPTH x sum(itemsize) + scratch; align = 32 / min(itemsize), which is whole
        blocks for wider operands too, since item sizes are powers of two.
        """
        sizes = [dtype.itemsize for dtype in queued]
        return cls(BLOCK // min(sizes), DEPTH * sum(sizes) + scratch)

    def capacity(self, soc: Soc) -> int:
        """Elements that fit in the unified buffer at once, whole blocks and at least one."""
        return max(self.align, soc.ub_kib * 1024 // self.nbytes // self.align * self.align)


@dataclass(frozen=True, slots=True)
class Product:
    """`batch` products of [m, k] x [k, n] with operands of `itemsize` bytes an element."""

    batch: int
    m: int
    n: int
    k: int
    itemsize: int


def vector_tiling(total: int, footprint: Footprint, soc: Soc) -> VectorTiling:
    """Cut `total` elements over cores by whole blocks, then into tiles that fill the buffer.

    cores = min(vector cores, blocks); core_length = ceil(blocks / cores) blocks, after which
    cores without work are dropped; tile_length = min(core_length, capacity).
    """
    blocks = _ceil_div(total, footprint.align)
    cores, core_blocks, _ = _split(blocks, vector_cores(soc))
    core_length = core_blocks * footprint.align
    tile = max(footprint.align, min(core_length, footprint.capacity(soc)))
    count, tail = _cut(core_length if cores > 1 else total, tile)
    last_count, last_tail = _cut(total - (cores - 1) * core_length, tile)
    return VectorTiling(total, cores, core_length, tile, count, tail, last_count, last_tail)


def row_tiling(extents: tuple[int, int, int], footprint: Footprint, soc: Soc) -> RowTiling:
    """Cut (outer, axis, inner) over cores by rows; rows share the buffer or are cut into chunks.

    cores = min(vector cores, outer); a row padded to whole blocks that fits the buffer is one
    chunk, and tile_rows = min(core_rows, capacity / padded row); else chunk_length = capacity.
    """
    outer, axis, inner = extents
    length = axis * inner
    cores, core_rows, last = _split(outer, vector_cores(soc))
    capacity = footprint.capacity(soc)
    chunk = max(1, min(length, capacity))
    padded = _ceil_div(chunk, footprint.align) * footprint.align
    rows = max(1, min(core_rows, capacity // padded)) if length <= capacity else 1
    count, tail = _cut(length, chunk)
    return RowTiling(
        *extents, cores, core_rows, last, rows, chunk, count, tail, buffer_length=rows * padded
    )


def cube_tiling(product: Product, soc: Soc) -> CubeTiling:
    """Cut products into tiles of L0 and L1, in blocks of 16 x 16 x C0 with C0 = 32 / itemsize.

    C0 is 16 for float16, 32 for int8 and 8 for float32: a fractal row is 32 bytes. With b_x the
    blocks of a tile along x: b_m b_n 16 16 4 <= min(L0C, UB); 2 b_m b_k 512 <= L0A and
    2 b_n b_k 512 <= L0B; 2 (b_m + b_n) l1 512 <= L1. The result's tile starts as square as
    L0C allows, then is halved until every core has one, and k takes what is left.
    """
    c0 = BLOCK // product.itemsize
    blocks_k = max(1, _ceil_div(product.k, c0))
    b_m, b_n = _result_blocks(product, soc)
    b_k = min(blocks_k, soc.l0a_kib * 1024 // DEPTH // _FRACTAL // max(b_m, b_n))
    room = soc.l1_kib * 1024 // DEPTH // _FRACTAL // (b_m + b_n)
    steps = max(1, min(_ceil_div(blocks_k, b_k), room // b_k))
    tile_m, tile_n, tile_k = b_m * _SIDE, b_n * _SIDE, b_k * c0
    counts = _ceil_div(product.m, tile_m), _ceil_div(product.n, tile_n)
    tiles = product.batch * counts[0] * counts[1]
    return CubeTiling(
        product.batch, product.m, product.n, product.k,
        _SIDE, c0, _SIDE, tile_m, tile_n, tile_k, tile_k * steps, *counts,
        k_count=_ceil_div(product.k, tile_k),
        l1_count=_ceil_div(product.k, tile_k * steps),
        tile_count=tiles,
        core_num=max(1, min(soc.aicores, tiles)),
    )  # fmt: skip


def shard_tiling(total: int, soc: Soc) -> ShardTiling:
    """Cut `total` elements into one shard per AI CPU core, or one where the count is unknown."""
    count, length, _ = _split(total, max(1, soc.aicpus))
    return ShardTiling(total, count, length)


def _result_blocks(product: Product, soc: Soc) -> tuple[int, int]:
    """Blocks of a tile of the result along m and n."""
    blocks = max(1, _ceil_div(product.m, _SIDE)), max(1, _ceil_div(product.n, _SIDE))
    side = soc.l0a_kib * 1024 // DEPTH // _FRACTAL
    area = min(soc.l0c_kib, soc.ub_kib) * 1024 // (_ACCUMULATOR * _SIDE * _SIDE)
    b_m = min(blocks[0], side, isqrt(area))
    b_n = min(blocks[1], side, area // b_m)
    b_m = min(blocks[0], side, area // b_n)
    while max(b_m, b_n) > 1:
        tiles = product.batch * _ceil_div(blocks[0], b_m) * _ceil_div(blocks[1], b_n)
        if tiles >= soc.aicores:
            break
        b_m, b_n = (b_m, _ceil_div(b_n, 2)) if b_n >= b_m else (_ceil_div(b_m, 2), b_n)
    return b_m, b_n


def vector_cores(soc: Soc) -> int:
    """Cores for vector work: where cube and vector cores are split, there are more of the latter.

    Elsewhere an AI Core holds both and the few extra vector cores only assist.
    """
    return max(soc.aicores, soc.vector_cores)


def _split(units: int, cores: int) -> tuple[int, int, int]:
    """(cores with work, units of each, units of the last); one idle core where units is 0."""
    each = _ceil_div(units, max(1, min(cores, units)))
    used = _ceil_div(units, each) if each else 1
    return used, each, units - (used - 1) * each


def _cut(length: int, tile: int) -> tuple[int, int]:
    """(tiles, elements of the last) of `length` elements; (0, 0) where there are none."""
    count = _ceil_div(length, tile)
    return count, length - (count - 1) * tile if count else 0


def _ceil_div(value: int, by: int) -> int:
    """`value` / `by`, rounded up."""
    return -(-value // by)
