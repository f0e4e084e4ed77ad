"""Mod on CANN: remainders of truncated quotients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form, own_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@cann_form("Mod", "sign-of-dividend")
def truncated(site: Site) -> Sequence[str]:
    """Write the remainder with the sign of the dividend."""
    return site.again(own_inputs(site), fmod=1)
