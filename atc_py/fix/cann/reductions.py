"""Reductions on CANN: axes that are not there, and axes that the parser does not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form, own_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_NO_AXES = ("no-axes", "absent-axes", "empty-axes")


@cann_form("ReduceMax", *_NO_AXES)
@cann_form("ReduceMean", "no-axes")
@cann_form("ReduceMin", *_NO_AXES)
@cann_form("ReduceSum", *_NO_AXES)
def unreduced(site: Site) -> Sequence[str]:
    """Write the data as it is."""
    return [site.op("Identity", [site.name(0)])]


@cann_form("ReduceSumSquare", "axes-input-not-wired")
def over_all_axes(site: Site) -> Sequence[str]:
    """Write the sum over all axes."""
    return site.again(own_inputs(site)[:1])


@cann_form("ReduceSumSquare", "keepdims-always")
def axes_kept(site: Site) -> Sequence[str]:
    """Write the sum that keeps its axes."""
    return site.again(own_inputs(site), keepdims=1)
