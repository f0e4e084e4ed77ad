"""Convolutions as products: windows unrolled tap by tap, images and groups as the batch.

m are the result channels of a group, k the channels and taps of a window, n the positions of the
result's map, slice by slice. A tile's columns are whole rows of the map of one slice or a part of
one row, so that what a tap sees of a channel is a rectangle.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, cast

from atc_py.kernels.cube import (
    ACCUMULATOR,
    BIAS,
    DEEP,
    DEPTHWISE,
    TRANSPOSED,
    ConvGeometry,
    ConvolutionFamily,
    CubeProduct,
    DepthTiling,
    MapTiling,
    ProductTiling,
    Sides,
    TileBounds,
    Walk,
    channel_buffers,
    link_buffers,
    operands_of,
    optional_input,
    product_buffers,
    product_tiling,
    sides_of,
    square_of,
    tile_bytes,
    walk_of,
    whole,
)
from atc_py.kernels.families.each import each_facts, each_plan
from atc_py.kernels.family import Buffer, KernelFacts, Launch, Plan
from atc_py.kernels.tiling import BLOCK, DEPTH, extended, narrow, wide
from atc_py.target import Soc
from atc_py.tensor.shapes import Shape

_MOST_ROWS, _MOST_COLUMNS = 256, 512
_HALF = 2
_MOST_RUNS = 4095
_VOLUME = 5


class _GroupTiling(ProductTiling):
    """Products of groups of channels."""

    groups: int = wide("groups of channels")
    channels: int = wide("input channels of a group")


class ConvTiling(MapTiling, _GroupTiling):
    """A convolution as products."""

    patch_length: int = narrow("elements of what a tap sees of a channel, and of its padding")
    row_length: int = narrow("elements of a row of the product")
    wide_length: int = narrow("elements that are widened at once, of int8 alone")
    filter_rows: int = narrow("result channels whose filters are turned at once, if at all")
    filter_length: int = narrow("elements of one line of their windows, of one channel")


class DeepConvTiling(DepthTiling, ConvTiling):
    """A convolution of volumes as products."""


class _Geometry(ConvGeometry, frozen=True):
    """Dims of a convolution whose windows are unrolled."""

    strides: Shape  # along rows and columns
    groups: int  # of channels
    transposed: bool  # True if elements spread the filter instead of gathering under it

    @classmethod
    def of(cls, launch: Launch) -> _Geometry:
        kernel, (x, weights) = launch.kernel, launch.inputs[:2]
        depthwise = kernel.op == DEPTHWISE
        groups = x[1] if depthwise else cast("int", kernel.attributes["groups"])
        strides = cast("Shape", kernel.attributes["strides"])[-2:]
        return cls(
            x, launch.outputs[0], weights[2:], strides, max(1, groups), kernel.op in TRANSPOSED
        )

    def product(self, itemsize: int) -> CubeProduct:
        channels = self.x[1] // self.groups
        return CubeProduct(
            self.y[0] * self.groups,
            self.y[1] // self.groups,
            prod(self.y[2:]),
            channels * prod(self.window),
            itemsize,
        )

    def seen(self, rows: int, columns: int, block: int) -> int:
        """Elements that one tap reads of a channel for a rectangle of the result."""
        if self.transposed:
            rows, columns = -(-rows // self.strides[0]), -(-columns // self.strides[1])
        else:
            columns = (columns - 1) * self.strides[1] + 1
        return min(rows, self.x[-2]) * whole(min(columns, self.x[-1]), block)

    def rectangle(self, most: int, block: int, room: int) -> tuple[int, int]:
        """Rows and columns of the result's map: at most `most` positions that see `room`."""
        height, width = self.y[-2:]
        columns = max(1, min(width, most))
        while columns > 1 and self.seen(1, columns, block) > room:
            columns = -(-columns // 2)
        rows = max(1, min(height, most // columns, _MOST_RUNS)) if columns == width else 1
        while rows > 1 and self.seen(rows, columns, block) > room:
            rows = -(-rows // 2)
        return rows, columns


def _tiling(
    geometry: _Geometry,
    product: CubeProduct,
    cut: tuple[Sides, Walk],
    rectangle: tuple[int, int],
    soc: Soc,
) -> ConvTiling:
    sides, walk = cut
    block = BLOCK // product.itemsize
    counts = -(-product.m // sides.m), geometry.slices * geometry.map_tiles(*rectangle)
    patch = block + geometry.seen(*rectangle, block)
    filter_rows = _filter_rows(geometry, sides, soc, block)
    filter_length = filter_rows * whole(geometry.window[-1], block)
    deep = len(geometry.x) == _VOLUME
    return extended(
        DeepConvTiling if deep else ConvTiling,
        product_tiling(product, sides, walk, counts, soc),
        geometry.map_tiling(*rectangle),
        *([geometry.depth_tiling()] if deep else []),
        groups=geometry.groups,
        channels=geometry.x[1] // geometry.groups,
        patch_length=patch,
        row_length=max(sides.n, filter_rows),
        wide_length=max(patch, filter_length) if product.itemsize == 1 else 0,
        filter_rows=filter_rows,
        filter_length=filter_length,
    )


def _filter_rows(geometry: _Geometry, sides: Sides, soc: Soc, block: int) -> int:
    """Output channels whose filters fit, in whole blocks; 0 if stored as needed."""
    if not geometry.transposed:
        return 0
    room = soc.ub_kib * 1024 // 16 // DEPTH * block // BLOCK // whole(geometry.window[-1], block)
    return max(block, min(sides.m, room // block * block))


def _buffers(kernel: KernelFacts, tiling: ConvTiling) -> tuple[Buffer, ...]:
    size = kernel.inputs[0].dtype.itemsize
    sizes = {
        "patchQueue": DEPTH * tiling.patch_length * size,
        "rowQueue": DEPTH * tiling.row_length * size,
        "places": 4 * tiling.tile_n,
        "filterQueue": DEPTH * tiling.filter_length * size,
        "filterPlaces": 4 * tiling.filter_rows,
        "patchWide": _HALF * tiling.wide_length,
        "rowWide": _HALF * tiling.row_length if size == 1 else 0,
    }
    found = [Buffer(name, "ub", nbytes) for name, nbytes in sizes.items() if nbytes]
    bias = optional_input(kernel, BIAS)
    if bias is not None:
        found.append(Buffer("biasRows", "ub", tiling.tile_m * BLOCK // 2 * ACCUMULATOR))
    return (*found, *channel_buffers(kernel, tiling.tile_m))


class _Convolutions(ConvolutionFamily):
    """Convolutions of maps that are stored row by row."""

    template = "convolution"

    def plan(self, launch: Launch) -> Plan:
        """Give three eighths of the unified buffer to a tile of the result and its sums.

        A quarter holds what taps see, an eighth filters that must be turned. On split cores, results
        are worked out one by one.
        """
        if launch.soc.vector_cores > launch.soc.aicores:
            return each_plan(launch)
        kernel, soc, geometry = launch.kernel, launch.soc, _Geometry.of(launch)
        size, width = kernel.inputs[0].dtype.itemsize, kernel.outputs[0].dtype.itemsize
        product, ub = geometry.product(size), soc.ub_kib * 1024
        room = TileBounds(ub * 3 // 8 // tile_bytes(kernel), _MOST_ROWS, _MOST_COLUMNS)
        most = sides_of(product, room, soc)
        rows, columns = geometry.rectangle(most.n, BLOCK // size, ub // 8 // DEPTH // 2)
        sides = Sides(most.m, whole(rows * columns, square_of(size)))
        kept = sum(each.nbytes for each in channel_buffers(kernel, sides.m) if each.storage == "l1")
        walk = walk_of(product, sides, soc, kept)
        tiling = _tiling(geometry, product, (sides, walk), (rows, columns), soc)
        buffers = (
            *product_buffers(product, sides, walk, width),
            *_buffers(kernel, tiling),
            *link_buffers(kernel, sides),
        )
        return Plan(tiling, tiling.core_num, buffers, launch.moved)

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        return {
            "left": kernel.inputs[1],
            "right": kernel.inputs[0],
            "left_turned": kernel.op in TRANSPOSED,
            "right_turned": True,
            **operands_of(kernel),
            "channels_left": True,
            "unrolls": True,
            "deep": kernel.op in DEEP,
            "channels": "tileM",
            "first_channel": "FirstChannel()",
            **each_facts(kernel, "Convolution"),
        }


FAMILIES = (_Convolutions(),)
