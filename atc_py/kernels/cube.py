"""Products of matrices on the cube, cut into tiles that fit L0, L1 and the unified buffer.

Tiles are whole squares: what the cube turns at once, 16 x 16 elements, of int8 32 x 32. With t_x
the length of a tile along x and s the bytes of an element, two buffers deep in L0 and L1:
4 t_m t_n <= L0C; 2 s t_m t_k <= L0A; 2 s t_n t_k <= L0B; 2 s (t_m + t_n) l1_k <= L1.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isqrt, prod
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from atc_py.kernels.family import Buffer, Family, InputSample, KernelFacts
from atc_py.kernels.keys import Reach
from atc_py.kernels.links import link_scratch
from atc_py.kernels.planes import PATTERN
from atc_py.kernels.ports import KernelPort, Scratch
from atc_py.kernels.tiling import BLOCK, DEPTH, Tiling, narrow, wide
from atc_py.target import Soc
from atc_py.target.row import rounds_to_hf32
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape
from atc_py.tensor.storage import c0_of, depth_of

ACCUMULATOR = 4
"""Bytes of a sum: float32 or int32."""

BIAS = 2
"""Position of the bias among a node's inputs."""

OFFSET = 3
"""Position of the offsets of int8 weights."""

_SIDE = 16
_RESULT = "c2"
_WIDE = f"{_RESULT}Wide"


class ProductTiling(Tiling):
    """`batch` products of matrices [m, k] x [k, n], cut into tiles of the result."""

    batch: int = wide("independent products")
    m: int = wide("rows of the result")
    n: int = wide("columns of the result")
    k: int = wide("extent summed over")
    tile_m: int = narrow("rows of a tile, whole squares")
    tile_n: int = narrow("columns of a tile, whole squares")
    tile_k: int = narrow("summed extent of a tile in L0, whole squares")
    l1_k: int = narrow("summed extent of a tile in L1, whole tiles of L0")
    m_count: int = wide("tiles along the rows")
    n_count: int = wide("tiles along the columns")
    l1_count: int = wide("tiles of L1 along the summed extent")
    tile_count: int = wide("tiles of the result, all products together")
    core_num: int = narrow("cores that have work; core c takes tiles c, c + core_num ...")


class CubeProduct(msgspec.Struct, frozen=True):
    """`batch` products of [m, k] x [k, n] with operands of `itemsize` bytes an element."""

    batch: int
    m: int
    n: int
    k: int
    itemsize: int


class Sides(msgspec.Struct, frozen=True):
    """Rows and columns of a tile, whole squares."""

    m: int
    n: int


class TileBounds(msgspec.Struct, frozen=True):
    """Bounds of a tile's sides."""

    area: int  # elements of the result that there is room for
    most_m: int  # rows
    most_n: int  # columns


class Walk(msgspec.Struct, frozen=True):
    """Steps along the summed axis: length of a tile in L0, of one in L1, tiles of L1."""

    tile_k: int
    l1_k: int
    l1_count: int


def square_of(itemsize: int) -> int:
    """Elements of a side of the square that the cube transposes at once."""
    return max(_SIDE, BLOCK // itemsize)


def whole(value: int, square: int) -> int:
    """`value` rounded up to whole squares, at least one."""
    return max(1, -(-value // square)) * square


def sides_of(product: CubeProduct, room: TileBounds, soc: Soc) -> Sides:
    """A tile's sides: as square as space allows, halved until every core has a tile."""
    square = square_of(product.itemsize)
    deepest = soc.l0a_kib * 1024 // DEPTH // (square * product.itemsize) // square
    area = min(room.area, soc.l0c_kib * 1024 // ACCUMULATOR) // square**2
    blocks = whole(product.m, square) // square, whole(product.n, square) // square
    most = min(deepest, room.most_m // square), min(deepest, room.most_n // square)
    m = min(blocks[0], most[0], isqrt(area))
    n = min(blocks[1], most[1], area // m)
    m = min(blocks[0], most[0], area // n)
    while max(m, n) > 1 and product.batch * -(-blocks[0] // m) * -(-blocks[1] // n) < soc.aicores:
        m, n = (m, -(-n // 2)) if n >= m else (-(-m // 2), n)
    return Sides(m * square, n * square)


def walk_of(product: CubeProduct, sides: Sides, soc: Soc, kept: int = 0) -> Walk:
    """Steps along the summed dim that fit L0 and L1 less `kept` bytes."""
    square, size = square_of(product.itemsize), product.itemsize
    depth = whole(product.k, square)
    line = DEPTH * max(sides.m, sides.n) * size
    tile_k = min(depth, soc.l0a_kib * 1024 // line // square * square)
    room = (soc.l1_kib * 1024 - kept) // (DEPTH * (sides.m + sides.n) * size) // tile_k
    l1_k = tile_k * max(1, min(-(-depth // tile_k), room))
    return Walk(tile_k, l1_k, -(-product.k // l1_k))


def product_tiling(
    product: CubeProduct, sides: Sides, walk: Walk, counts: tuple[int, int], soc: Soc
) -> ProductTiling:
    tiles = product.batch * counts[0] * counts[1]
    return ProductTiling(
        batch=product.batch,
        m=product.m,
        n=product.n,
        k=product.k,
        tile_m=sides.m,
        tile_n=sides.n,
        tile_k=walk.tile_k,
        l1_k=walk.l1_k,
        m_count=counts[0],
        n_count=counts[1],
        l1_count=walk.l1_count,
        tile_count=tiles,
        core_num=max(1, min(soc.aicores, tiles)),
    )


def product_buffers(
    product: CubeProduct, sides: Sides, walk: Walk, result: int | None
) -> tuple[Buffer, ...]:
    """Queues of the operands and of the result.

    Elements of the result are `result` bytes wide; None where it leaves L0C for the device's memory.
    """
    size, area = product.itemsize, sides.m * sides.n
    found = []
    if result is not None:
        found.append(Buffer("c2Queue", "ub", area * result))
        if result != ACCUMULATOR:
            found.append(Buffer("sums", "ub", area * ACCUMULATOR))
    return (
        Buffer("a1Queue", "l1", DEPTH * sides.m * walk.l1_k * size),
        Buffer("b1Queue", "l1", DEPTH * sides.n * walk.l1_k * size),
        Buffer("a2Queue", "l0a", DEPTH * sides.m * walk.tile_k * size),
        Buffer("b2Queue", "l0b", DEPTH * sides.n * walk.tile_k * size),
        Buffer("c1Queue", "l0c", area * ACCUMULATOR),
        *found,
    )


def tile_bytes(kernel: KernelFacts) -> int:
    """Unified buffer bytes per element of a tile: result, sums and operands of links."""
    width = kernel.outputs[0].dtype.itemsize
    sums = ACCUMULATOR if width != ACCUMULATOR else 0
    tensors = sum(len(link.tensors) for link in kernel.links)
    return width * (1 + tensors) + sums + sum(each.bits // 8 for each in tile_scratch(kernel))


def tile_scratch(kernel: KernelFacts) -> tuple[Scratch, ...]:
    """Tensors that links need; the sums leave room for the result in float32."""
    return tuple(each for each in link_scratch(kernel.links, _RESULT) if each.name != _WIDE)


def link_buffers(kernel: KernelFacts, sides: Sides) -> tuple[Buffer, ...]:
    area, width = sides.m * sides.n, kernel.outputs[0].dtype.itemsize
    tensors = (each for link in kernel.links for each in link.tensors)
    return (
        *(Buffer(f"{each.name}Queue", "ub", area * width) for each in tensors),
        *(Buffer(each.name, "ub", area * each.bits // 8) for each in tile_scratch(kernel)),
    )


def applies_links(kernel: KernelFacts, soc: Soc) -> bool:
    """True if the kernel applies its links: in the unified buffer, or in the fix pipe."""
    split = soc.vector_cores > soc.aicores
    return is_row_by_row(kernel) and (not split or leaves_by_fix_pipe(kernel))


def leaves_by_fix_pipe(kernel: KernelFacts) -> bool:
    """True if Fixpipe applies all links of the kernel: none, or one Relu."""
    return [link.op for link in kernel.links] in ([], ["Relu"])


def optional_input(kernel: KernelFacts, position: int) -> KernelPort | None:
    return next((port for port in kernel.inputs if port.position == position), None)


def operands_of(kernel: KernelFacts) -> dict[str, Any]:
    """The facts of all product templates: bias, offset, operands of links; None if absent.

    Operands are stored row by row; `blocked_operands` says which are not.
    """
    return {
        "left_blocked": False,
        "right_blocked": False,
        "blocked_result": False,
        "reads_rows": True,
        "diagonals": False,
        "halves": False,
        "bias": optional_input(kernel, BIAS),
        "offset": optional_input(kernel, OFFSET),
        "hf32": rounds_to_hf32(kernel.attributes),
        "scratch": tile_scratch(kernel),
        "offset_operand": len(kernel.inputs) - 1,
    }


def depths_of(ports: Iterable[KernelPort]) -> set[int]:
    return {depth_of(port.storage, port.dtype) for port in ports if port.storage is not None}


def blocked_operands(kernel: KernelFacts) -> dict[str, Any]:
    """The additional facts of product templates for operands stored in blocks.

    A family whose left operand is not the first one overrides its position.
    """
    left, right = (port.storage is not None for port in kernel.inputs[:2])
    return {
        "left_blocked": left,
        "right_blocked": right,
        "blocked_result": kernel.outputs[0].storage is not None,
        "reads_rows": not (left and right),
        "stored_c0": max(depths_of(kernel.inputs[:2]), default=c0_of(kernel.inputs[0].dtype)),
        "pattern": PATTERN,
        "columns": "n",
    }


def blocked_buffers(kernel: KernelFacts) -> tuple[Buffer, ...]:
    blocked = kernel.outputs[0].storage is not None
    return (Buffer("pattern", "ub", PATTERN),) if blocked else ()


def links_are_stored_alike(kernel: KernelFacts) -> bool:
    """True if links' operands are stored like the result or are one value."""
    result = kernel.outputs[0]
    tensors = (each for link in kernel.links for each in link.tensors)
    return c0_of(result.dtype) == _SIDE and all(
        each.reach is Reach.ONE or each.port.storage == result.storage for each in tensors
    )


def channel_buffers(
    kernel: KernelFacts, channels: int, *, direct: bool = False
) -> tuple[Buffer, ...]:
    """Buffers for bias as wide as the sums, and for offsets as bytes and as fractals.

    With `direct` the bias comes by L1 and the bias table instead of the unified buffer.
    """
    found = []
    bias = optional_input(kernel, BIAS)
    if bias is not None:
        storage = "l1" if direct else "ub"
        found.append(Buffer("biasQueue", storage, channels * bias.dtype.itemsize))
        if bias.dtype.itemsize != ACCUMULATOR and not direct:
            found.append(Buffer("biasWide", "ub", channels * ACCUMULATOR))
    if optional_input(kernel, OFFSET) is not None:
        rows = 2 * channels * BLOCK
        found.append(Buffer("offsetQueue", "ub", channels))
        found.append(Buffer("offsetRowsQueue", "ub", rows))
        found.append(Buffer("offsetL1", "l1", rows))
    return tuple(found)


_ROW_BY_ROW = {Format.ND.value, Format.NCHW.value, Format.NCDHW.value}


def is_row_by_row(kernel: KernelFacts) -> bool:
    return all(port.format in _ROW_BY_ROW for port in (*kernel.operands, *kernel.outputs))


class ProductFamily(Family):
    """Products on the cube of operands that are stored row by row."""

    def covers(self, kernel: KernelFacts) -> bool:
        return is_row_by_row(kernel)

    def exact(self, kernel: KernelFacts) -> bool:
        return not kernel.inputs[0].dtype.is_float

    def sums(self, kernel: KernelFacts) -> bool:
        return kernel.inputs[0].dtype.is_float

    def draw(self, sample: InputSample, generator: np.random.Generator) -> NDArray[Any] | None:
        """Draw int8 and int32 of their whole range, so that sums wrap around; None for floats."""
        if sample.dtype not in {DType.INT8, DType.INT32}:
            return None
        shape = sample.shapes[sample.position]
        half = 2 ** (8 * sample.dtype.itemsize - 1)
        return generator.integers(-half, half, shape)


DEPTHWISE = "DepthwiseConv2D"

TRANSPOSED = frozenset({"Conv2DTransposeD", "Conv3DTransposeD"})

DEEP = frozenset({"Conv3D", "Conv3DTransposeD"})
"""Convolutions of volumes."""

_MAP = 2
"""Axes of a map, which are the last ones."""


class MapTiling(Tiling):
    """Maps of a convolution, and the rectangles that the result's is cut into.

    A tiling has these fields after those that it inherits from other classes when this one stands
    first among its bases.
    """

    height: int = wide("rows of an input map")
    width: int = wide("columns of an input map")
    out_height: int = wide("rows of a result map")
    out_width: int = wide("columns of a result map")
    window_height: int = wide("rows of the window")
    window_width: int = wide("columns of the window")
    tile_rows: int = narrow("rows of the result's map in a tile")
    tile_columns: int = narrow("columns of the result's map in a tile; less than all for one row")
    column_count: int = wide("tiles along a row of the result's map")


class DepthTiling(Tiling):
    """Slices of the volumes of a convolution; it mixes with other classes like `MapTiling`."""

    depth: int = wide("slices of an input volume")
    out_depth: int = wide("slices of a result volume")
    window_depth: int = wide("slices of the window")


class ConvGeometry(msgspec.Struct, frozen=True):
    """Dims of a convolution."""

    x: Shape  # NCHW or NCDHW input
    y: Shape  # NCHW or NCDHW result
    window: Shape  # rows and columns of the filter, of volumes after its slices

    @property
    def slices(self) -> int:
        """Slices of a result volume; an image is one."""
        return prod(self.y[2:-_MAP])

    def depth_tiling(self) -> DepthTiling:
        return DepthTiling(depth=self.x[2], out_depth=self.y[2], window_depth=self.window[0])

    def map_tiling(self, rows: int, columns: int) -> MapTiling:
        return MapTiling(
            height=self.x[-2],
            width=self.x[-1],
            out_height=self.y[-2],
            out_width=self.y[-1],
            window_height=self.window[-2],
            window_width=self.window[-1],
            tile_rows=rows,
            tile_columns=columns,
            column_count=-(-self.y[-1] // columns),
        )

    def map_tiles(self, rows: int, columns: int) -> int:
        return -(-self.y[-2] // rows) * -(-self.y[-1] // columns)


class ConvolutionFamily(ProductFamily):
    """Convolutions as products on the cube.

    m, n and k of the product differ between rows and blocks; a tile is a rectangle of the result's
    map in both, of volumes a rectangle of one slice.
    """

    name = "conv"
    operators = frozenset({"Conv2D", DEPTHWISE}) | TRANSPOSED | DEEP

    def fuses(self, kernel: KernelFacts, soc: Soc) -> bool:
        """True if what links read has an element for each of the result, or one for all."""
        tensors = (each for link in kernel.links for each in link.tensors)
        return applies_links(kernel, soc) and not any(each.reach.repeats for each in tensors)
