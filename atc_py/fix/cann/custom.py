"""Custom operators on CANN: attributes that the parser drops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form, own_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@cann_form("BatchMatMul", "adj-x1-ignored", "adj-x2-ignored")
def plain_product(site: Site) -> Sequence[str]:
    """Write the product of the inputs as they are."""
    return [site.op("MatMul", own_inputs(site))]


@cann_form("BatchMultiClassNMS", "coordinate-frame-ignored")
def in_image_coordinates(site: Site) -> Sequence[str]:
    """Write the operator without a change of coordinates."""
    return site.again(own_inputs(site), len(site.node.outputs), change_coordinate_frame=None)
