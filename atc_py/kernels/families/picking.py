"""Elements picked, placed or marked by index."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.box_tiling import number
from atc_py.kernels.boxes import dense
from atc_py.kernels.family import Buffer, Family, InputSample, KernelFacts, Launch, Plan, queues
from atc_py.kernels.tiling import (
    BLOCK,
    DEPTH,
    DealtTiling,
    ElementFootprint,
    Tiling,
    dealt_tiling,
    extended,
    narrow,
    numbers,
    rounded_up,
    vector_cores,
    wide,
)
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


class PlaceTiling(Tiling):
    """Rows of the result, each core's own; updates are written where they belong to a core."""

    rows: int = wide("rows of the result")
    inner: int = wide("elements of a row")
    core_num: int = narrow("cores that have work")
    core_rows: int = wide("rows of every core but the last")
    chunk_length: int = narrow("elements that are moved at once, whole blocks")
    count: int = wide("updates")
    length: int = wide("indices of an update")
    reached: tuple[int, ...] = numbers("extents of the axes that indices reach into", pad=1)
    steps: tuple[int, ...] = numbers("rows from index to index along these axes", pad=0)


class _Places(Family):
    """Rows of a tensor that are replaced."""

    name = template = "place"
    operators = frozenset({"TensorScatterUpdate"})

    def plan(self, launch: Launch) -> Plan:
        """Assign rows to cores in ranges, so that the order of a row's updates is kept."""
        x, indices = launch.inputs[:2]
        itemsize = launch.kernel.outputs[0].dtype.itemsize
        length = indices[-1]
        reached = x[:length]
        rows, inner = prod(reached), prod(x[length:])
        core_rows = max(1, -(-rows // vector_cores(launch.soc)))
        per_block = BLOCK // itemsize
        room = launch.soc.ub_kib * 1024 // DEPTH // itemsize
        chunk = max(1, min(room // per_block, -(-core_rows * inner // per_block))) * per_block
        tiling = PlaceTiling(
            rows=rows,
            inner=inner,
            core_num=max(1, -(-rows // core_rows)),
            core_rows=core_rows,
            chunk_length=chunk,
            count=prod(indices[:-1]),
            length=length,
            reached=reached,
            steps=dense(reached),
        )
        through = Buffer("through", "ub", DEPTH * chunk * itemsize)
        return Plan(tiling, tiling.core_num, (through,), launch.moved)

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw tuples of indices into x, counted from both ends; some of them meet."""
        x, indices = sample.shapes[:2]
        if sample.position != 1 or x is None or indices is None:
            return None
        high = np.maximum(np.array(x[: indices[-1]], np.int64), 1)
        return generator.integers(-high, high, indices)


_BEYOND = 2
"""How far drawn indices reach beyond the axis, where they mark nothing."""


class MarkTiling(DealtTiling):
    """The elements of the result, cut into tiles."""

    depth: int = wide("extent of the new axis")
    inner: int = wide("indices behind the new axis")


class _OneHot(Family):
    """One value where a new axis runs over an index, another elsewhere."""

    name = template = "mark"
    operators = frozenset({"OneHot", "OneHotD"})

    def plan(self, launch: Launch) -> Plan:
        x, result, port = launch.inputs[0], launch.outputs[0], launch.kernel.outputs[0]
        footprint = ElementFootprint.of([port.dtype])
        axis = number(launch.kernel.attributes["axis"]) % len(result)
        tiling = extended(
            MarkTiling,
            dealt_tiling(prod(result), footprint, launch.soc),
            depth=result[axis],
            inner=prod(x[axis:]),
        )
        buffers = queues((port,), tiling.tile_length)
        return Plan(tiling, tiling.core_num, buffers, launch.moved)

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw indices of the new axis, from both ends, and some beyond it."""
        if sample.position != 0:
            return None
        reach = number(sample.attributes.get("depth", 1)) + _BEYOND
        return generator.integers(-reach, reach, sample.shapes[0])


class GatherTiling(DealtTiling):
    """The elements of the result, cut into tiles; indices are counted row by row of the last axis."""

    axis_length: int = wide("elements along the axis that indices reach into")
    axis_step: int = wide("elements from one to the next along that axis")
    length: int = wide("indices of a row")
    step: int = wide("elements from index to index of a row, 0 where the axis is the last")
    row_dims: tuple[int, ...] = numbers("dims of the axes of rows", pad=1)
    row_steps: tuple[int, ...] = numbers("elements from row to row along them", pad=0)


class ScatterTiling(GatherTiling):
    """The elements of the result, cut into tiles, and the updates that are put into them."""

    rows: int = wide("rows of updates")
    chunk_length: int = narrow("updates that are loaded at once, whole blocks")


def _axis(attributes: Mapping[str, Any], rank: int) -> int:
    return number(attributes.get("dim", attributes.get("axis"))) % rank


def _tiling(launch: Launch, footprint: ElementFootprint) -> GatherTiling:
    """Cut the result as one range of elements; places are those of the first input."""
    data, indices = launch.inputs[:2]
    axis = _axis(launch.kernel.attributes, len(data))
    steps = [0 if at == axis else step for at, step in enumerate(dense(data))]
    return extended(
        GatherTiling,
        dealt_tiling(prod(launch.outputs[0]), footprint, launch.soc),
        axis_length=data[axis],
        axis_step=dense(data)[axis],
        length=indices[-1],
        step=steps[-1],
        row_dims=indices[:-1],
        row_steps=tuple(steps[:-1]),
    )


class _Elements(Family):
    """Elements of a tensor, one for each index."""

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw indices of the axis from both ends; some of them meet."""
        data, indices = sample.shapes[:2]
        if sample.position != 1 or data is None or indices is None:
            return None
        length = max(data[_axis(sample.attributes, len(data))], 1)
        return generator.integers(-length, length, indices)


class _Gather(_Elements):
    """Elements of a tensor that are picked."""

    name = template = "gather"
    operators = frozenset({"GatherElements"})

    def plan(self, launch: Launch) -> Plan:
        kernel = launch.kernel
        ports = (kernel.inputs[1], kernel.outputs[0])
        tiling = _tiling(launch, ElementFootprint.of([port.dtype for port in ports]))
        buffers = queues(ports, tiling.tile_length)
        written = prod(launch.outputs[0]) * ports[1].dtype.itemsize
        read = written + prod(launch.inputs[1]) * ports[0].dtype.itemsize
        return Plan(tiling, tiling.core_num, buffers, (read, written))


class _Scatter(_Elements):
    """Elements of a tensor that are replaced."""

    name = template = "scatter"
    operators = frozenset({"ScatterElements"})

    def plan(self, launch: Launch) -> Plan:
        """Cut the result; each tile of it looks through the updates, chunk by chunk."""
        ports, indices = launch.kernel.inputs[:3], launch.inputs[1]
        footprint = ElementFootprint.of([port.dtype for port in ports])
        base = _tiling(launch, footprint)
        # updates of a row, in whole blocks
        updates = rounded_up(indices[-1], footprint.align)
        chunk = max(footprint.align, min(updates, footprint.capacity(launch.soc)))
        tiling = extended(ScatterTiling, base, rows=prod(indices[:-1]), chunk_length=chunk)
        lengths = (base.tile_length, chunk, chunk)
        buffers = tuple(
            Buffer(name, "ub", DEPTH * length * port.dtype.itemsize)
            for name, length, port in zip(
                ("tile", "indicesQueue", "updatesQueue"), lengths, ports, strict=True
            )
        )
        return Plan(tiling, tiling.core_num, buffers, launch.moved)


FAMILIES = (_Picks(), _OneHot(), _Places(), _Gather(), _Scatter())
