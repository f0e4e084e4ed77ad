"""Clip on CANN: one bound alone is held in float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form, own_inputs
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@cann_form("Clip", "lower-bound-in-float32", "upper-bound-in-float32")
def in_float32(site: Site) -> Sequence[str]:
    """Write the bound in float32, and the result as the integers that the model declares."""
    inputs = [name and site.cast(name, DType.FLOAT32) for name in own_inputs(site)]
    return [site.cast(site.again(inputs)[0], DType.INT32)]
