"""AveragePool and MaxPool on CANN: paddings of SAME_LOWER."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form, own_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@cann_form("MaxPool", "same-lower-as-upper")
@cann_form("AveragePool", "same-lower-as-upper")
def same_upper(site: Site) -> Sequence[str]:
    """Write the pool with the odd one of each padding at the end."""
    return site.again(own_inputs(site), auto_pad="SAME_UPPER")
