"""Reductions over axes, and where the largest and smallest elements are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.export.axes import from_front, mean
from atc_py.export.registry import emulates

if TYPE_CHECKING:
    from atc_py.export.body import Body

__all__: list[str] = []


def _axes(body: Body, name: str = "axes") -> tuple[int, ...]:
    """Return the axes that an attribute names, from the front."""
    return from_front(body.node.integers(name), body.node.rank())


@emulates("ReduceMeanD")
def reduce_mean(body: Body) -> str:
    """Write the sum of x over the axes, divided by how many there are; NaN of none."""
    return mean(body, body.x(), _axes(body), keep=body.node.flag("keep_dims"))
