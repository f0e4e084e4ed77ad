"""The steps that normalizations share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__ = ["centered"]


def centered(site: Site, x: str, axes: Sequence[int], epsilon: float | str) -> tuple[str, str, str]:
    """Write x less its mean, the mean, and sqrt(variance + epsilon), all over `axes`.

    The variance is the mean of squares of what is centered, so that large means lose no digits.

    Args:
        site: of the node.
        x: what is centered.
        axes: the axes.
        epsilon: added to the variance: a number, or a constant where x is not of the dtype of the
            first input.
    """
    least = epsilon if isinstance(epsilon, str) else site.scalar(epsilon, "epsilon")
    mean = site.reduce("ReduceMean", x, list(axes))
    deviations = site.op("Sub", [x, mean])
    squares = site.op("Mul", [deviations, deviations])
    variance = site.reduce("ReduceMean", squares, list(axes))
    root = site.op("Sqrt", [site.op("Add", [variance, least])])
    return deviations, mean, root
