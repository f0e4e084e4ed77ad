"""Scales and zero points of QuantizeLinear and DequantizeLinear, with the dims of their tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix import tables
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from atc_py.fix.site import Site

__all__ = ["LIMITS", "spread"]

LIMITS = {
    DType.INT8: (-128, 127),
    DType.UINT8: (0, 255),
    DType.INT16: (-(2**15), 2**15 - 1),
    DType.UINT16: (0, 2**16 - 1),
}
"""Codes that float32 holds exactly."""


def spread(site: Site, position: int, dtype: DType = DType.FLOAT32) -> str:
    """Write scales or zero points in `dtype` so that they broadcast to the first input."""
    tensor = site.input(position)
    dims, around = site.shape(position), site.shape(0)
    block = site.integer("block_size", 0)
    x = tensor.name if tensor.dtype is dtype else site.cast(tensor.name, dtype)
    if dims in {(), (1,)}:
        return x if not dims else site.reshape(x, [])
    axis = site.axis(1, len(around))
    if block:
        places = tables.arange(around[axis]) // block
        require(len(dims) == len(around), "blocks have the rank of x", "分块参数与 x 的秩相同")
        return site.op("Gather", [x, site.const(places, label="places")], axis=axis)
    require(len(dims) == 1, "parameters have one axis", "参数仅有一个轴")
    return site.reshape(x, [-1, *[1] * (len(around) - axis - 1)])
