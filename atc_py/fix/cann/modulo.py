"""Mod on CANN: remainders of truncated quotients, in float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form, own_inputs
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@cann_form("Mod", "sign-of-dividend")
def truncated(site: Site) -> Sequence[str]:
    """Write the remainder with the sign of the dividend."""
    return site.again(own_inputs(site), fmod=1)


@cann_form("Mod", "dividend-in-float32", "divisor-in-float32")
def in_float32(site: Site) -> Sequence[str]:
    """Write the remainder of the quotient, truncated, in float32."""
    dividend, divisor = (site.cast(name, DType.FLOAT32) for name in own_inputs(site))
    size = site.op("Floor", [site.op("Abs", [site.op("Div", [dividend, divisor])])])
    sign = site.op("Mul", [site.op("Sign", [dividend]), site.op("Sign", [divisor])])
    whole = site.op("Mul", [site.op("Mul", [size, sign]), divisor])
    return [site.cast(site.op("Sub", [dividend, whole]), DType.INT32)]
