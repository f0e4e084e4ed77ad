"""Pools on CANN: paddings of SAME_LOWER, large windows, norms of odd powers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix import tables
from atc_py.fix.cann_form import cann_form, own_inputs
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_LEAST = -65504.0
"""Element that CANN pads X with before a large MaxPool: the least finite one of float16."""

_OUTER = 2
"""Axes before those that a window moves along: batch and channels."""


@cann_form("MaxPool", "same-lower-as-upper")
@cann_form("AveragePool", "same-lower-as-upper")
@cann_form("LpPool", "same-lower-as-upper")
def same_upper(site: Site) -> Sequence[str]:
    """Write the pool with the odd one of each padding at the end."""
    return site.again(own_inputs(site), auto_pad="SAME_UPPER")


@cann_form("AveragePool", "large-window-counts-padding")
def with_padding_counted(site: Site) -> Sequence[str]:
    """Write the means of windows on the padded tensor."""
    return site.again(own_inputs(site), count_include_pad=1, ceil_mode=None)


@cann_form("MaxPool", "large-window-pads-65504")
def with_least_padding(site: Site) -> Sequence[str]:
    """Write the pool of X between constants of the least finite element of float16."""
    y, dims, pads = site.name(0), list(site.shape(0)), site.integers("pads")
    for axis, (begin, end) in enumerate(zip(pads, pads[len(pads) // 2 :], strict=False), _OUTER):
        parts = [y]
        for count, at in ((end, 1), (begin, 0)):
            if count:
                around = [*dims[:axis], count, *dims[axis + 1 :]]
                parts.insert(at, site.const(tables.full(around, _LEAST), site.element, "least"))
        dims[axis] += begin + end
        y = site.op("Concat", parts, axis=axis) if len(parts) > 1 else y
    return site.again([y], pads=None, ceil_mode=None)


@cann_form("GlobalLpPool", "odd-p-keeps-signs")
def norm_of_signed_powers(site: Site) -> Sequence[str]:
    """Write the root of the sum of powers that keep the signs of their elements."""
    p, dims = site.integer("p", 2), site.dims(0)
    require(site.element in {DType.FLOAT16, DType.FLOAT32}, "X is a float", "X 为浮点")
    axes = range(_OUTER, len(dims))
    if p == 1:
        return [site.reduce("ReduceSum", site.name(0), axes)]
    power = site.op("Pow", [site.name(0), site.scalar(p, "power")])
    total = site.reduce("ReduceSum", power, axes)
    return [site.op("Pow", [total, site.scalar(1 / p, "root")])]
