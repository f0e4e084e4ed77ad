"""Random numbers on CANN: attributes that are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form, own_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@cann_form("Multinomial", "one-sample")
def one_sample(site: Site) -> Sequence[str]:
    """Write one draw from each row."""
    return site.again(own_inputs(site), sample_size=1)
