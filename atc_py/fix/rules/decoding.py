"""Rules of attention with a cache of keys, of linear attention and of rotary embeddings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, contrib_case, data
from atc_py.fix.parts.attention import HeadDims, attend, causal_term, merged, split_heads
from atc_py.fix.parts.bodies import MOST_STEPS
from atc_py.fix.registry import rule
from atc_py.fix.site import Site
from atc_py.fix.unfit import require
from atc_py.fix.writing import REORDERED
from atc_py.tensor.dtypes import DType

_PAIR = 2


def rotated(  # noqa: PLR0913  (what is rotated, by what, and how)
    site: Site, x: str, dims: Sequence[int], cos: str, sin: str, width: int, *, interleaved: bool
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
    real = site.op("Sub", site.op("Mul", a, cos), site.op("Mul", b, sin))
    imaginary = site.op("Add", site.op("Mul", a, sin), site.op("Mul", b, cos))
    if interleaved:
        parts = [site.reshape(value, [*dims[:last], half, 1]) for value in (real, imaginary)]
        y = site.reshape(site.op("Concat", *parts, axis=last + 1), [*dims[:last], width])
    else:
        y = site.op("Concat", real, imaginary, axis=last)
    if turned == x:
        return y
    return site.op("Concat", y, site.slice(x, last, width, dims[last]), axis=last)


# Positions of inputs; the others are scales of a quantized cache, norms of heads and lengths of
# queries.
_GROUPED_PAST, _GROUPED_LENGTHS, _TOTAL, _COS, _POSITIONS, _GROUPED_SCORE_BIAS, _SINK, _OTHERS = (
    3,
    5,
    6,
    7,
    9,
    10,
    11,
    12,
)


def _lengths(*values: int) -> ConstInput:
    return ConstInput(np.array(values, np.int32))


_INPUTS = (Fed((1, 3, 32)), Fed((1, 3, 16)), Fed((1, 3, 16)), None, None)


@rule(
    "com.microsoft::GroupQueryAttention",
    REORDERED,
    contrib_case(
        "GroupQueryAttention",
        *_INPUTS,
        _lengths(2),
        np.array(3, np.int32),
        num_heads=2,
        kv_num_heads=1,
        outputs=3,
    ),
    miss=contrib_case(
        "GroupQueryAttention",
        *_INPUTS,
        _lengths(1),
        np.array(3, np.int32),
        num_heads=2,
        kv_num_heads=1,
        outputs=3,
    ),
    float16="the scale is split over query and key; masked scores are -65504",
)
def group_query_attention_as_products(site: Site) -> Sequence[str]:
    """GroupQueryAttention of onnxruntime -> the rotation, Concat of the past, Mul, MatMul, Add,
    Softmax, MatMul, if dims and lengths are constant, and all sequences as long as the longest;
    the cache is of floats and holds no more than the past.

    Causal attention whose query heads share keys (onnxruntime's GroupQueryAttention).
    """
    _require_plain(site)
    heads, groups = site.integer("num_heads", 1), site.integer("kv_num_heads", 1)
    batch, queries, width = site.shape(0)
    total = int(site.constant(_TOTAL).reshape(-1)[0])
    whole = (site.constant(_GROUPED_LENGTHS) == total - 1).all()
    require(whole, "all sequences are as long as the longest")
    packed = site.tensor(1) is None
    size = width // (heads + 2 * groups if packed else heads)
    q, k, v = _heads(site, heads, groups, packed=packed)
    past = total - queries
    if site.integer("do_rotary", 0):
        q = _rotated(site, q, (batch, heads, queries, size), past)
        k = _rotated(site, k, (batch, groups, queries, size), past)
    if past:
        k, v = (_joined(site, _GROUPED_PAST + at, new, past) for at, new in enumerate((k, v)))
    dims = HeadDims(batch, heads, groups, queries, total, size, size)
    attended = attend(
        site, q, k, v, dims,
        scale=site.number("scale", 0.0) or size**-0.5,
        softcap=site.number("softcap", 0.0),
        biases=_terms(site, dims),
        sink=_sink(site, dims),
    )  # fmt: skip
    return [merged(site, attended.y), k, v]


def _require_plain(site: Site) -> None:
    site.floats(0)
    others = [site.tensor(at) for at in (_POSITIONS, *range(_OTHERS, len(site.node.inputs)))]
    require(not any(others), "there are no positions, scales or norms")
    require(not site.integer("sliding_window_cache", 0), "the cache does not slide")
    require(site.output(3) is None, "the products are not an output")


def _heads(site: Site, heads: int, groups: int, *, packed: bool) -> list[str]:
    counts = (heads, groups, groups)
    if not packed:
        return [split_heads(site, site.name(at), count) for at, count in enumerate(counts)]
    x = split_heads(site, site.name(0), heads + 2 * groups)
    starts = (0, heads, heads + groups)
    return [
        site.slice(x, 1, start, start + count) for start, count in zip(starts, counts, strict=True)
    ]


def _rotated(site: Site, x: str, dims: tuple[int, ...], past: int) -> str:
    positions = dims[2]
    cos, sin = (site.slice(site.name(_COS + at), 0, past, past + positions) for at in range(2))
    width = 2 * site.shape(_COS)[1]
    interleaved = site.flag("rotary_interleaved", default=False)
    return rotated(site, x, dims, cos, sin, width, interleaved=interleaved)


def _joined(site: Site, at: int, new: str, past: int) -> str:
    require(site.input(at).dtype is site.element, "the cache is not quantized")
    used = any(site.output(number) is not None for number in (1, 2))
    length = site.shape(at)[2]
    exact = length == past or (length > past and not used)
    require(exact, "the cache holds no more than the past")
    old = site.name(at) if length == past else site.slice(site.name(at), 2, 0, past)
    return site.op("Concat", old, new, axis=2)


def _terms(site: Site, dims: HeadDims) -> list[str]:
    terms = [] if site.tensor(_GROUPED_SCORE_BIAS) is None else [site.name(_GROUPED_SCORE_BIAS)]
    window = site.integer("local_window_size", -1)
    if not site.integer("causal", 1):
        return terms
    order: Any = causal_term(site, dims, window)
    return [*terms, site.const(order, site.element, "causal")] if order.any() else terms


def _sink(site: Site, dims: HeadDims) -> str:
    """One more score of each query; "" without one."""
    smooth = site.integer("smooth_softmax", -1) > 0
    sink = site.tensor(_SINK)
    if sink is None and not smooth:
        return ""
    zeros = site.const(
        tables.zeros((dims.batch, dims.heads, dims.queries, 1)), site.element, "sink"
    )
    if sink is None:
        return zeros
    return site.op("Add", zeros, site.reshape(sink.name, [1, dims.heads, 1, 1]))


_HEADS_APART = 4


@rule(
    "RotaryEmbedding com.microsoft::RotaryEmbedding",
    REORDERED,
    contrib_case(
        "RotaryEmbedding",
        [1, 2, 3, 8],
        np.array([[0, 1, 2]]),
        data(5, 4),
        data(5, 4, seed=1),
    ),
    miss=contrib_case(
        "RotaryEmbedding",
        [1, 2, 3, 8],
        np.array([[0, 1, 2]]),
        data(5, 4),
        data(5, 4, seed=1),
        scale=0.5,
    ),
)
def rotary_as_products(site: Site) -> str:
    """RotaryEmbedding of ONNX or onnxruntime -> Gather of the angles, Slice, Mul, Sub, Add, Concat,
    if dims are known; sequences are not packed; onnxruntime's scale is 1.

    Pairs of elements turned by the angle of their position (RotaryEmbedding-23 of ONNX and that of
    onnxruntime).
    """
    site.floats(0)
    require(not site.integer("is_packed_batching", 0), "sequences are not packed")
    require(site.number("scale", 1.0) == 1, "the scale is 1")
    cos_at, ids_at = (2, 1) if site.node.domain else (1, 3)
    dims = site.shape(0)
    half = site.shape(cos_at)[-1]
    apart = len(dims) == _HEADS_APART
    x = site.name(0)
    if not apart:
        heads = site.integer("num_heads", 0) or dims[-1] // (2 * half)
        dims = (dims[0], dims[1], heads, dims[2] // heads)
        x = site.reshape(x, dims)
    positions = dims[2 if apart else 1]
    cos, sin = (
        site.unsqueeze(_angles(site, at, ids_at, positions), [1 if apart else 2])
        for at in (cos_at, cos_at + 1)
    )
    interleaved = site.flag("interleaved", default=False)
    y = rotated(site, x, dims, cos, sin, 2 * half, interleaved=interleaved)
    return y if apart else site.reshape(y, site.shape(0))


def _angles(site: Site, at: int, ids_at: int, positions: int) -> str:
    """`[batch or 1, positions, width / 2]` of a table of cosines or sines."""
    table = site.name(at)
    ids = site.tensor(ids_at)
    if ids is None:
        return table
    if len(site.dims(ids_at)) > 1:
        return site.op("Gather", table, ids.name, axis=0)
    steps = tables.arange(positions)[None]
    if ids.const is not None:
        return site.op("Gather", table, site.const(site.constant(ids_at) + steps), axis=0)
    first = site.cast(ids.name, DType.INT32)
    rows = site.op("Add", first, site.const(steps, DType.INT32, "steps"))
    return site.op("Gather", table, rows, axis=0)


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
    """The tensors of the recurrence, one step a slice of axis 1.

    Attributes:
        q: `[batch, steps, groups, shared, size]`, scaled.
        k: `[batch, steps, groups, 1, size]`.
        v: `[batch, steps, groups, 1, value_size]`.
        decay: factors of the state, `[batch, steps, groups, size or 1, 1]`; "" for none.
        rate: factors of the update, `[batch, steps, groups or 1, 1, 1]`; "" for none.
    """

    q: str
    k: str
    v: str
    decay: str
    rate: str


@rule(
    "LinearAttention com.microsoft::LinearAttention",
    REORDERED,
    contrib_case(
        "LinearAttention",
        *[Fed((1, 2, 8))] * 3,
        q_num_heads=2,
        kv_num_heads=2,
        update_rule="linear",
        outputs=2,
    ),
    miss=contrib_case(
        "LinearAttention",
        *[Fed((1, 2, 8))] * 3,
        [2, 1, 2, 4, 4],
        q_num_heads=2,
        kv_num_heads=2,
        update_rule="linear",
        state_window=2,
        outputs=2,
    ),
    boundary=contrib_case(
        "LinearAttention",
        *[Fed((1, 1, 8))] * 3,
        q_num_heads=2,
        kv_num_heads=2,
        update_rule="linear",
        outputs=2,
    ),
    float16="the state is rounded at each step",
)
def linear_attention_unroll(site: Site) -> Sequence[str]:
    """LinearAttention of ONNX or onnxruntime -> for each step Slice, Mul, MatMul, Sub, Add; Concat,
    if dims are known; at most 512 steps; the state has no window; no fewer heads of the query
    than of the key.

    S' = exp(g) S + k (b (v - k' exp(g) S)), o = scale q' S' of every step (LinearAttention-27 of
    ONNX and that of onnxruntime).
    """
    site.floats(0)
    require(not site.integer("state_window", 0), "the state has no window")
    batch, steps, _ = site.shape(0)
    require(0 < steps <= MOST_STEPS, "there are 1 to 512 steps")
    groups, heads = site.integer("kv_num_heads", 1), site.integer("q_num_heads", 1)
    require(heads % groups == 0, "no fewer heads of the query")
    parts = _parts(site, batch, steps, heads, groups)
    size, value_size = site.shape(0)[2] // heads, site.shape(2)[2] // groups
    state = site.name(_STATE)
    if not state:
        state = site.const(tables.zeros((batch, groups, size, value_size)), site.element, "state")
    results = []
    for step in range(steps):
        state = _next(site, parts, state, step)
        y = site.op("MatMul", _at(site, parts.q, step), state)
        results.append(site.reshape(y, [batch, 1, heads * value_size]))
    y = results[0] if steps == 1 else site.op("Concat", *results, axis=1)
    return [y, state]


def _parts(site: Site, batch: int, steps: int, heads: int, groups: int) -> _Parts:
    decays, subtracts = _RULES.get(site.text("update_rule", "gated_delta"), (None, None))
    require(decays is not None, "the update rule is known")
    size = site.shape(0)[2] // heads
    scale = site.number("scale", 0.0) or size**-0.5
    scaled = site.op("Mul", site.name(0), site.scalar(scale, "scale"))
    decay = rate = ""
    if decays:
        width = site.shape(_DECAY)[2] // groups
        factors = site.op("Exp", site.name(_DECAY))
        decay = site.reshape(factors, [batch, steps, groups, width, 1])
    if subtracts:
        rate = site.reshape(site.name(_RATE), [batch, steps, site.shape(_RATE)[2], 1, 1])
    return _Parts(
        site.reshape(scaled, [batch, steps, groups, heads // groups, size]),
        site.reshape(site.name(1), [batch, steps, groups, 1, size]),
        site.reshape(site.name(2), [batch, steps, groups, 1, -1]),
        decay,
        rate,
    )


def _at(site: Site, x: str, step: int) -> str:
    return site.squeeze(site.slice(x, 1, step, step + 1), [1])


def _next(site: Site, parts: _Parts, state: str, step: int) -> str:
    """The state after one step."""
    key, value = _at(site, parts.k, step), _at(site, parts.v, step)
    if parts.decay:
        state = site.op("Mul", state, _at(site, parts.decay, step))
    if parts.rate:
        held = site.op("MatMul", key, state)
        value = site.op("Mul", site.op("Sub", value, held), _at(site, parts.rate, step))
    update = site.op("Mul", site.transpose(key, [0, 1, 3, 2]), value)
    return site.op("Add", state, update)
