"""Attention of several heads in products of matrices, as the rules of its operators share it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__ = ["Attended", "HeadDims", "attend", "masked_score", "merged", "split_heads"]


SCORES = (0, 2, 1, 3)
"""Order of axes that exchanges positions and heads."""


@dataclass(frozen=True, slots=True)
class HeadDims:
    """Dims of an attention.

    Attributes:
        batch: number of sequences.
        heads: heads of the query.
        groups: heads of key and value, of which each serves the same number of query heads.
        queries: positions of the query.
        keys: positions of key and value.
        size: elements of a head of query and key.
        value_size: elements of a head of the value.
    """

    batch: int
    heads: int
    groups: int
    queries: int
    keys: int
    size: int
    value_size: int


@dataclass(frozen=True, slots=True)
class Attended:
    """Names of the values of an attention.

    Attributes:
        y: the result, `[batch, heads, queries, value_size]`.
        scores: scaled products of query and key.
        capped: the scores after the soft cap.
        biased: the scores after the biases.
        weights: the weights of the values.
    """

    y: str
    scores: str
    capped: str
    biased: str
    weights: str


def masked_score(site: Site) -> float:
    """Return the term of scores that take no part: the least finite number of their dtype."""
    return float(np.finfo(site.element.numpy).min)


def split_heads(site: Site, x: str, heads: int) -> str:
    """Write `[batch, positions, heads * size]` as `[batch, heads, positions, size]`."""
    return site.transpose(site.reshape(x, [0, 0, heads, -1]), SCORES)


def merged(site: Site, x: str) -> str:
    """Write `[batch, heads, positions, size]` as `[batch, positions, heads * size]`."""
    return site.reshape(site.transpose(x, SCORES), [0, 0, -1])


def attend(  # noqa: PLR0913  (the parts of an attention)
    site: Site,
    q: str,
    k: str,
    v: str,
    dims: HeadDims,
    *,
    scale: float,
    biases: Sequence[str] = (),
    softcap: float = 0.0,
    keep: str = "",
    sink: str = "",
    wide: bool = False,
) -> Attended:
    """Write softmax(q k' * scale + biases) v, with the scale split over q and k for float16.

    Args:
        site: of the node.
        q: `[batch, heads, queries, size]`.
        k: `[batch, groups, keys, size]`.
        v: `[batch, groups, keys, value_size]`.
        dims: the dims.
        scale: factor of the scores.
        biases: terms of the scores, which broadcast to `[batch, heads, queries, keys]`.
        softcap: c in c * tanh(scores / c), before the biases; 0 for none.
        keep: factor of the weights; "" for none.
        sink: `[batch, heads, queries, 1]`, one more score that no value has; "" for none.
        wide: whether the softmax is in float32 where the rest is not.
    """
    shared = dims.heads != dims.groups
    rows = [dims.batch, dims.groups, dims.heads // dims.groups * dims.queries, -1]
    root = abs(scale) ** 0.5
    q = site.op("Mul", [q, site.scalar(root if scale >= 0 else -root, "scale")])
    k = site.op("Mul", [k, site.scalar(root, "scale")])
    left = site.reshape(q, rows) if shared else q
    scores = site.op("MatMul", [left, site.transpose(k, [0, 1, 3, 2])])
    if shared:
        scores = site.reshape(scores, [dims.batch, dims.heads, dims.queries, dims.keys])
    biased = capped = _capped(site, scores, softcap)
    for bias in biases:
        biased = site.op("Add", [biased, bias])
    weights = _softmax(site, biased, dims.keys, sink, wide=wide)
    if keep:
        weights = site.op("Mul", [weights, keep])
    right = site.reshape(weights, [*rows[:-1], dims.keys]) if shared else weights
    y = site.op("MatMul", [right, v])
    if shared:
        y = site.reshape(y, [dims.batch, dims.heads, dims.queries, dims.value_size])
    return Attended(y, scores, capped, biased, weights)


def _capped(site: Site, scores: str, softcap: float) -> str:
    """Write c * tanh(scores / c); c = 0 leaves the scores."""
    if not softcap:
        return scores
    bent = site.op("Tanh", [site.op("Mul", [scores, site.scalar(1 / softcap, "cap")])])
    return site.op("Mul", [bent, site.scalar(softcap, "cap")])


def _softmax(site: Site, scores: str, keys: int, sink: str, *, wide: bool) -> str:
    """Write the softmax over the last axis, in which a sink takes part."""
    last = 3
    if sink:
        scores = site.op("Concat", [scores, sink], axis=last)
    if wide:
        scores = site.cast(scores, DType.FLOAT32)
    weights = site.op("Softmax", [scores], axis=last)
    if wide:
        weights = site.cast(weights, site.element)
    return site.slice(weights, last, 0, keys) if sink else weights
