"""ArgMax and ArgMin on CANN: the place of the axis that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form, own_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@cann_form("ArgMax", "kept-axis-at-1")
@cann_form("ArgMin", "kept-axis-at-1")
def kept_at_1(site: Site) -> Sequence[str]:
    """Write the positions without the axis, and an axis of 1 after the first one."""
    found = site.again(own_inputs(site), keepdims=0)
    return [site.unsqueeze(found[0], [1])]
