"""Positions along an axis, which ONNX counts from the front, or below 0 from the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from atc_py.fix.ranges import Range
    from atc_py.fix.site import Site

__all__ = ["from_front"]


def from_front(site: Site, indices: str, size: int, found: Range | None) -> str:
    """Write int32 positions counted from the front: those below 0 get the size added."""
    if found is not None and found.low >= 0:
        return indices
    zero, length = (
        site.const(each, DType.INT32, label) for each, label in ((0, "zero"), (size, "size"))
    )
    below = site.op("Less", [indices, zero])
    return site.op("Where", [below, site.op("Add", [indices, length]), indices])
