"""Resize of images on CANN: elements from where the kernels take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from atc_py.fix.cann_form import cann_form
from atc_py.fix.parts.pools import take
from atc_py.fix.parts.resampling import require_places
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType
from atc_py.tensor.resampling import KernelAxis

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from atc_py.fix.site import Site
    from atc_py.source import SourceTensor

__all__: list[str] = []

_AXES = (2, 3)
_WITH_MODES = 11
"""Opset since which an attribute says how coordinates are transformed."""

_FLOATS = (DType.FLOAT16, DType.FLOAT32)
_TORCH = frozenset({"pytorch_half_pixel"})


@cann_form("Resize", "nearest-mode-ignored")
def nearest_of_asymmetric(site: Site) -> Sequence[str]:
    """Write the elements that the parser of 2022 chooses."""
    return _nearest(site, _TORCH)


@cann_form("Resize", "nearest-mode-ignored-half-pixel")
def nearest_of_half_pixel(site: Site) -> Sequence[str]:
    """Write the elements that the parser of 2026 chooses."""
    return _nearest(site, _TORCH | {"half_pixel"})


@cann_form("Resize", "nearest-mode-ignored-ties-up")
def nearest_with_ties_up(site: Site) -> Sequence[str]:
    """Write the elements that the parser of 2026 and the kernel of Ascend910_95 choose."""
    return _nearest(site, _TORCH | {"half_pixel"}, upper=True)


@cann_form("Resize", "linear-as-asymmetric")
def linear_as_asymmetric(site: Site) -> Sequence[str]:
    """Write the mean of two neighbors along each axis, weighted by the place between them."""
    require(site.element in _FLOATS, "X is float16 or float32", "X 为 float16 或 float32")
    y = site.name(0)
    for axis, places in _axes(site, _TORCH):
        found = places.linear
        first = np.floor(found).astype(np.int64)
        last = np.minimum(first + 1, places.size - 1)
        dims = [places.count, *(1 for _ in range(axis + 1, 4))]
        share = (found - first).astype(np.float32).reshape(dims)
        low, high = (
            site.op("Gather", [y, site.const(each, label="positions")], axis=axis)
            for each in (first, last)
        )
        rest = site.const(1 - share, site.element, "shares")
        parts = (
            site.op("Mul", [low, rest]),
            site.op("Mul", [high, site.const(share, site.element, "shares")]),
        )
        y = site.op("Add", parts)
    return [site.op("Identity", [y]) if y == site.name(0) else y]


def _nearest(site: Site, halves: Collection[str], *, upper: bool = False) -> Sequence[str]:
    """Write one element of X for each of the result, axis by axis."""
    y = site.name(0)
    for axis, places in _axes(site, halves, upper=upper):
        y = take(site, y, axis, places.nearest, places.size)
    return [site.op("Identity", [y]) if y == site.name(0) else y]


def _axes(
    site: Site, halves: Collection[str], *, upper: bool = False
) -> Iterator[tuple[int, KernelAxis]]:
    """Yield height and width as the kernel reads them, those that change."""
    mode = "asymmetric"
    if site.node.opset >= _WITH_MODES:
        mode = site.text("coordinate_transformation_mode", "half_pixel")
    result = site.output(0)
    require(
        result is not None and not result.is_open,
        "the dims of the result are known",
        "输出形状已知",
    )
    x, y = site.shape(0), cast("SourceTensor", result).shape
    for axis in _AXES:
        if x[axis] != y[axis]:
            require_places([y[axis]])
            corners = mode == "align_corners"
            yield axis, KernelAxis(x[axis], y[axis], mode in halves, corners, upper)
