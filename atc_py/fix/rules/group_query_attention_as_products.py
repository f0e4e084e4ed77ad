"""Rule group-query-attention-as-products: causal attention whose query heads share keys (onnxruntime's GroupQueryAttention)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.heads import HeadDims, attend, merged, split_heads
from atc_py.fix.parts.key_masks import causal_term
from atc_py.fix.parts.rotary import rotated
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_PAST, _LENGTHS, _TOTAL, _COS, _POSITIONS, _SCORE_BIAS, _SINK, _OTHERS = 3, 5, 6, 7, 9, 10, 11, 12
"""Positions of inputs; the others are scales of a quantized cache, norms of heads and lengths of queries."""


def _lengths(*values: int) -> ConstInput:
    return ConstInput(np.array(values, np.int32))


_INPUTS = (Fed((1, 3, 32)), Fed((1, 3, 16)), Fed((1, 3, 16)), None, None)


@fix_rule(
    "group-query-attention-as-products",
    ("com.microsoft::GroupQueryAttention",),
    Exactness.REORDERED,
    RuleText(
        before=Words("GroupQueryAttention of onnxruntime", "onnxruntime 的 GroupQueryAttention"),
        after=Words(
            "the rotation, Concat of the past, Mul, MatMul, Add, Softmax, MatMul",
            "旋转编码、拼接 past、Mul、MatMul、Add、Softmax、MatMul",
        ),
        condition=Words(
            "dims and lengths are constant, and all sequences as long as the longest; the cache "
            "is of floats and holds no more than the past",
            "形状与长度为常量，各序列等长；缓存为浮点且只含 past",
        ),
        float16=Words(
            "the scale is split over query and key; masked scores are -65504",
            "缩放分摊到查询与键；被掩盖的分数为 -65504",
        ),
    ),
    example=RuleCase(
        "GroupQueryAttention",
        (*_INPUTS, _lengths(2), ConstInput(np.array(3, np.int32))),
        {"num_heads": 2, "kv_num_heads": 1},
        opset=1,
        outputs=3,
        domain="com.microsoft",
    ),
    near_miss=RuleCase(
        "GroupQueryAttention",
        (*_INPUTS, _lengths(1), ConstInput(np.array(3, np.int32))),
        {"num_heads": 2, "kv_num_heads": 1},
        opset=1,
        outputs=3,
        domain="com.microsoft",
    ),
)  # fmt: skip
def group_query_attention_as_products(site: Site) -> Sequence[str]:
    """Write the rotation and the attention of all heads."""
    _require_plain(site)
    heads, groups = site.integer("num_heads", 1), site.integer("kv_num_heads", 1)
    batch, queries, width = site.shape(0)
    total = int(site.constant(_TOTAL).reshape(-1)[0])
    whole = (site.constant(_LENGTHS) == total - 1).all()
    require(whole, "all sequences are as long as the longest", "各序列与最长者等长")
    packed = site.tensor(1) is None
    size = width // (heads + 2 * groups if packed else heads)
    q, k, v = _heads(site, heads, groups, packed=packed)
    past = total - queries
    if site.integer("do_rotary", 0):
        q = _rotated(site, q, (batch, heads, queries, size), past)
        k = _rotated(site, k, (batch, groups, queries, size), past)
    if past:
        k, v = (_joined(site, _PAST + at, new, past) for at, new in enumerate((k, v)))
    dims = HeadDims(batch, heads, groups, queries, total, size, size)
    found = attend(
        site, q, k, v, dims,
        scale=site.number("scale", 0.0) or size**-0.5,
        softcap=site.number("softcap", 0.0),
        biases=_terms(site, dims),
        sink=_sink(site, dims),
    )  # fmt: skip
    return [merged(site, found.y), k, v]


def _require_plain(site: Site) -> None:
    """Refuse forms with a quantized cache, norms of heads, other lengths and outputs of scores."""
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    others = [site.tensor(at) for at in (_POSITIONS, *range(_OTHERS, len(site.node.inputs)))]
    require(not any(others), "there are no positions, scales or norms", "无位置、缩放、归一化输入")
    require(not site.integer("sliding_window_cache", 0), "the cache does not slide", "缓存不滑动")
    require(site.output(3) is None, "the products are not an output", "不输出乘积")


def _heads(site: Site, heads: int, groups: int, *, packed: bool) -> list[str]:
    """Return query, key and value of every head."""
    counts = (heads, groups, groups)
    if not packed:
        return [split_heads(site, site.name(at), count) for at, count in enumerate(counts)]
    x = split_heads(site, site.name(0), heads + 2 * groups)
    starts = (0, heads, heads + groups)
    return [
        site.slice(x, 1, start, start + count) for start, count in zip(starts, counts, strict=True)
    ]


def _rotated(site: Site, x: str, dims: tuple[int, ...], past: int) -> str:
    """Return a query or key with the angles of its positions."""
    positions = dims[2]
    cos, sin = (site.slice(site.name(_COS + at), 0, past, past + positions) for at in range(2))
    width = 2 * site.shape(_COS)[1]
    interleaved = site.flag("rotary_interleaved", default=False)
    return rotated(site, x, dims, cos, sin, width, interleaved=interleaved)


def _joined(site: Site, at: int, new: str, past: int) -> str:
    """Return the past and the present of key or value."""
    require(site.input(at).dtype is site.element, "the cache is not quantized", "缓存未量化")
    used = any(site.output(each) is not None for each in (1, 2))
    length = site.shape(at)[2]
    exact = length == past or (length > past and not used)
    require(exact, "the cache holds no more than the past", "缓存只含 past")
    old = site.name(at) if length == past else site.slice(site.name(at), 2, 0, past)
    return site.op("Concat", [old, new], axis=2)


def _terms(site: Site, dims: HeadDims) -> list[str]:
    """Return the terms of the scores."""
    terms = [] if site.tensor(_SCORE_BIAS) is None else [site.name(_SCORE_BIAS)]
    window = site.integer("local_window_size", -1)
    if not site.integer("causal", 1):
        return terms
    order: Any = causal_term(site, dims, window)
    return [*terms, site.const(order, site.element, "causal")] if order.any() else terms


def _sink(site: Site, dims: HeadDims) -> str:
    """Return one more score of each query; "" without one."""
    smooth = site.integer("smooth_softmax", -1) > 0
    sink = site.tensor(_SINK)
    if sink is None and not smooth:
        return ""
    zeros = site.const(
        tables.zeros((dims.batch, dims.heads, dims.queries, 1)), site.element, "sink"
    )
    if sink is None:
        return zeros
    return site.op("Add", [zeros, site.reshape(sink.name, [1, dims.heads, 1, 1])])
