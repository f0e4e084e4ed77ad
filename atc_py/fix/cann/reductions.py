"""Reductions on CANN: axes that the parser does not read, and axes that it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form, own_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@cann_form("ReduceSumSquare", "axes-input-not-wired")
def over_all_axes(site: Site) -> Sequence[str]:
    """Write the sum over all axes."""
    return site.again(own_inputs(site)[:1])


@cann_form("ReduceSumSquare", "keepdims-always")
def axes_kept(site: Site) -> Sequence[str]:
    """Write the sum that keeps its axes."""
    return site.again(own_inputs(site), keepdims=1)
