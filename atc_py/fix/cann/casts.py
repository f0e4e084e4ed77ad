"""Cast on CANN: conversions to eight bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_INT8 = 3


@cann_form("Cast", "float16-wraps")
def through_int32(site: Site) -> Sequence[str]:
    """Write the conversion through int32, of which the low eight bits stay."""
    to = DType.INT8 if site.integer("to", 0) == _INT8 else DType.UINT8
    return [site.cast(site.cast(site.name(0), DType.INT32), to)]


@cann_form("Cast", "int8-magnitude")
def magnitude(site: Site) -> Sequence[str]:
    """Write the magnitude, found in float16, which has 128."""
    wide = site.cast(site.name(0), DType.FLOAT16)
    return [site.cast(site.op("Abs", [wide]), DType.UINT8)]
