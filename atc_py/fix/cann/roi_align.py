"""RoiAlign on CANN: means alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form, own_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@cann_form("RoiAlign", "mode-is-avg")
def mean(site: Site) -> Sequence[str]:
    """Write the mean of the samples of each bin."""
    return site.again(own_inputs(site), mode=None)
