"""Rules of attention."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase, case, contrib_case, data
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
from atc_py.fix.registry import rule
from atc_py.fix.site import Site
from atc_py.fix.unfit import require
from atc_py.fix.writing import REORDERED
from atc_py.tensor.dtypes import DType

# Positions of inputs: the mask, the past of key and value, the lengths of the keys.
_MASK, _PAST, _LENGTHS = 3, 4, 6

_HEADS_APART, _SEQUENCES = 4, 3
_AFTER_BIAS = 2
# The number of float32 among ONNX's element types.
_FLOAT = 1


@rule(
    "Attention",
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
def attention_as_products(site: Site) -> Sequence[str]:
    """Attention -> Mul, MatMul, Tanh, Add, Softmax, MatMul; masks as terms of the scores, if dims
    are known; the lengths of the keys are constant; a mask of floats that is not constant leaves
    each query a key.

    softmax(cap(q k' * scale) + mask) v for every head (Attention-23 to -25 of ONNX).
    """
    inputs = [tensor for tensor in site.node.inputs[:3] if tensor is not None]
    same = site.element in FLOATS and all(tensor.dtype is site.element for tensor in inputs)
    require(same, "the dtype is float16 or float32")
    apart = len(site.shape(0)) == _HEADS_APART
    counts = [site.integer("q_num_heads", 0), *[site.integer("kv_num_heads", 0)] * 2]
    require(apart or all(counts), "the heads are counted")
    q, k, v = (
        site.name(at) if apart else split_heads(site, site.name(at), counts[at]) for at in range(3)
    )
    past = 0
    if site.tensor(_PAST) is not None:
        past = site.shape(_PAST)[2]
        k, v = (
            site.op("Concat", site.name(_PAST + at), new, axis=2) for at, new in enumerate((k, v))
        )
    dims = _dims(site, counts, past, apart=apart)
    allowed, bias, keep = _mask(site, dims, past)
    attended = attend(
        site, q, k, v, dims,
        scale=site.number("scale", 0.0) or dims.size**-0.5,
        softcap=site.number("softcap", 0.0),
        biases=bias,
        keep=keep,
        wide=site.element is DType.FLOAT16 and site.integer("softmax_precision", 0) == _FLOAT,
    )  # fmt: skip
    y = attended.y if apart else merged(site, attended.y)
    return [y, k, v, _products(site, attended, allowed) if site.output(3) is not None else ""]


def _dims(site: Site, counts: Sequence[int], past: int, *, apart: bool) -> HeadDims:
    q, k, v = (site.shape(at) for at in range(3))
    if apart:
        heads, groups, queries, keys = q[1], k[1], q[2], k[2]
        return HeadDims(q[0], heads, groups, queries, past + keys, q[3], v[3])
    sizes = (q[2] // counts[0], v[2] // counts[2])
    return HeadDims(q[0], counts[0], counts[1], q[1], past + k[1], *sizes)


def _mask(site: Site, dims: HeadDims, past: int) -> tuple[NDArray[Any], list[str], str]:
    """The keys of each query that take part, terms of the scores, a factor of the weights.

    Keys that a mask chooses at run time count as taking part; the terms and the factor are of both.
    """
    allowed = _window(site, dims, past)
    terms: list[str] = []
    chosen = ""
    mask = site.tensor(_MASK)
    if mask is not None and mask.const is not None:
        given = _padded(site.constant(_MASK), dims.keys)
        allowed = allowed & (given if given.dtype == np.bool_ else given > -np.inf)
        if given.dtype != np.bool_ and np.any(given):
            terms.append(site.const(np.where(given > -np.inf, given, 0), site.element, "mask"))
    elif mask is not None:
        require(site.shape(_MASK)[-1] == dims.keys, "the mask covers the keys")
        chosen = site.name(_MASK) if mask.dtype is DType.BOOL else ""
        terms += [] if chosen else [site.name(_MASK)]
    lowest = masked_score(site)
    order = ""
    if not allowed.all():
        order = site.const(np.where(allowed, 0, lowest), site.element, "mask")
    if not chosen:
        rows = allowed.any(axis=-1, keepdims=True)
        kept = "" if rows.all() else site.const(rows, site.element, "kept")
        return allowed, [*terms, order] if order else terms, kept
    none = [site.scalar(0, "zero"), site.scalar(lowest, "masked")]
    term = site.op("Where", chosen, *none)
    keep = site.cast(chosen, site.element)
    if order:
        term = site.op("Min", term, order)
        keep = site.op("Mul", keep, site.const(allowed, site.element, "kept"))
    return allowed, [*terms, term], keep


def _window(site: Site, dims: HeadDims, past: int) -> NDArray[Any]:
    keys, queries = tables.arange(dims.keys), tables.arange(dims.queries)[:, None]
    offset: Any = past
    allowed: NDArray[Any] = tables.ones((dims.queries, dims.keys), np.bool_)
    if site.tensor(_LENGTHS) is not None:
        lengths = site.constant(_LENGTHS).reshape(-1, 1, 1, 1)
        allowed = allowed & (keys < lengths)
        offset = lengths - dims.queries
    ahead = keys - queries - offset
    left, right = site.integer("left_window_size", -1), site.integer("right_window_size", -1)
    if site.integer("is_causal", 0):
        # onnxruntime lets a single query attend every key; ONNX, those up to its position.
        alike = dims.queries > 1 or dims.keys - past == 1 or site.tensor(_PAST) is None
        require(alike, "a single causal query has one new key")
        right = 0
    allowed = allowed & (ahead <= right) if right >= 0 else allowed
    return allowed & (-ahead <= left) if left >= 0 else allowed


def _padded(mask: NDArray[Any], keys: int) -> NDArray[Any]:
    """A mask with all keys; those that it does not have take no part."""
    missing = keys - mask.shape[-1]
    if missing <= 0:
        return mask
    pads = [(0, 0)] * (mask.ndim - 1) + [(0, missing)]
    return tables.pad(mask, pads, value=False if mask.dtype == np.bool_ else -np.inf)


def _products(site: Site, found: Attended, allowed: NDArray[Any]) -> str:
    mode = site.integer("qk_matmul_output_mode", 0)
    if mode == _AFTER_BIAS:
        mask = site.tensor(_MASK)
        finite = mask is None or (mask.const is None and mask.dtype is not DType.BOOL)
        require(finite and allowed.all(), "no score of output 4 is -inf")
    return (found.scores, found.capped, found.biased, found.weights)[mode]


# Positions of inputs.
_FUSED_BIAS, _FUSED_KEY_MASK, _FUSED_PAST, _FUSED_SCORE_BIAS = 2, 3, 4, 5


@rule(
    "com.microsoft::Attention",
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
    float16="the scale is split over query and key",
)
def fused_attention_as_products(site: Site) -> Sequence[str]:
    """Attention of onnxruntime -> MatMul, Add, Slice, Reshape, Transpose, Mul, MatMul, Add,
    Softmax, MatMul, if dims are known; no rotary embedding; the mask has at most three axes;
    past and present share no buffer.

    Attention of the heads of x W + b (onnxruntime's Attention).
    """
    site.floats(0)
    require(not site.integer("do_rotary", 0), "no rotary embedding")
    shared = site.integer("past_present_share_buffer", 0)
    require(not shared, "past and present share no buffer")
    heads = site.integer("num_heads", 1)
    batch, positions, _ = site.shape(0)
    widths = site.integers("qkv_hidden_sizes") or (site.shape(1)[1] // 3,) * 3
    x = site.op("MatMul", site.name(0), site.name(1))
    if site.tensor(_FUSED_BIAS) is not None:
        x = site.op("Add", x, site.name(_FUSED_BIAS))
    starts = (0, widths[0], widths[0] + widths[1])
    q, k, v = (
        split_heads(site, site.slice(x, 2, start, start + width), heads)
        for start, width in zip(starts, widths, strict=True)
    )
    past = 0
    if site.tensor(_FUSED_PAST) is not None:
        past = site.shape(_FUSED_PAST)[3]
        k, v = (site.op("Concat", _state(site, at), each, axis=2) for at, each in enumerate((k, v)))
    keys = past + positions
    dims = HeadDims(batch, heads, heads, positions, keys, widths[0] // heads, widths[2] // heads)
    terms = [] if site.tensor(_FUSED_SCORE_BIAS) is None else [site.name(_FUSED_SCORE_BIAS)]
    attended = attend(
        site, q, k, v, dims,
        scale=site.number("scale", 0.0) or dims.size**-0.5,
        biases=[*terms, *mask_term(site, _FUSED_KEY_MASK, dims)],
    )  # fmt: skip
    present = ""
    if site.output(1) is not None:
        present = site.op("Concat", *(site.unsqueeze(value, [0]) for value in (k, v)), axis=0)
    return [merged(site, attended.y), present]


def _state(site: Site, at: int) -> str:
    return site.squeeze(site.slice(site.name(_FUSED_PAST), 0, at, at + 1), [0])


# Positions of inputs; the last two share the buffer of past and present.
_MULTI_BIAS, _MULTI_KEY_MASK, _MULTI_SCORE_BIAS, _MULTI_PAST, _SHARED = 3, 4, 5, 6, 8


@rule(
    "com.microsoft::MultiHeadAttention",
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
    float16="the scale is split over query and key",
)
def multi_head_attention_as_products(site: Site) -> Sequence[str]:
    """MultiHeadAttention of onnxruntime -> Add, Reshape, Transpose, Mul, MatMul, Add, Softmax,
    MatMul, if dims are known; query, key and value are not packed; past and present share no
    buffer; the products are not an output.

    softmax(q k' * scale + masks) v for every head (onnxruntime's MultiHeadAttention).
    """
    site.floats(0)
    alone = site.tensor(_SHARED) is None and site.tensor(_SHARED + 1) is None
    require(alone, "past and present share no buffer")
    require(site.output(3) is None, "the products are not an output")
    heads = site.integer("num_heads", 1)
    q, k, v = (site.shape(at) for at in range(3))
    require(len(q) == _SEQUENCES, "the query is not packed")
    apart = len(k) == _HEADS_APART
    require(apart or len(k) == _SEQUENCES, "key and value are not packed")
    query, key, value = _projected(site, heads, apart=apart)
    past = 0 if site.tensor(_MULTI_PAST) is None else site.shape(_MULTI_PAST)[2]
    if past:
        key, value = (
            site.op("Concat", site.name(_MULTI_PAST + at), each, axis=2)
            for at, each in enumerate((key, value))
        )
    keys = past + (k[2] if apart else k[1])
    width = v[3] if apart else v[2] // heads
    dims = HeadDims(q[0], heads, heads, q[1], keys, q[2] // heads, width)
    attended = attend(
        site, query, key, value, dims,
        scale=site.number("scale", 0.0) or dims.size**-0.5,
        biases=_multi_head_terms(site, dims),
    )  # fmt: skip
    return [merged(site, attended.y), key, value]


def _projected(site: Site, heads: int, *, apart: bool) -> list[str]:
    widths = [site.shape(0)[-1], site.shape(0)[-1], 0 if apart else site.shape(2)[-1]]
    names = []
    begin = 0
    for at, width in enumerate(widths):
        x = site.name(at)
        if apart and at:
            names.append(x)
            continue
        if site.tensor(_MULTI_BIAS) is not None:
            part = site.slice(site.name(_MULTI_BIAS), 0, begin, begin + width)
            x = site.op("Add", x, part)
        begin += width
        names.append(split_heads(site, x, heads))
    return names


def _multi_head_terms(site: Site, dims: HeadDims) -> list[str]:
    terms = [] if site.tensor(_MULTI_SCORE_BIAS) is None else [site.name(_MULTI_SCORE_BIAS)]
    return [*terms, *mask_term(site, _MULTI_KEY_MASK, dims)]


# Positions of inputs.
_CODED_BIAS, _STEP, _WEIGHT_STEP, _CODED_KEY_MASK, _ZERO, _WEIGHT_ZERO, _CODED_PAST = range(2, 9)


def _case(**attributes: int) -> RuleCase:
    """An attention over 3 positions of 8 elements."""
    weights = np.random.default_rng(5).integers(-99, 99, (8, 24)).astype(np.int8)
    steps = [ConstInput(np.array(number, np.float32)) for number in (0.01, 0.002)]
    zeros = [ConstInput(np.array(120, np.uint8)), ConstInput(np.array(0, np.int8))]
    inputs = (Fed((1, 3, 8), DType.UINT8), ConstInput(weights), data(24), *steps, None, *zeros)
    return RuleCase("QAttention", inputs, attributes, opset=1, domain="com.microsoft")


@rule(
    "com.microsoft::QAttention",
    REORDERED,
    _case(num_heads=2, unidirectional=1),
    miss=_case(num_heads=2, do_rotary=1),
    float16="codes are exact; no sum overflows",
)
def q_attention_as_products(site: Site) -> str:
    """QAttention -> MatMul of codes, Mul, Add, Slice, Reshape, Transpose, MatMul, Softmax, MatMul,
    if dims are known; no past and no rotary embedding.

    Attention of heads of x W + b, where x and W are codes (QAttention).
    """
    require(not site.integer("do_rotary", 0), "no rotary embedding")
    require(site.tensor(_CODED_PAST) is None and site.output(1) is None, "there is no past")
    require(site.input(_STEP).dtype is DType.FLOAT32, "the scales are float32")
    site.computes_in = DType.FLOAT32
    heads = site.integer("num_heads", 1)
    batch, positions, _ = site.shape(0)
    width = site.shape(1)[1] // 3
    x = centered_codes(site, 0, _ZERO, DATA_SHARE, None)
    weights = centered_codes(site, 1, _WEIGHT_ZERO, WEIGHT_SHARE, -1)
    steps = [
        scaled(site, site.name(at), 1 / share)
        for at, share in ((_STEP, DATA_SHARE), (_WEIGHT_STEP, WEIGHT_SHARE))
    ]
    x = site.op("Mul", site.op("MatMul", x, weights), site.op("Mul", *steps))
    x = site.op("Add", x, site.name(_CODED_BIAS))
    q, k, v = (
        split_heads(site, site.slice(x, 2, at * width, (at + 1) * width), heads) for at in range(3)
    )
    size = width // heads
    dims = HeadDims(batch, heads, heads, positions, positions, size, size)
    scale = site.number("scale", 0.0) or size**-0.5
    attended = attend(
        site, q, k, v, dims, scale=scale, biases=mask_term(site, _CODED_KEY_MASK, dims)
    )
    return merged(site, attended.y)
