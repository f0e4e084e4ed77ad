"""Masks of the keys as onnxruntime's attention operators take them, as terms of the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.fix import tables
from atc_py.fix.parts.heads import masked_score
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from atc_py.fix.parts.heads import HeadDims
    from atc_py.fix.site import Site

__all__ = ["causal_term", "mask_term"]

_LENGTHS, _KEYS, _QUERIES = 1, 2, 3
"""Ranks of masks: lengths of the keys; 1 for each key that takes part; likewise for each query."""


def causal_term(site: Site, dims: HeadDims, window: int = -1) -> NDArray[Any]:
    """Return the term that leaves each query the keys up to its own position.

    Args:
        site: of the node.
        dims: the dims; the last query is at the position of the last key.
        window: number of keys that it is left; -1 for all.
    """
    ahead = (
        tables.arange(dims.keys) - tables.arange(dims.queries)[:, None] - (dims.keys - dims.queries)
    )
    allowed = ahead <= 0
    if window >= 0:
        allowed &= -ahead < window
    return np.where(allowed, 0, masked_score(site))


def mask_term(site: Site, at: int, dims: HeadDims) -> list[str]:
    """Write the term of a mask and of the order of the keys; return no name without either."""
    filter_value = site.number("mask_filter_value", -10000.0)
    found = []
    if site.tensor(at) is not None:
        found.append(_key_mask_term(site, at, dims, filter_value))
    if site.integer("unidirectional", 0) and dims.queries > 1:
        found.append(site.const(causal_term(site, dims), site.element, "causal"))
    return found if len(found) < 2 else [site.op("Min", found)]  # noqa: PLR2004  (both of them)


def _key_mask_term(site: Site, at: int, dims: HeadDims, filter_value: float) -> str:
    """Write the term of a mask, which broadcasts to `[batch, heads, queries, keys]`.

    Args:
        site: of the node.
        at: position of the mask among the inputs.
        dims: dims of the attention.
        filter_value: the term of keys that take no part.
    """
    shape, mask = site.shape(at), site.input(at)
    rank, steps = len(shape), tables.arange(dims.keys)
    require(rank <= _QUERIES, "the mask has 1 to 3 axes", "掩码有 1 至 3 个轴")
    if rank == _LENGTHS:
        pairs = shape[0] == 2 * dims.batch
        require(pairs or shape[0] == dims.batch, "a length for each sequence", "每个序列一个长度")
    else:
        require(shape[-1] == dims.keys, "the mask covers the keys", "掩码覆盖所有键")
    if mask.const is not None:
        value = site.constant(at)
        if rank == _LENGTHS:
            ends = value[: dims.batch, None]
            starts = value[dims.batch :, None] if pairs else np.zeros_like(ends)
            kept = (steps < ends) & (steps >= starts)
        else:
            kept = value > 0
        term = np.where(kept, 0, filter_value)
        return site.const(term.reshape(_broadcast(term.shape)), site.element, "mask")
    # Comparisons of float32 are on every list; lengths and marks are exact in it.
    given = site.cast(mask.name, DType.FLOAT32)
    if rank == _LENGTHS:
        kept_name = _within(site, given, dims, pairs=pairs)
    else:
        zero = site.const(0, DType.FLOAT32, "zero")
        kept_name = site.op("Greater", [site.unsqueeze(given, [1, 2][: 4 - rank]), zero])
    values = [site.scalar(each, "mask") for each in (0, filter_value)]
    return site.op("Where", [kept_name, *values])


def _within(site: Site, bounds: str, dims: HeadDims, *, pairs: bool) -> str:
    """Write the keys between starts and ends, `[batch, 1, 1, keys]`."""
    batch = dims.batch
    steps = site.const(tables.arange(dims.keys), DType.FLOAT32, "steps")
    column = [batch, 1, 1, 1]
    if not pairs:
        return site.op("Less", [steps, site.reshape(bounds, column)])
    ends = site.reshape(site.slice(bounds, 0, 0, batch), column)
    starts = site.reshape(site.slice(bounds, 0, batch, 2 * batch), column)
    after = site.op("Not", [site.op("Less", [steps, starts])])
    return site.op("And", [site.op("Less", [steps, ends]), after])


def _broadcast(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dims of a mask with axes of 1 for the heads and, without them, the queries."""
    return (shape[0], *[1] * (4 - len(shape)), *shape[1:])
