"""Convolutions of images and volumes in blocks: positions by channels, blocks and taps summed up.

m are the positions of a result's map, n its channels, k the blocks of channels and the taps of a
window. The block diagonals of a grouped filter, and the blocks of a depthwise one, are products of
their own; those and the images are the batch. A slice of a volume is an image of its own, whose
windows have several slices of taps, each of all blocks.
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
    OFFSET,
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
    blocked_buffers,
    blocked_operands,
    channel_buffers,
    link_buffers,
    links_are_stored_alike,
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
from atc_py.kernels.family import Buffer, KernelFacts, Launch, Plan
from atc_py.kernels.ports import KernelPort
from atc_py.kernels.tiling import BLOCK, extended, narrow, wide
from atc_py.target import Soc
from atc_py.tensor.dtypes import Format
from atc_py.tensor.storage import FLOAT32_C0, FRACTAL_ROWS, Storage, depth_of, group_blocks

_MOST_POSITIONS, _MOST_CHANNELS = 512, 256
_IMAGES = {
    False: (Storage(Format.NC1HWC0), Storage(Format.NC1HWC0, c0=FLOAT32_C0)),
    True: (Storage(Format.NDC1HWC0), Storage(Format.NDC1HWC0, c0=FLOAT32_C0)),
}
_FILTERS = {False: Format.FRACTAL_Z, True: Format.FRACTAL_Z_3D}
"""Storage of data and format of filters, by whether data are volumes."""

_VOLUME = 5
_PADDING = 128
"""Positions whose padding is copied at once."""


class _BlocksTiling(ProductTiling):
    """Products of blocks of channels."""

    products: int = wide("products of an image: block diagonals, or blocks of channels")
    blocks: int = wide("blocks of channels of an input image")
    product_blocks: int = wide("blocks of input channels of a product")
    out_blocks: int = wide("blocks of channels of a result image")
    out_channels: int = wide("channels of a result image")
    filter_rows: int = wide("rows of a plane of the filter")
    filter_blocks: int = wide("planes of the filter for a tap of a product")


class ConvBlocksTiling(MapTiling, _BlocksTiling):
    """A convolution of blocks of channels as products."""

    padding_length: int = narrow("positions whose padding is copied at once")


class DeepConvBlocksTiling(DepthTiling, ConvBlocksTiling):
    """A convolution of blocks of channels of volumes as products."""


class _Geometry(ConvGeometry, frozen=True):
    """Dims of a convolution of blocks."""

    products: int  # of an image
    inputs: int  # blocks of input channels of a product
    outputs: int  # result channels of a product
    rows: int  # of a plane of the filter
    planes: int  # of the filter for a tap of a product
    c0: int  # channels of a block of the input

    @classmethod
    def of(cls, launch: Launch) -> _Geometry:
        (x, weights), y = launch.inputs[:2], launch.outputs[0]
        c0 = _depth(launch.kernel.inputs[0])
        if _filter_format(launch.kernel) is Format.C1HWNCOC0:
            blocks = -(-x[1] // c0)
            return cls(x, y, weights[2:], blocks, 1, min(c0, y[1]), c0, 1, c0)
        groups = _groups(launch.kernel)
        merged, count, planes, rows = group_blocks(groups, weights[1], weights[0] // groups, c0)
        inputs, outputs = -(-merged * (x[1] // groups) // c0), merged * (y[1] // groups)
        rows *= FRACTAL_ROWS
        return cls(x, y, weights[2:], count, inputs, outputs, rows, planes, c0)

    def product(self, itemsize: int) -> CubeProduct:
        depth = self.inputs * prod(self.window) * self.c0
        batch = self.y[0] * self.slices * self.products
        return CubeProduct(batch, prod(self.y[-2:]), self.outputs, depth, itemsize)

    def rectangle(self, most: int) -> tuple[int, int]:
        height, width = self.y[-2:]
        columns = max(1, min(width, most))
        return max(1, min(height, most // columns)) if columns == width else 1, columns


def _filter_format(kernel: KernelFacts) -> Format | None:
    storage = kernel.inputs[1].storage
    return None if storage is None else storage.format


def _groups(kernel: KernelFacts) -> int:
    """Groups of channels: of a depthwise filter those that it is stored in."""
    storage = kernel.inputs[1].storage
    if kernel.op == DEPTHWISE:
        return 1 if storage is None else storage.groups
    return max(1, cast("int", kernel.attributes["groups"]))


def _has_diagonals(kernel: KernelFacts) -> bool:
    """True if a filter that is not turned has groups on block diagonals."""
    fractals = _filter_format(kernel) in _FILTERS.values()
    return fractals and kernel.op not in TRANSPOSED and _groups(kernel) > 1


def _depth(port: KernelPort) -> int:
    return depth_of(port.storage, port.dtype)


def _in_halves(kernel: KernelFacts) -> bool:
    """True if the result has blocks of eight channels, half a column of sums."""
    return _depth(kernel.outputs[0]) < FRACTAL_ROWS


def _constants(kernel: KernelFacts, tiling: ConvBlocksTiling) -> tuple[Buffer, ...]:
    """Padding of images, and rows that fill up squares of int8 where a filter is turned."""
    padding = Buffer("padding", "ub", tiling.padding_length * BLOCK)
    turned = kernel.op in TRANSPOSED and kernel.inputs[0].dtype.itemsize == 1
    return (padding, Buffer("zeros", "ub", FRACTAL_ROWS * BLOCK)) if turned else (padding,)


def _tiling(
    geometry: _Geometry,
    product: CubeProduct,
    cut: tuple[Sides, Walk],
    rectangle: tuple[int, int],
    soc: Soc,
) -> ConvBlocksTiling:
    sides, walk = cut
    counts = geometry.map_tiles(*rectangle), -(-product.n // sides.n)
    deep = len(geometry.x) == _VOLUME
    return extended(
        DeepConvBlocksTiling if deep else ConvBlocksTiling,
        product_tiling(product, sides, walk, counts, soc),
        geometry.map_tiling(*rectangle),
        *([geometry.depth_tiling()] if deep else []),
        products=geometry.products,
        blocks=-(-geometry.x[1] // geometry.c0),
        product_blocks=geometry.inputs,
        out_blocks=-(-geometry.y[1] // min(FRACTAL_ROWS, geometry.c0)),
        out_channels=geometry.y[1],
        filter_rows=geometry.rows,
        filter_blocks=geometry.planes,
        padding_length=min(_PADDING, rectangle[1]),
    )


class _ConvolutionsOfBlocks(ConvolutionFamily):
    """Convolutions of images in NC1HWC0, or volumes in NDC1HWC0, with a filter as CANN stores it."""

    template = "conv_blocks"
    in_blocks = True

    def plan(self, launch: Launch) -> Plan:
        """Give three eighths of the unified buffer, or L0C alone, to a tile of the result."""
        kernel, soc, geometry = launch.kernel, launch.soc, _Geometry.of(launch)
        size, width = kernel.inputs[0].dtype.itemsize, kernel.outputs[0].dtype.itemsize
        product = geometry.product(size)
        direct = soc.vector_cores > soc.aicores
        area = soc.ub_kib * 1024 * 3 // 8 // tile_bytes(kernel)
        area = soc.l0c_kib * 1024 // ACCUMULATOR if direct else area
        most = sides_of(product, TileBounds(area, _MOST_POSITIONS, _MOST_CHANNELS), soc)
        rows, columns = geometry.rectangle(most.m)
        sides = Sides(whole(rows * columns, square_of(size)), most.n)
        channels = channel_buffers(kernel, sides.n, direct=direct)
        kept = sum(each.nbytes for each in channels if each.storage == "l1")
        walk = walk_of(product, sides, soc, kept)
        tiling = _tiling(geometry, product, (sides, walk), (rows, columns), soc)
        buffers = (
            *product_buffers(product, sides, walk, None if direct else width),
            *channels,
            *link_buffers(kernel, sides),
            *(() if direct else blocked_buffers(kernel)),
            *(() if direct else _constants(kernel, tiling)),
        )
        return Plan(tiling, tiling.core_num, buffers, launch.moved)

    def covers(self, kernel: KernelFacts) -> bool:
        """True for images in blocks and a filter without offsets.

        Padding of images counts as the zero of their data in all lanes, and only weights of zero
        take it away again.
        """
        x, filters = kernel.inputs[:2]
        bias, offset = optional_input(kernel, BIAS), optional_input(kernel, OFFSET)
        deep = kernel.op in DEEP
        images = x.storage == kernel.outputs[0].storage and x.storage in _IMAGES[deep]
        plain = offset is None and (bias is None or bias.storage is None)
        if not (
            images and plain and filters.storage is not None and links_are_stored_alike(kernel)
        ):
            return False
        if kernel.op == DEPTHWISE and filters.storage.format is Format.C1HWNCOC0:
            return True
        c0 = 0 if x.storage is None else x.storage.c0
        return filters.storage == Storage(_FILTERS[deep], _groups(kernel), c0)

    def fits(self, launch: Launch) -> bool:
        """True for one filter a channel in C1HWNCoC0, and for groups in FRACTAL_Z.

        Blocks of eight leave split cores by the fix pipe. Every diagonal but the only one has
        whole blocks of channels. The last one may hold fewer
        groups than the others; where filters are turned, it may not.
        """
        x, weights = launch.inputs[:2]
        if _filter_format(launch.kernel) is Format.C1HWNCOC0:
            return weights[0] == x[1]
        split, turned = launch.soc.vector_cores > launch.soc.aicores, launch.kernel.op in TRANSPOSED
        if _in_halves(launch.kernel) and (turned or not split):
            return False
        groups = _groups(launch.kernel)
        c0 = _depth(launch.kernel.inputs[0])
        blocks = group_blocks(groups, weights[1], weights[0] // groups, c0)
        whole_blocks = blocks.merged * (x[1] // groups) % c0 == 0
        full = not turned or groups % blocks.merged == 0
        return full and (blocks.blocks == 1 or whole_blocks)

    def context(self, kernel: KernelFacts) -> Mapping[str, Any]:
        return {
            "left": kernel.inputs[0],
            "right": kernel.inputs[1],
            "left_turned": False,
            "right_turned": kernel.op in TRANSPOSED,
            **operands_of(kernel),
            **blocked_operands(kernel),
            "columns": "outChannels",
            "channels_left": False,
            "unrolls": False,
            "deep": kernel.op in DEEP,
            "diagonals": _has_diagonals(kernel),
            "halves": _in_halves(kernel),
            "channels": "tileN",
            "first_channel": "FirstChannel()",
        }


FAMILIES = (_ConvolutionsOfBlocks(),)
