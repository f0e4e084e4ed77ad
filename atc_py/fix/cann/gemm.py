"""Gemm on CANN: factors that the parser drops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form, own_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@cann_form("Gemm", "alpha-ignored", "alpha-ignored-without-c")
def without_alpha(site: Site) -> Sequence[str]:
    """Write the product without its factor."""
    return site.again(own_inputs(site), alpha=None)


@cann_form("Gemm", "beta-ignored")
def without_beta(site: Site) -> Sequence[str]:
    """Write the sum without the factor of C."""
    return site.again(own_inputs(site), beta=None)
