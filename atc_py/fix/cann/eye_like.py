"""EyeLike on CANN: float32 where no dtype is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form, own_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_FLOAT32 = 1
"""ONNX's number of the dtype."""


@cann_form("EyeLike", "float32-without-dtype")
def in_float32(site: Site) -> Sequence[str]:
    """Write the matrix in float32."""
    return site.again(own_inputs(site), dtype=_FLOAT32)
