"""Rules of attention with a cache of keys, of linear attention and of rotary embeddings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from atc_py.fix import tables
from atc_py.fix.case import Fed, RuleCase, contrib_case, data
from atc_py.fix.context import RuleContext
from atc_py.fix.parts.attention import HeadDims, attend, causal_term, merged, split_heads
from atc_py.fix.parts.bodies import MOST_STEPS
from atc_py.fix.rule import REORDERED, rule
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

_PAIR = 2


def rotated(  # noqa: PLR0913  (what is rotated, by what, and how)
    ctx: RuleContext,
    x: str,
    dims: Sequence[int],
    cos: str,
    sin: str,
    width: int,
    *,
    interleaved: bool,
) -> str:
    """Write x, of rank 4, with pairs (a, b) of its last axis as (a cos - b sin, a sin + b cos).

    Cosines and sines broadcast to x with `width / 2` elements on the last axis, the elements that
    are rotated; `interleaved`: a pair has neighbors, else elements of the first and the second
    half.
    """
    last = len(dims) - 1
    turned = x if width == dims[last] else ctx.slice(x, last, 0, width)
    half = width // _PAIR
    if interleaved:
        pairs = ctx.reshape(turned, [*dims[:last], half, _PAIR])
        a, b = (
            ctx.reshape(ctx.slice(pairs, last + 1, at, at + 1), [*dims[:last], half])
            for at in range(_PAIR)
        )
    else:
        a, b = ctx.slice(turned, last, 0, half), ctx.slice(turned, last, half, width)
    real = ctx.op("Sub", ctx.op("Mul", a, cos), ctx.op("Mul", b, sin))
    imaginary = ctx.op("Add", ctx.op("Mul", a, sin), ctx.op("Mul", b, cos))
    if interleaved:
        parts = [ctx.reshape(value, [*dims[:last], half, 1]) for value in (real, imaginary)]
        y = ctx.reshape(ctx.op("Concat", *parts, axis=last + 1), [*dims[:last], width])
    else:
        y = ctx.op("Concat", real, imaginary, axis=last)
    if turned == x:
        return y
    return ctx.op("Concat", y, ctx.slice(x, last, width, dims[last]), axis=last)


# Positions of inputs; the others are scales of a quantized cache, norms of heads and lengths of
# queries.
_GROUPED_PAST, _GROUPED_LENGTHS, _TOTAL, _COS = 3, 5, 6, 7
_POSITIONS, _GROUPED_SCORE_BIAS, _SINK, _OTHERS = 9, 10, 11, 12


def _grouped(length: int) -> RuleCase:
    """Three new positions after a past; `length` is that of the sequence without the last one."""
    inputs = (Fed((1, 3, 32)), Fed((1, 3, 16)), Fed((1, 3, 16)), None, None)
    lengths = (np.array([length], np.int32), np.array(3, np.int32))
    own = {"num_heads": 2, "kv_num_heads": 1}
    return contrib_case("GroupQueryAttention", *inputs, *lengths, **own, outputs=3)


@rule(
    REORDERED,
    _grouped(2),
    miss=_grouped(1),
    float16="the scale is split over query and key; masked scores are -65504",
)
def group_query_attention_as_products(ctx: RuleContext) -> Sequence[str]:
    """GroupQueryAttention of onnxruntime -> the rotation, Concat of the past, Mul, MatMul, Add,
    Softmax, MatMul, if dims and lengths are constant, and all sequences as long as the longest;
    the cache is of floats and holds no more than the past.

    Causal attention whose query heads share keys (onnxruntime's GroupQueryAttention).
    """
    _require_plain(ctx)
    heads, groups = ctx.integer("num_heads", 1), ctx.integer("kv_num_heads", 1)
    batch, queries, width = ctx.shape(0)
    total = int(ctx.constant(_TOTAL).reshape(-1)[0])
    whole = (ctx.constant(_GROUPED_LENGTHS) == total - 1).all()
    require(whole, "all sequences are as long as the longest")
    packed = ctx.tensor(1) is None
    size = width // (heads + 2 * groups if packed else heads)
    q, k, v = _heads(ctx, heads, groups, packed=packed)
    past = total - queries
    if ctx.integer("do_rotary", 0):
        q = _rotate(ctx, q, (batch, heads, queries, size), past)
        k = _rotate(ctx, k, (batch, groups, queries, size), past)
    if past:
        k, v = (
            _append_to_past(ctx, _GROUPED_PAST + at, new, past) for at, new in enumerate((k, v))
        )
    dims = HeadDims(batch, heads, groups, queries, total, size, size)
    attended = attend(
        ctx, q, k, v, dims,
        scale=ctx.number("scale", 0.0) or size**-0.5,
        softcap=ctx.number("softcap", 0.0),
        biases=_terms(ctx, dims),
        sink=_sink(ctx, dims),
    )  # fmt: skip
    return [merged(ctx, attended.y), k, v]


def _require_plain(ctx: RuleContext) -> None:
    ctx.floats(0)
    others = [ctx.tensor(at) for at in (_POSITIONS, *range(_OTHERS, len(ctx.node.inputs)))]
    require(not any(others), "there are no positions, scales or norms")
    require(not ctx.integer("sliding_window_cache", 0), "the cache does not slide")
    require(ctx.output(3) is None, "the products are not an output")


def _heads(ctx: RuleContext, heads: int, groups: int, *, packed: bool) -> list[str]:
    counts = (heads, groups, groups)
    if not packed:
        return [split_heads(ctx, ctx.name(at), count) for at, count in enumerate(counts)]
    x = split_heads(ctx, ctx.name(0), heads + 2 * groups)
    starts = (0, heads, heads + groups)
    return [
        ctx.slice(x, 1, start, start + count) for start, count in zip(starts, counts, strict=True)
    ]


def _rotate(ctx: RuleContext, x: str, dims: tuple[int, ...], past: int) -> str:
    positions = dims[2]
    cos, sin = (ctx.slice(ctx.name(_COS + at), 0, past, past + positions) for at in range(2))
    width = 2 * ctx.shape(_COS)[1]
    interleaved = ctx.flag("rotary_interleaved", default=False)
    return rotated(ctx, x, dims, cos, sin, width, interleaved=interleaved)


def _append_to_past(ctx: RuleContext, at: int, new: str, past: int) -> str:
    require(ctx.input(at).dtype is ctx.element, "the cache is not quantized")
    used = any(ctx.output(number) is not None for number in (1, 2))
    length = ctx.shape(at)[2]
    exact = length == past or (length > past and not used)
    require(exact, "the cache holds no more than the past")
    old = ctx.name(at) if length == past else ctx.slice(ctx.name(at), 2, 0, past)
    return ctx.op("Concat", old, new, axis=2)


def _terms(ctx: RuleContext, dims: HeadDims) -> list[str]:
    terms = ctx.present(_GROUPED_SCORE_BIAS)
    window = ctx.integer("local_window_size", -1)
    if not ctx.integer("causal", 1):
        return terms
    order: Any = causal_term(ctx, dims, window)
    return [*terms, ctx.const(order, ctx.element, "causal")] if order.any() else terms


def _sink(ctx: RuleContext, dims: HeadDims) -> str:
    smooth = ctx.integer("smooth_softmax", -1) > 0
    sink = ctx.tensor(_SINK)
    if sink is None and not smooth:
        return ""
    zeros = ctx.full((dims.batch, dims.heads, dims.queries, 1), 0, "sink")
    if sink is None:
        return zeros
    return ctx.op("Add", zeros, ctx.reshape(sink.name, [1, dims.heads, 1, 1]))


_HEADS_APART = 4

_ANGLES = ([1, 2, 3, 8], np.array([[0, 1, 2]]), data(5, 4), data(5, 4, seed=1))


@rule(
    REORDERED,
    contrib_case("RotaryEmbedding", *_ANGLES),
    operators="RotaryEmbedding com.microsoft::RotaryEmbedding",
    miss=contrib_case("RotaryEmbedding", *_ANGLES, scale=0.5),
)
def rotary_as_products(ctx: RuleContext) -> str:
    """RotaryEmbedding of ONNX or onnxruntime -> Gather of the angles, Slice, Mul, Sub, Add, Concat,
    if dims are known; sequences are not packed; onnxruntime's scale is 1.

    Pairs of elements turned by the angle of their position (RotaryEmbedding-23 of ONNX and that of
    onnxruntime).
    """
    ctx.floats(0)
    require(not ctx.integer("is_packed_batching", 0), "sequences are not packed")
    require(ctx.number("scale", 1.0) == 1, "the scale is 1", found=ctx.number("scale", 1.0))
    cos_at, ids_at = (2, 1) if ctx.node.domain else (1, 3)
    dims = ctx.shape(0)
    half = ctx.shape(cos_at)[-1]
    apart = len(dims) == _HEADS_APART
    x = ctx.name(0)
    if not apart:
        heads = ctx.integer("num_heads", 0) or dims[-1] // (2 * half)
        dims = (dims[0], dims[1], heads, dims[2] // heads)
        x = ctx.reshape(x, dims)
    positions = dims[2 if apart else 1]
    cos, sin = (
        ctx.unsqueeze(_angles(ctx, at, ids_at, positions), [1 if apart else 2])
        for at in (cos_at, cos_at + 1)
    )
    interleaved = ctx.flag("interleaved", default=False)
    y = rotated(ctx, x, dims, cos, sin, 2 * half, interleaved=interleaved)
    return y if apart else ctx.reshape(y, ctx.shape(0))


def _angles(ctx: RuleContext, at: int, ids_at: int, positions: int) -> str:
    """`[batch or 1, positions, width / 2]` of a table of cosines or sines."""
    table = ctx.name(at)
    ids = ctx.tensor(ids_at)
    if ids is None:
        return table
    if len(ctx.dims(ids_at)) > 1:
        return ctx.op("Gather", table, ids.name, axis=0)
    steps = tables.arange(positions)[None]
    if ids.const is not None:
        return ctx.op("Gather", table, ctx.const(ctx.constant(ids_at) + steps), axis=0)
    first = ctx.cast(ids.name, DType.INT32)
    rows = ctx.op("Add", first, ctx.const(steps, DType.INT32, "steps"))
    return ctx.op("Gather", table, rows, axis=0)


# Positions of inputs.
_STATE, _DECAY, _RATE = 3, 4, 5

# Whether the state decays, and whether what it holds of a key is taken from the value.
_RULES = {
    "linear": (False, False),
    "gated": (True, False),
    "delta": (False, True),
    "gated_delta": (True, True),
}


@dataclass(frozen=True, slots=True)
class _Parts:
    """The tensors of the recurrence, one step a slice of axis 1."""

    q: str  # `[batch, steps, groups, shared, size]`, scaled
    k: str  # `[batch, steps, groups, 1, size]`
    v: str  # `[batch, steps, groups, 1, value_size]`
    decay: str  # factors of the state, `[batch, steps, groups, size or 1, 1]`; "" for none
    rate: str  # factors of the update, `[batch, steps, groups or 1, 1, 1]`; "" for none


def _linear(steps: int, *past: Sequence[int], **attributes: Any) -> RuleCase:
    own = {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear", **attributes}
    return contrib_case("LinearAttention", *[Fed((1, steps, 8))] * 3, *past, **own, outputs=2)


@rule(
    REORDERED,
    _linear(2),
    operators="LinearAttention com.microsoft::LinearAttention",
    miss=_linear(2, [2, 1, 2, 4, 4], state_window=2),
    boundary=_linear(1),
    float16="the state is rounded at each step",
)
def linear_attention_unroll(ctx: RuleContext) -> Sequence[str]:
    """LinearAttention of ONNX or onnxruntime -> for each step Slice, Mul, MatMul, Sub, Add; Concat,
    if dims are known; at most 512 steps; the state has no window; no fewer heads of the query
    than of the key.

    S' = exp(g) S + k (b (v - k' exp(g) S)), o = scale q' S' of every step (LinearAttention-27 of
    ONNX and that of onnxruntime).
    """
    ctx.floats(0)
    require(not ctx.integer("state_window", 0), "the state has no window")
    batch, steps, _ = ctx.shape(0)
    require(0 < steps <= MOST_STEPS, "there are 1 to 512 steps", found=steps)
    groups, heads = ctx.integer("kv_num_heads", 1), ctx.integer("q_num_heads", 1)
    require(heads % groups == 0, "no fewer heads of the query")
    parts = _parts(ctx, batch, steps, heads, groups)
    size, value_size = ctx.shape(0)[2] // heads, ctx.shape(2)[2] // groups
    state = ctx.name(_STATE)
    if not state:
        state = ctx.full((batch, groups, size, value_size), 0, "state")
    results = []
    for step in range(steps):
        state = _next(ctx, parts, state, step)
        y = ctx.op("MatMul", _step_of(ctx, parts.q, step), state)
        results.append(ctx.reshape(y, [batch, 1, heads * value_size]))
    return [ctx.concat(results, 1), state]


def _parts(ctx: RuleContext, batch: int, steps: int, heads: int, groups: int) -> _Parts:
    decays, subtracts = _RULES.get(ctx.text("update_rule", "gated_delta"), (None, None))
    require(decays is not None, "the update rule is known")
    size = ctx.shape(0)[2] // heads
    scale = ctx.number("scale", 0.0) or size**-0.5
    scaled = ctx.times(ctx.name(0), scale, "scale")
    decay = rate = ""
    if decays:
        width = ctx.shape(_DECAY)[2] // groups
        factors = ctx.op("Exp", ctx.name(_DECAY))
        decay = ctx.reshape(factors, [batch, steps, groups, width, 1])
    if subtracts:
        rate = ctx.reshape(ctx.name(_RATE), [batch, steps, ctx.shape(_RATE)[2], 1, 1])
    return _Parts(
        ctx.reshape(scaled, [batch, steps, groups, heads // groups, size]),
        ctx.reshape(ctx.name(1), [batch, steps, groups, 1, size]),
        ctx.reshape(ctx.name(2), [batch, steps, groups, 1, -1]),
        decay,
        rate,
    )


def _step_of(ctx: RuleContext, x: str, step: int) -> str:
    return ctx.squeeze(ctx.slice(x, 1, step, step + 1), [1])


def _next(ctx: RuleContext, parts: _Parts, state: str, step: int) -> str:
    key, value = _step_of(ctx, parts.k, step), _step_of(ctx, parts.v, step)
    if parts.decay:
        state = ctx.op("Mul", state, _step_of(ctx, parts.decay, step))
    if parts.rate:
        held = ctx.op("MatMul", key, state)
        value = ctx.op("Mul", ctx.op("Sub", value, held), _step_of(ctx, parts.rate, step))
    update = ctx.op("Mul", ctx.transpose(key, [0, 1, 3, 2]), value)
    return ctx.op("Add", state, update)
