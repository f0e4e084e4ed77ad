"""GridSample on CANN: positions midway between two pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.fix import tables
from atc_py.fix.cann_form import cann_form
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@cann_form("GridSample", "ties-go-far")
def at_pixels(site: Site) -> Sequence[str]:
    """Write the sampling at positions that are rounded, halves away from 0, to those of pixels.

    Outside of X rounding and the rule of reflection do not change places.
    """
    padding = site.text("padding_mode", "zeros")
    require(
        padding != "reflection", "padding_mode is not reflection", "padding_mode 不是 reflection"
    )
    height, width = site.shape(0)[2:]
    sizes = np.array([width, height], np.float32)
    grid = site.tensor(1)
    corners = site.integer("align_corners", 0)

    def const(values: object) -> str:
        return site.const(np.asarray(values, np.float32), DType.FLOAT32, "sizes")

    place = site.cast(site.name(1), DType.FLOAT32)
    place = site.op("Add", [place, const(1)])
    if corners:
        place = site.op("Mul", [site.op("Mul", [place, const(0.5)]), const(sizes - 1)])
    else:
        place = site.op("Add", [site.op("Mul", [place, const(sizes)]), const(-1)])
        place = site.op("Mul", [place, const(0.5)])
    away = site.op("Floor", [site.op("Add", [site.op("Abs", [place]), const(0.5)])])
    pixel = site.op("Mul", [site.op("Sign", [place]), away])
    step = 2 / np.maximum(sizes - 1, 1) if corners else 2 / sizes
    first = tables.full(2, -1) if corners else 1 / sizes - 1
    found = site.op("Add", [site.op("Mul", [pixel, const(step)]), const(first)])
    if grid is not None and grid.dtype is not None:
        found = site.cast(found, grid.dtype)
    return site.again([site.name(0), found])
