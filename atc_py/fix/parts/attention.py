"""Heads, scores and masks of attention, as the rules of its operators share them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.context import RuleContext
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

SCORES = (0, 2, 1, 3)
"""Order of axes that exchanges positions and heads."""


@dataclass(frozen=True, slots=True)
class HeadDims:
    """Dims of an attention."""

    batch: int  # number of sequences
    heads: int  # heads of the query
    groups: int  # heads of key and value, of which each serves the same number of query heads
    queries: int  # positions of the query
    keys: int  # positions of key and value
    size: int  # elements of a head of query and key
    value_size: int  # elements of a head of the value


@dataclass(frozen=True, slots=True)
class Attended:
    """Names of the values of an attention."""

    y: str  # the result, `[batch, heads, queries, value_size]`
    scores: str  # scaled products of query and key
    capped: str  # the scores after the soft cap
    biased: str  # the scores after the biases
    weights: str  # the weights of the values


def masked_score(ctx: RuleContext) -> float:
    """The term of scores that take no part: the least finite number of their dtype."""
    return float(np.finfo(ctx.element.numpy).min)


def split_heads(ctx: RuleContext, x: str, heads: int) -> str:
    """Write `[batch, positions, heads * size]` as `[batch, heads, positions, size]`."""
    return ctx.transpose(ctx.reshape(x, [0, 0, heads, -1]), SCORES)


def merged(ctx: RuleContext, x: str) -> str:
    """Write `[batch, heads, positions, size]` as `[batch, positions, heads * size]`."""
    return ctx.reshape(ctx.transpose(x, SCORES), [0, 0, -1])


def attend(  # noqa: PLR0913  (the parts of an attention)
    ctx: RuleContext,
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

    `q` is `[batch, heads, queries, size]`, `k` `[batch, groups, keys, size]`, `v` `[batch, groups,
    keys, value_size]`; `biases` broadcast to `[batch, heads, queries, keys]`; `softcap` is c in c *
    tanh(scores / c) before them, 0 for none; `keep` is a factor of the weights; `sink`, `[batch,
    heads, queries, 1]`, one more score that no value has; `wide`: the softmax is in float32 where
    the rest is not.
    """
    shared = dims.heads != dims.groups
    rows = [dims.batch, dims.groups, dims.heads // dims.groups * dims.queries, -1]
    root = abs(scale) ** 0.5
    q = ctx.times(q, root if scale >= 0 else -root, "scale")
    k = ctx.times(k, root, "scale")
    left = ctx.reshape(q, rows) if shared else q
    scores = ctx.op("MatMul", left, ctx.transpose(k, [0, 1, 3, 2]))
    if shared:
        scores = ctx.reshape(scores, [dims.batch, dims.heads, dims.queries, dims.keys])
    capped = scores
    if softcap:
        bent = ctx.op("Tanh", ctx.times(scores, 1 / softcap, "cap"))
        capped = ctx.times(bent, softcap, "cap")
    biased = capped
    for bias in biases:
        biased = ctx.op("Add", biased, bias)
    weights = _softmax(ctx, biased, dims.keys, sink, wide=wide)
    if keep:
        weights = ctx.op("Mul", weights, keep)
    right = ctx.reshape(weights, [*rows[:-1], dims.keys]) if shared else weights
    y = ctx.op("MatMul", right, v)
    if shared:
        y = ctx.reshape(y, [dims.batch, dims.heads, dims.queries, dims.value_size])
    return Attended(y, scores, capped, biased, weights)


def _softmax(ctx: RuleContext, scores: str, keys: int, sink: str, *, wide: bool) -> str:
    last = 3
    if sink:
        scores = ctx.op("Concat", scores, sink, axis=last)
    if wide:
        scores = ctx.cast(scores, DType.FLOAT32)
    weights = ctx.op("Softmax", scores, axis=last)
    if wide:
        weights = ctx.cast(weights, ctx.element)
    return ctx.slice(weights, last, 0, keys) if sink else weights


# Ranks of masks: lengths of the keys; 1 for each key that takes part; likewise for each query.
_LENGTHS, _KEYS, _QUERIES = 1, 2, 3


def causal_term(ctx: RuleContext, dims: HeadDims, window: int = -1) -> NDArray[Any]:
    """The term that leaves each query the last `window` keys, or all, up to its own position.

    The last query is at the position of the last key.
    """
    ahead = (
        tables.arange(dims.keys) - tables.arange(dims.queries)[:, None] - (dims.keys - dims.queries)
    )
    allowed = ahead <= 0
    if window >= 0:
        allowed &= -ahead < window
    return np.where(allowed, 0, masked_score(ctx))


def mask_term(ctx: RuleContext, at: int, dims: HeadDims) -> list[str]:
    """Write the term of a mask and of the order of the keys; return no name without either."""
    filter_value = ctx.number("mask_filter_value", -10000.0)
    results = []
    if ctx.tensor(at) is not None:
        results.append(_key_mask_term(ctx, at, dims, filter_value))
    if ctx.integer("unidirectional", 0) and dims.queries > 1:
        results.append(ctx.const(causal_term(ctx, dims), ctx.element, "causal"))
    return results if len(results) < 2 else [ctx.op("Min", *results)]  # noqa: PLR2004  (both of them)


def _key_mask_term(ctx: RuleContext, at: int, dims: HeadDims, filter_value: float) -> str:
    """Write the term of a mask: `filter_value` for keys that take no part.

    It broadcasts to `[batch, heads, queries, keys]`.
    """
    shape, mask = ctx.shape(at), ctx.input(at)
    rank, steps = len(shape), tables.arange(dims.keys)
    require(rank <= _QUERIES, "the mask has 1 to 3 axes")
    if rank == _LENGTHS:
        pairs = shape[0] == 2 * dims.batch
        require(pairs or shape[0] == dims.batch, "a length for each sequence")
    else:
        require(shape[-1] == dims.keys, "the mask covers the keys")
    if mask.const is not None:
        value = ctx.constant(at)
        if rank == _LENGTHS:
            ends = value[: dims.batch, None]
            starts = value[dims.batch :, None] if pairs else np.zeros_like(ends)
            kept = (steps < ends) & (steps >= starts)
        else:
            kept = value > 0
        term = np.where(kept, 0, filter_value)
        # Axes of 1 for the heads and, without them, the queries.
        broadcast = (term.shape[0], *[1] * (4 - term.ndim), *term.shape[1:])
        return ctx.const(term.reshape(broadcast), ctx.element, "mask")
    # Comparisons of float32 are on every list; lengths and marks are exact in it.
    given = ctx.cast(mask.name, DType.FLOAT32)
    if rank == _LENGTHS:
        kept_name = _mark_keys(ctx, given, dims, pairs=pairs)
    else:
        zero = ctx.const(0, DType.FLOAT32, "zero")
        kept_name = ctx.op("Greater", ctx.unsqueeze(given, [1, 2][: 4 - rank]), zero)
    values = [ctx.scalar(part, "mask") for part in (0, filter_value)]
    return ctx.op("Where", kept_name, *values)


def _mark_keys(ctx: RuleContext, bounds: str, dims: HeadDims, *, pairs: bool) -> str:
    """Write the keys between starts and ends, `[batch, 1, 1, keys]`."""
    batch = dims.batch
    steps = ctx.const(tables.arange(dims.keys), DType.FLOAT32, "steps")
    column = [batch, 1, 1, 1]
    if not pairs:
        return ctx.op("Less", steps, ctx.reshape(bounds, column))
    ends = ctx.reshape(ctx.slice(bounds, 0, 0, batch), column)
    starts = ctx.reshape(ctx.slice(bounds, 0, batch, 2 * batch), column)
    after = ctx.op("Not", ctx.op("Less", steps, starts))
    return ctx.op("And", ctx.op("Less", steps, ends), after)
