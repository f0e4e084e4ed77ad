"""Rotary embeddings, as the rules of their operators share them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__ = ["rotated"]

_PAIR = 2


def rotated(  # noqa: PLR0913  (what is rotated, by what, and how)
    site: Site,
    x: str,
    dims: Sequence[int],
    cos: str,
    sin: str,
    width: int,
    *,
    interleaved: bool,
) -> str:
    """Write x with pairs (a, b) of its last axis as (a cos - b sin, a sin + b cos).

    Args:
        site: of the node.
        x: of rank 4.
        dims: dims of x.
        cos: cosines, which broadcast to x with `width / 2` elements on the last axis.
        sin: sines, likewise.
        width: elements of the last axis that are rotated; the others stay.
        interleaved: whether a pair has neighbors; else elements of the first and the second half.
    """
    last = len(dims) - 1
    turned = x if width == dims[last] else site.slice(x, last, 0, width)
    half = width // _PAIR
    if interleaved:
        pairs = site.reshape(turned, [*dims[:last], half, _PAIR])
        a, b = (
            site.reshape(site.slice(pairs, last + 1, at, at + 1), [*dims[:last], half])
            for at in range(_PAIR)
        )
    else:
        a, b = site.slice(turned, last, 0, half), site.slice(turned, last, half, width)
    real = site.op("Sub", [site.op("Mul", [a, cos]), site.op("Mul", [b, sin])])
    imaginary = site.op("Add", [site.op("Mul", [a, sin]), site.op("Mul", [b, cos])])
    if interleaved:
        parts = [site.reshape(each, [*dims[:last], half, 1]) for each in (real, imaginary)]
        y = site.reshape(site.op("Concat", parts, axis=last + 1), [*dims[:last], width])
    else:
        y = site.op("Concat", [real, imaginary], axis=last)
    if turned == x:
        return y
    return site.op("Concat", [y, site.slice(x, last, width, dims[last])], axis=last)
