"""The kind of families that write convolutions: their geometry, and the numbers of their maps.

m, n and k of the product differ between rows and blocks; a tile is a rectangle of the result's
map in both, of volumes a rectangle of one slice.
"""

from math import prod

import msgspec

from atc_py.kernels.cube import ProductFamily, applies_links
from atc_py.kernels.fields import Tiling, narrow, wide
from atc_py.kernels.plan import KernelFacts
from atc_py.target import Soc
from atc_py.tensor.shapes import Shape

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
    """Convolutions as products on the cube."""

    name = "conv"
    operators = frozenset({"Conv2D", DEPTHWISE}) | TRANSPOSED | DEEP

    def fuses(self, kernel: KernelFacts, soc: Soc) -> bool:
        """True if what links read has an element for each of the result, or one for all."""
        tensors = (each for link in kernel.links for each in link.tensors)
        return applies_links(kernel, soc) and not any(each.reach.repeats for each in tensors)
