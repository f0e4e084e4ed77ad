"""LpNormalization and ThresholdedRelu on CANN: zeros and infinities that become NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_AXES_OF_NORMS_AS_INPUT = 18
"""Opset as of which the parser has no norms; their sums are written instead."""


@cann_form("LpNormalization", "zero-by-zero")
def divided_by_norm(site: Site) -> Sequence[str]:
    """Write the quotient by the norm, which is NaN where the norm is 0."""
    data = site.name(0)
    axis = site.axis(-1, len(site.dims(0)))
    first = site.integer("p", 2) == 1
    if site.opset < _AXES_OF_NORMS_AS_INPUT:
        norm = site.reduce("ReduceL1" if first else "ReduceL2", data, [axis])
    elif first:
        norm = site.reduce("ReduceSum", site.op("Abs", [data]), [axis])
    else:
        squares = site.reduce("ReduceSum", site.op("Mul", [data, data]), [axis])
        norm = site.op("Sqrt", [squares])
    return [site.op("Div", [data, norm])]


@cann_form("ThresholdedRelu", "infinity-by-zero")
def times_mask(site: Site) -> Sequence[str]:
    """Write the product with 1 above the threshold and 0 elsewhere."""
    data = site.name(0)
    above = site.op("Greater", [data, site.scalar(site.number("alpha", 1.0))])
    return [site.op("Mul", [data, site.cast(above, site.element)])]
