"""OneHot and GatherND on CANN: how indices are read."""

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


@cann_form("OneHot", "indices-wrap")
def wrapped(site: Site) -> Sequence[str]:
    """Write the marks where the remainder of index + depth by depth is the place along the axis.

    Remainders have the sign of the dividend, so that those of indices below -depth mark nothing.
    """
    depth = int(site.constant(1).reshape(-1)[0])
    require(depth > 0, "depth is more than 0", "depth 大于 0")
    rank = len(site.dims(0))
    axis = site.axis(-1, rank + 1)
    size = site.const(depth, DType.INT32, "depth")
    indices = site.cast(site.name(0), DType.INT32)
    shifted = site.op("Add", [indices, size])
    whole = site.op("Mul", [site.op("Div", [shifted, size]), size])
    places = site.unsqueeze(site.op("Sub", [shifted, whole]), [axis])
    along = tables.arange(depth).reshape([-1] + [1] * (rank - axis))
    marked = site.op("Equal", [places, site.const(along, DType.INT32, "places")])
    return [_chosen(site, marked)]


def _chosen(site: Site, marked: str) -> str:
    """Write the second of the values where a mark is, and the first elsewhere."""
    kind = site.input(2).dtype
    narrow = kind is DType.INT64
    values = site.cast(site.name(2), DType.INT32) if narrow else site.name(2)
    off, on = site.slice(values, 0, 0, 1), site.slice(values, 0, 1, 2)
    found = site.op("Where", [marked, on, off])
    return site.cast(found, DType.INT64) if narrow else found


@cann_form("GatherND", "batch-dims-ignored")
def without_batches(site: Site) -> Sequence[str]:
    """Write the picks from the whole data."""
    return site.again(own_inputs(site), batch_dims=None)
