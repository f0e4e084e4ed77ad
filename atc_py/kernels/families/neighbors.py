"""Local response normalization: each element divided by what the channels around it hold."""

from math import prod

from atc_py.kernels.family import Buffer, Family, KernelFacts, Launch, Plan
from atc_py.kernels.tiling import BLOCK, DEPTH, Tiling, narrow, vector_cores, wide

_FLOAT = 4
_TENSORS = 3
"""Tensors of float32 beside the queues: an element, a neighbor, the sum."""


class NeighborTiling(Tiling):
    """Rows of images and channels, cut into chunks."""

    core_num: int = narrow("cores that have work; core c takes tiles c, c + core_num ...")
    tile_count: int = wide("tiles of the result")
    tile_length: int = narrow("elements of a tile, whole blocks")
    chunk_count: int = wide("tiles of a row")
    channels: int = wide("channels of an image")
    inner: int = wide("elements of a channel")


class _Neighbors(Family):
    """Elements divided by a power of the squares around them."""

    name = template = "lrn"
    operators = frozenset({"LRN"})

    def plan(self, launch: Launch) -> Plan:
        # Of fewer axes than batch and channels, what there is stands for a batch.
        images, channels, *rest = (*launch.inputs[0], 1, 1)[: max(2, len(launch.inputs[0]))]
        size, inner = launch.kernel.inputs[0].dtype.itemsize, prod(rest)
        per_block = BLOCK // size
        room = launch.soc.ub_kib * 1024 // (2 * DEPTH * size + _TENSORS * _FLOAT)
        length = max(1, min(room // per_block, -(-inner // per_block))) * per_block
        chunks = -(-inner // length)
        tiles = images * channels * chunks
        tiling = NeighborTiling(
            core_num=max(1, min(vector_cores(launch.soc), tiles)),
            tile_count=tiles,
            tile_length=length,
            chunk_count=max(1, chunks),
            channels=channels,
            inner=inner,
        )
        buffers = (
            Buffer("xQueue", "ub", DEPTH * length * size),
            Buffer("yQueue", "ub", DEPTH * length * size),
            *(Buffer(name, "ub", length * _FLOAT) for name in ("middle", "near", "sum")),
        )
        return Plan(tiling, tiling.core_num, buffers, launch.moved)

    def exact(self, kernel: KernelFacts) -> bool:
        return False


FAMILIES = (_Neighbors(),)
