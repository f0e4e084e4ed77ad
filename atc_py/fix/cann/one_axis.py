"""LogSoftmax and Hardmax before opset 13 on CANN: one axis, by default the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@cann_form("LogSoftmax", "one-axis")
@cann_form("Hardmax", "one-axis")
def over_one_axis(site: Site) -> Sequence[str]:
    """Write the node over one axis, which is put last: there ONNX takes that axis alone, too."""
    rank = len(site.dims(0))
    axis = site.axis(-1, rank)
    order = [*(each for each in range(rank) if each != axis), axis]
    back = [order.index(each) for each in range(rank)]
    moved = site.transpose(site.name(0), order)
    return [site.transpose(site.op(site.node.op_type, [moved], axis=rank - 1), back)]
