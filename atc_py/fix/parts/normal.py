"""The steps that normalizations share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__ = ["centered", "root_of", "statistics"]

_LEAST = 6e-8
"""Least positive number of float16."""


def centered(
    site: Site, x: str, axes: Sequence[int], epsilon: float, element: DType | None = None
) -> tuple[str, str, str]:
    """Write x less its mean, the mean, and sqrt(variance + epsilon), all over `axes`.

    The variance is the mean of squares of what is centered, so that large means lose no digits.

    Args:
        site: of the node.
        x: what is centered.
        axes: the axes.
        epsilon: added to the variance.
        element: dtype of x; by default that of the first input.
    """
    mean = site.reduce("ReduceMean", x, list(axes))
    deviations = site.op("Sub", [x, mean])
    squares = site.op("Mul", [deviations, deviations])
    variance = site.reduce("ReduceMean", squares, list(axes))
    return deviations, mean, root_of(site, variance, epsilon, element)


def root_of(site: Site, square: str, epsilon: float, element: DType | None = None) -> str:
    """Write sqrt(square + epsilon), in float32 where epsilon is none in float16."""
    element = element or site.element
    wide = element is DType.FLOAT16 and epsilon < _LEAST
    if wide:
        square = site.cast(square, DType.FLOAT32)
    least = site.const(epsilon, DType.FLOAT32 if wide else element, "epsilon")
    root = site.op("Sqrt", [site.op("Add", [square, least])])
    return site.cast(root, element) if wide else root


def statistics(site: Site, mean: str, deviation: str) -> tuple[str, str]:
    """Return the mean and the inverse deviation as outputs 1 and 2; "" where nothing uses them.

    Raises:
        UnfitError: they are used, and of float32 where x is not.
    """
    used = [site.output(at) is not None for at in (1, 2)]
    exact = site.element is DType.FLOAT32 or not any(used)
    require(exact, "Mean and InvStdDev are not used in float16", "float16 时不使用 Mean、InvStdDev")
    return mean if used[0] else "", site.op("Reciprocal", [deviation]) if used[1] else ""
