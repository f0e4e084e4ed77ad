"""Slices picked by index: GatherV2D along one axis, GatherNd by tuples of indices."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.box_tiling import number
from atc_py.kernels.boxes import dense
from atc_py.kernels.family import Family, InputSample
from atc_py.kernels.fields import Tiling, narrow, numbers, wide
from atc_py.kernels.plan import Buffer, KernelFacts, Launch, Plan
from atc_py.kernels.tiling import BLOCK, DEPTH, vector_cores
from atc_py.tensor.shapes import Shape

_MOST_RUNS = 4095
"""Runs that one copy takes."""


class _Picked(msgspec.Struct, frozen=True):
    """Rows of x that make the result, in its order."""

    images: int  # how often the picking is repeated, each time in another part of x
    count: int  # rows picked of each image
    inner: int  # elements of a row
    reached: Shape  # dims of the axes that indices reach into
    image_step: int  # elements from image to image in x
    index_step: int  # indices from image to image; 0 where all images have the same


class PickTiling(Tiling):
    """Rows picked out of x, cut into tiles of rows or of one row."""

    core_num: int = narrow("cores that have work; core c takes tiles c, c + core_num ...")
    tile_count: int = wide("tiles of the result")
    rows: int = wide("rows of the result")
    inner: int = wide("elements of a row")
    tile_rows: int = narrow("rows of a tile; 1 where a row is cut into chunks")
    chunk_length: int = narrow("elements of a row in a tile")
    chunk_count: int = wide("chunks of a row")
    pitch: int = narrow("elements from row to row in the buffer, whole blocks")
    count: int = wide("rows picked of each image")
    image_step: int = wide("elements from image to image in x")
    index_step: int = wide("indices from image to image, 0 where all have the same")
    length: int = wide("indices that pick one row")
    reached: tuple[int, ...] = numbers("extents of the axes that indices reach into", pad=1)
    steps: tuple[int, ...] = numbers("elements from index to index along these axes", pad=0)


def _indexed_axes(
    op: str, attributes: Mapping[str, Any], x: Shape, indices: Shape
) -> tuple[int, Shape]:
    """The first axis of x that indices reach into, and the dims of all of them."""
    if op == "GatherV2D":
        axis = number(attributes["axis"]) % len(x)
        return axis, (x[axis],)
    first = number(attributes["batch_dims"])
    return first, x[first : first + indices[-1]]


def _picks(launch: Launch) -> _Picked:
    op, (x, indices) = launch.kernel.op, launch.inputs[:2]
    first, reached = _indexed_axes(op, launch.kernel.attributes, x, indices)
    images, inner = prod(x[:first]), prod(x[first + len(reached) :])
    image_step = prod(reached) * inner
    if op == "GatherV2D":
        return _Picked(images, prod(indices), inner, reached, image_step, 0)
    count = prod(indices[first:-1])
    return _Picked(images, count, inner, reached, image_step, count * len(reached))


def _bytes_read(launch: Launch) -> tuple[int, int]:
    """The bytes read: picked elements and indices, not all of x."""
    indices, result = launch.kernel.inputs[1].dtype, launch.kernel.outputs[0].dtype
    written = prod(launch.outputs[0]) * result.itemsize
    return written + prod(launch.inputs[1]) * indices.itemsize, written


class _Picks(Family):
    """Rows of a tensor picked by index."""

    name = template = "pick"
    operators = frozenset({"GatherNd", "GatherV2D"})

    def plan(self, launch: Launch) -> Plan:
        """Take as many rows as the unified buffer takes and a core has, or chunks of a row."""
        picks, itemsize = _picks(launch), launch.kernel.outputs[0].dtype.itemsize
        rows, cores = picks.images * picks.count, vector_cores(launch.soc)
        per_block = BLOCK // itemsize
        room = launch.soc.ub_kib * 1024 // DEPTH // itemsize // per_block * per_block
        chunk = max(1, min(picks.inner, room))
        pitch = -(-chunk // per_block) * per_block
        chunks = -(-picks.inner // chunk)
        share = max(1, -(-rows // cores))
        tile_rows = max(1, min(share, room // pitch, _MOST_RUNS)) if chunks <= 1 else 1
        tiles = -(-rows // tile_rows) * chunks
        tiling = PickTiling(
            core_num=max(1, min(cores, tiles)),
            tile_count=tiles,
            rows=rows,
            inner=picks.inner,
            tile_rows=tile_rows,
            chunk_length=chunk,
            chunk_count=chunks,
            pitch=pitch,
            count=picks.count,
            image_step=picks.image_step,
            index_step=picks.index_step,
            length=len(picks.reached),
            reached=picks.reached,
            steps=tuple(step * picks.inner for step in dense(picks.reached)),
        )
        size = DEPTH * tile_rows * pitch * itemsize
        return Plan(tiling, tiling.core_num, (Buffer("through", "ub", size),), _bytes_read(launch))

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        return {"negative": bool(kernel.attributes["negative_index_support"])}

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw indices inside their axes, some of them negative where that is allowed."""
        x, indices = sample.shapes[:2]
        if sample.position != 1 or x is None or indices is None:
            return None
        _, reached = _indexed_axes(sample.op, sample.attributes, x, indices)
        high = np.array(reached if sample.op == "GatherNd" else reached[0], np.int64)
        low = -high if sample.attributes["negative_index_support"] else 0 * high
        return generator.integers(low, np.maximum(high, low + 1), indices)


FAMILIES = (_Picks(),)
