"""Rules of attention."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase, case, contrib_case, data
from atc_py.fix.context import RuleContext
from atc_py.fix.facts import FLOATS
from atc_py.fix.parts.attention import (
    Attended,
    HeadDims,
    attend,
    mask_term,
    masked_score,
    merged,
    split_heads,
)
from atc_py.fix.parts.codes import DATA_SHARE, WEIGHT_SHARE, centered_codes, scaled
from atc_py.fix.rule import REORDERED, rule
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

# Positions of inputs: the mask, the past of key and value, the lengths of the keys.
_MASK, _PAST, _LENGTHS = 3, 4, 6

_HEADS_APART, _SEQUENCES = 4, 3
_AFTER_BIAS = 2
# The number of float32 among ONNX's element types.
_FLOAT = 1


@rule(
    REORDERED,
    case("Attention", [1, 4, 3, 8], [1, 2, 5, 8], [1, 2, 5, 8], Fed((3, 5), DType.BOOL), opset=23),
    miss=case(
        "Attention",
        Fed((1, 2, 3, 8), DType.FLOAT64),
        *[Fed((1, 2, 5, 8), DType.FLOAT64)] * 2,
        opset=23,
    ),
    float16="the scale is split over query and key; masked scores are -65504",
)
def attention_as_products(ctx: RuleContext) -> Sequence[str]:
    """Attention -> Mul, MatMul, Tanh, Add, Softmax, MatMul; masks as terms of the scores, if dims
    are known; the lengths of the keys are constant; a mask of floats that is not constant leaves
    each query a key.

    softmax(cap(q k' * scale) + mask) v for every head (Attention-23 to -25 of ONNX).
    """
    inputs = [tensor for tensor in ctx.node.inputs[:3] if tensor is not None]
    same = ctx.element in FLOATS and all(tensor.dtype is ctx.element for tensor in inputs)
    require(same, "the dtype is float16 or float32")
    apart = len(ctx.shape(0)) == _HEADS_APART
    counts = [ctx.integer("q_num_heads", 0), *[ctx.integer("kv_num_heads", 0)] * 2]
    require(apart or all(counts), "the heads are counted")
    q, k, v = (
        ctx.name(at) if apart else split_heads(ctx, ctx.name(at), counts[at]) for at in range(3)
    )
    past = 0
    if ctx.tensor(_PAST) is not None:
        past = ctx.shape(_PAST)[2]
        k, v = (
            ctx.op("Concat", ctx.name(_PAST + at), new, axis=2) for at, new in enumerate((k, v))
        )
    dims = _dims(ctx, counts, past, apart=apart)
    allowed, bias, keep = _mask(ctx, dims, past)
    attended = attend(
        ctx, q, k, v, dims,
        scale=ctx.number("scale", 0.0) or dims.size**-0.5,
        softcap=ctx.number("softcap", 0.0),
        biases=bias,
        keep=keep,
        wide=ctx.element is DType.FLOAT16 and ctx.integer("softmax_precision", 0) == _FLOAT,
    )  # fmt: skip
    y = attended.y if apart else merged(ctx, attended.y)
    return [y, k, v, _products(ctx, attended, allowed) if ctx.output(3) is not None else ""]


def _dims(ctx: RuleContext, counts: Sequence[int], past: int, *, apart: bool) -> HeadDims:
    q, k, v = (ctx.shape(at) for at in range(3))
    if apart:
        heads, groups, queries, keys = q[1], k[1], q[2], k[2]
        return HeadDims(q[0], heads, groups, queries, past + keys, q[3], v[3])
    sizes = (q[2] // counts[0], v[2] // counts[2])
    return HeadDims(q[0], counts[0], counts[1], q[1], past + k[1], *sizes)


def _mask(ctx: RuleContext, dims: HeadDims, past: int) -> tuple[NDArray[Any], list[str], str]:
    """The keys of each query that take part, terms of the scores, a factor of the weights.

    Keys that a mask chooses at run time count as taking part; the terms and the factor are of both.
    """
    allowed = _window(ctx, dims, past)
    terms: list[str] = []
    chosen = ""
    mask = ctx.tensor(_MASK)
    if mask is not None and mask.const is not None:
        given = _pad_mask(ctx.constant(_MASK), dims.keys)
        allowed = allowed & (given if given.dtype == np.bool_ else given > -np.inf)
        if given.dtype != np.bool_ and np.any(given):
            terms.append(ctx.const(np.where(given > -np.inf, given, 0), ctx.element, "mask"))
    elif mask is not None:
        require(ctx.shape(_MASK)[-1] == dims.keys, "the mask covers the keys")
        chosen = ctx.name(_MASK) if mask.dtype is DType.BOOL else ""
        terms += [] if chosen else [ctx.name(_MASK)]
    lowest = masked_score(ctx)
    order = ""
    if not allowed.all():
        order = ctx.const(np.where(allowed, 0, lowest), ctx.element, "mask")
    if not chosen:
        rows = allowed.any(axis=-1, keepdims=True)
        kept = "" if rows.all() else ctx.const(rows, ctx.element, "kept")
        return allowed, [*terms, order] if order else terms, kept
    none = [ctx.scalar(0, "zero"), ctx.scalar(lowest, "masked")]
    term = ctx.op("Where", chosen, *none)
    keep = ctx.cast(chosen, ctx.element)
    if order:
        term = ctx.op("Min", term, order)
        keep = ctx.op("Mul", keep, ctx.const(allowed, ctx.element, "kept"))
    return allowed, [*terms, term], keep


def _window(ctx: RuleContext, dims: HeadDims, past: int) -> NDArray[Any]:
    keys, queries = tables.arange(dims.keys), tables.arange(dims.queries)[:, None]
    offset: Any = past
    allowed: NDArray[Any] = tables.ones((dims.queries, dims.keys), np.bool_)
    if ctx.tensor(_LENGTHS) is not None:
        lengths = ctx.constant(_LENGTHS).reshape(-1, 1, 1, 1)
        allowed = allowed & (keys < lengths)
        offset = lengths - dims.queries
    ahead = keys - queries - offset
    left, right = ctx.integer("left_window_size", -1), ctx.integer("right_window_size", -1)
    if ctx.integer("is_causal", 0):
        # onnxruntime lets a single query attend every key; ONNX, those up to its position.
        alike = dims.queries > 1 or dims.keys - past == 1 or ctx.tensor(_PAST) is None
        require(alike, "a single causal query has one new key")
        right = 0
    allowed = allowed & (ahead <= right) if right >= 0 else allowed
    return allowed & (-ahead <= left) if left >= 0 else allowed


def _pad_mask(mask: NDArray[Any], keys: int) -> NDArray[Any]:
    missing = keys - mask.shape[-1]
    if missing <= 0:
        return mask
    pads = [(0, 0)] * (mask.ndim - 1) + [(0, missing)]
    return tables.pad(mask, pads, value=False if mask.dtype == np.bool_ else -np.inf)


def _products(ctx: RuleContext, attended: Attended, allowed: NDArray[Any]) -> str:
    mode = ctx.integer("qk_matmul_output_mode", 0)
    if mode == _AFTER_BIAS:
        mask = ctx.tensor(_MASK)
        finite = mask is None or (mask.const is None and mask.dtype is not DType.BOOL)
        require(finite and allowed.all(), "no score of output 4 is -inf")
    return (attended.scores, attended.capped, attended.biased, attended.weights)[mode]


# Positions of inputs.
_FUSED_BIAS, _FUSED_KEY_MASK, _FUSED_PAST, _FUSED_SCORE_BIAS = 2, 3, 4, 5


@rule(
    REORDERED,
    contrib_case(
        "Attention",
        [1, 3, 8],
        data(8, 24),
        data(24),
        num_heads=2,
        unidirectional=1,
    ),
    miss=contrib_case(
        "Attention",
        [1, 3, 32],
        data(32, 96),
        data(96),
        num_heads=1,
        do_rotary=1,
    ),
    boundary=contrib_case(
        "Attention",
        [1, 3, 8],
        data(8, 24),
        data(24),
        Fed((1, 3, 3), DType.INT32, (0, 1)),
        num_heads=2,
    ),
    float16="the scale is split over query and key",
)
def fused_attention_as_products(ctx: RuleContext) -> Sequence[str]:
    """Attention of onnxruntime -> MatMul, Add, Slice, Reshape, Transpose, Mul, MatMul, Add,
    Softmax, MatMul, if dims are known; no rotary embedding; the mask has at most three axes;
    past and present share no buffer.

    Attention of the heads of x W + b (onnxruntime's Attention).
    """
    ctx.floats(0)
    require(not ctx.integer("do_rotary", 0), "no rotary embedding")
    require(not ctx.integer("past_present_share_buffer", 0), "past and present share no buffer")
    heads = ctx.integer("num_heads", 1)
    batch, positions, _ = ctx.shape(0)
    widths = ctx.integers("qkv_hidden_sizes") or (ctx.shape(1)[1] // 3,) * 3
    x = ctx.op("MatMul", ctx.name(0), ctx.name(1))
    x = ctx.add(x, ctx.name(_FUSED_BIAS))
    starts = (0, widths[0], widths[0] + widths[1])
    q, k, v = (
        split_heads(ctx, ctx.slice(x, 2, start, start + width), heads)
        for start, width in zip(starts, widths, strict=True)
    )
    past = 0
    if ctx.tensor(_FUSED_PAST) is not None:
        past, old = ctx.shape(_FUSED_PAST)[3], ctx.name(_FUSED_PAST)
        k, v = (
            ctx.op("Concat", ctx.squeeze(ctx.slice(old, 0, at, at + 1), [0]), new, axis=2)
            for at, new in enumerate((k, v))
        )
    keys = past + positions
    dims = HeadDims(batch, heads, heads, positions, keys, widths[0] // heads, widths[2] // heads)
    terms = ctx.present(_FUSED_SCORE_BIAS)
    attended = attend(
        ctx, q, k, v, dims,
        scale=ctx.number("scale", 0.0) or dims.size**-0.5,
        biases=[*terms, *mask_term(ctx, _FUSED_KEY_MASK, dims)],
    )  # fmt: skip
    present = ""
    if ctx.output(1) is not None:
        present = ctx.op("Concat", *(ctx.unsqueeze(value, [0]) for value in (k, v)), axis=0)
    return [merged(ctx, attended.y), present]


# Positions of inputs; the last two share the buffer of past and present.
_MULTI_BIAS, _MULTI_KEY_MASK, _MULTI_SCORE_BIAS, _MULTI_PAST, _SHARED = 3, 4, 5, 6, 8


@rule(
    REORDERED,
    contrib_case(
        "MultiHeadAttention",
        [1, 3, 8],
        [1, 5, 8],
        [1, 5, 8],
        data(24),
        num_heads=2,
    ),
    miss=contrib_case("MultiHeadAttention", [1, 3, 2, 3, 4], num_heads=2),
    boundary=contrib_case(
        "MultiHeadAttention",
        [1, 3, 8],
        [1, 5, 8],
        [1, 5, 8],
        data(24),
        Fed((1, 3, 5), DType.INT32, (0, 1)),
        num_heads=2,
    ),
    float16="the scale is split over query and key",
)
def multi_head_attention_as_products(ctx: RuleContext) -> Sequence[str]:
    """MultiHeadAttention of onnxruntime -> Add, Reshape, Transpose, Mul, MatMul, Add, Softmax,
    MatMul, if dims are known; query, key and value are not packed; past and present share no
    buffer; the products are not an output.

    softmax(q k' * scale + masks) v for every head (onnxruntime's MultiHeadAttention).
    """
    ctx.floats(0)
    alone = ctx.tensor(_SHARED) is None and ctx.tensor(_SHARED + 1) is None
    require(alone, "past and present share no buffer")
    require(ctx.output(3) is None, "the products are not an output")
    heads = ctx.integer("num_heads", 1)
    q, k, v = (ctx.shape(at) for at in range(3))
    require(len(q) == _SEQUENCES, "the query is not packed")
    apart = len(k) == _HEADS_APART
    require(apart or len(k) == _SEQUENCES, "key and value are not packed")
    query, key, value = _project_heads(ctx, heads, apart=apart)
    past = 0 if ctx.tensor(_MULTI_PAST) is None else ctx.shape(_MULTI_PAST)[2]
    if past:
        key, value = (
            ctx.op("Concat", ctx.name(_MULTI_PAST + at), new, axis=2)
            for at, new in enumerate((key, value))
        )
    keys = past + (k[2] if apart else k[1])
    width = v[3] if apart else v[2] // heads
    dims = HeadDims(q[0], heads, heads, q[1], keys, q[2] // heads, width)
    terms = ctx.present(_MULTI_SCORE_BIAS)
    attended = attend(
        ctx, query, key, value, dims,
        scale=ctx.number("scale", 0.0) or dims.size**-0.5,
        biases=[*terms, *mask_term(ctx, _MULTI_KEY_MASK, dims)],
    )  # fmt: skip
    return [merged(ctx, attended.y), key, value]


def _project_heads(ctx: RuleContext, heads: int, *, apart: bool) -> list[str]:
    widths = [ctx.shape(0)[-1], ctx.shape(0)[-1], 0 if apart else ctx.shape(2)[-1]]
    names = []
    begin = 0
    for at, width in enumerate(widths):
        x = ctx.name(at)
        if apart and at:
            names.append(x)
            continue
        if ctx.tensor(_MULTI_BIAS) is not None:
            part = ctx.slice(ctx.name(_MULTI_BIAS), 0, begin, begin + width)
            x = ctx.op("Add", x, part)
        begin += width
        names.append(split_heads(ctx, x, heads))
    return names


# Positions of inputs.
_CODED_BIAS, _STEP, _WEIGHT_STEP, _CODED_KEY_MASK, _ZERO, _WEIGHT_ZERO, _CODED_PAST = range(2, 9)


def _case(mask: Fed | None = None, **attributes: int) -> RuleCase:
    weights = np.random.default_rng(5).integers(-99, 99, (8, 24)).astype(np.int8)
    steps = [ConstInput(np.array(number, np.float32)) for number in (0.01, 0.002)]
    zeros = [ConstInput(np.array(120, np.uint8)), ConstInput(np.array(0, np.int8))]
    inputs = (Fed((1, 3, 8), DType.UINT8), ConstInput(weights), data(24), *steps, mask, *zeros)
    return RuleCase("QAttention", inputs, attributes, opset=1, domain="com.microsoft")


@rule(
    REORDERED,
    _case(num_heads=2, unidirectional=1),
    miss=_case(num_heads=2, do_rotary=1),
    boundary=_case(Fed((1, 3, 3), DType.INT32, (0, 1)), num_heads=2),
    float16="codes are exact; no sum overflows",
)
def q_attention_as_products(ctx: RuleContext) -> str:
    """QAttention -> MatMul of codes, Mul, Add, Slice, Reshape, Transpose, MatMul, Softmax, MatMul,
    if dims are known; no past and no rotary embedding.

    Attention of heads of x W + b, where x and W are codes (QAttention).
    """
    require(not ctx.integer("do_rotary", 0), "no rotary embedding")
    require(ctx.tensor(_CODED_PAST) is None and ctx.output(1) is None, "there is no past")
    require(ctx.input(_STEP).dtype is DType.FLOAT32, "the scales are float32")
    ctx.computes_in = DType.FLOAT32
    heads = ctx.integer("num_heads", 1)
    batch, positions, _ = ctx.shape(0)
    width = ctx.shape(1)[1] // 3
    x = centered_codes(ctx, 0, _ZERO, DATA_SHARE, None)
    weights = centered_codes(ctx, 1, _WEIGHT_ZERO, WEIGHT_SHARE, -1)
    steps = [
        scaled(ctx, ctx.name(at), 1 / share)
        for at, share in ((_STEP, DATA_SHARE), (_WEIGHT_STEP, WEIGHT_SHARE))
    ]
    x = ctx.op("Mul", ctx.op("MatMul", x, weights), ctx.op("Mul", *steps))
    x = ctx.op("Add", x, ctx.name(_CODED_BIAS))
    q, k, v = (
        split_heads(ctx, ctx.slice(x, 2, at * width, (at + 1) * width), heads) for at in range(3)
    )
    size = width // heads
    dims = HeadDims(batch, heads, heads, positions, positions, size, size)
    scale = ctx.number("scale", 0.0) or size**-0.5
    attended = attend(ctx, q, k, v, dims, scale=scale, biases=mask_term(ctx, _CODED_KEY_MASK, dims))
    return merged(ctx, attended.y)
