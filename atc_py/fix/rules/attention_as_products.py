"""Rule attention-as-products: softmax(cap(q k' * scale) + mask) v for every head (Attention-23 to -25 of ONNX)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.heads import HeadDims, attend, masked_score, merged, split_heads
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from atc_py.fix.parts.heads import Attended
    from atc_py.fix.site import Site

__all__: list[str] = []

_MASK, _PAST, _LENGTHS = 3, 4, 6
"""Positions of inputs: the mask, the past of key and value, the lengths of the keys."""

_HEADS_APART = 4
_AFTER_BIAS = 2
_FLOAT = 1
"""The number of float32 among ONNX's element types."""


@fix_rule(
    "attention-as-products",
    ("Attention",),
    Exactness.REORDERED,
    RuleText(
        before=Words("Attention", "Attention"),
        after=Words(
            "Mul, MatMul, Tanh, Add, Softmax, MatMul; masks as terms of the scores",
            "Mul、MatMul、Tanh、Add、Softmax、MatMul；掩码作为分数的加项",
        ),
        condition=Words(
            "dims are known; the lengths of the keys are constant; a mask of floats that is not "
            "constant leaves each query a key",
            "形状已知；键长度为常量；非常量的浮点掩码对每个查询至少保留一个键",
        ),
        float16=Words(
            "the scale is split over query and key; masked scores are -65504",
            "缩放分摊到查询与键；被掩盖的分数为 -65504",
        ),
    ),
    example=RuleCase(
        "Attention",
        (Fed((1, 4, 3, 8)), Fed((1, 2, 5, 8)), Fed((1, 2, 5, 8)), Fed((3, 5), DType.BOOL)),
        opset=23,
    ),
    near_miss=RuleCase(
        "Attention",
        (Fed((1, 2, 3, 8), DType.FLOAT64), *[Fed((1, 2, 5, 8), DType.FLOAT64)] * 2),
        opset=23,
    ),
)
def attention_as_products(site: Site) -> Sequence[str]:
    """Write the attention of all heads."""
    inputs = [each for each in site.node.inputs[:3] if each is not None]
    same = site.element in FLOATS and all(each.dtype is site.element for each in inputs)
    require(same, "the dtype is float16 or float32", "类型为 float16 或 float32")
    apart = len(site.shape(0)) == _HEADS_APART
    counts = [site.integer("q_num_heads", 0), *[site.integer("kv_num_heads", 0)] * 2]
    require(apart or all(counts), "the heads are counted", "给出头数")
    q, k, v = (
        site.name(at) if apart else split_heads(site, site.name(at), counts[at]) for at in range(3)
    )
    past = 0
    if site.tensor(_PAST) is not None:
        past = site.shape(_PAST)[2]
        k, v = (
            site.op("Concat", [site.name(_PAST + at), new], axis=2) for at, new in enumerate((k, v))
        )
    dims = _dims(site, counts, past, apart=apart)
    allowed, bias, keep = _mask(site, dims, past)
    found = attend(
        site, q, k, v, dims,
        scale=site.number("scale", 0.0) or dims.size**-0.5,
        softcap=site.number("softcap", 0.0),
        biases=bias,
        keep=keep,
        wide=site.element is DType.FLOAT16 and site.integer("softmax_precision", 0) == _FLOAT,
    )  # fmt: skip
    y = found.y if apart else merged(site, found.y)
    return [y, k, v, _products(site, found, allowed) if site.output(3) is not None else ""]


def _dims(site: Site, counts: Sequence[int], past: int, *, apart: bool) -> HeadDims:
    """Return the dims of the attention."""
    q, k, v = (site.shape(at) for at in range(3))
    if apart:
        heads, groups, queries, keys = q[1], k[1], q[2], k[2]
        return HeadDims(q[0], heads, groups, queries, past + keys, q[3], v[3])
    sizes = (q[2] // counts[0], v[2] // counts[2])
    return HeadDims(q[0], counts[0], counts[1], q[1], past + k[1], *sizes)


def _mask(site: Site, dims: HeadDims, past: int) -> tuple[NDArray[Any], list[str], str]:
    """Return the keys of each query that take part, terms of the scores, a factor of the weights.

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
        require(site.shape(_MASK)[-1] == dims.keys, "the mask covers the keys", "掩码覆盖所有键")
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
    term = site.op("Where", [chosen, *none])
    keep = site.cast(chosen, site.element)
    if order:
        term = site.op("Min", [term, order])
        keep = site.op("Mul", [keep, site.const(allowed, site.element, "kept")])
    return allowed, [*terms, term], keep


def _window(site: Site, dims: HeadDims, past: int) -> NDArray[Any]:
    """Return the keys of each query that its position and the lengths of the keys leave."""
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
        require(alike, "a single causal query has one new key", "单个因果查询只有一个新键")
        right = 0
    allowed = allowed & (ahead <= right) if right >= 0 else allowed
    return allowed & (-ahead <= left) if left >= 0 else allowed


def _padded(mask: NDArray[Any], keys: int) -> NDArray[Any]:
    """Return a mask with all keys; those that it does not have take no part."""
    missing = keys - mask.shape[-1]
    if missing <= 0:
        return mask
    pads = [(0, 0)] * (mask.ndim - 1) + [(0, missing)]
    return tables.pad(mask, pads, value=False if mask.dtype == np.bool_ else -np.inf)


def _products(site: Site, found: Attended, allowed: NDArray[Any]) -> str:
    """Return the value of the fourth output."""
    mode = site.integer("qk_matmul_output_mode", 0)
    if mode == _AFTER_BIAS:
        mask = site.tensor(_MASK)
        finite = mask is None or (mask.const is None and mask.dtype is not DType.BOOL)
        require(finite and allowed.all(), "no score of output 4 is -inf", "第 4 个输出不含 -inf")
    return (found.scores, found.capped, found.biased, found.weights)[mode]
