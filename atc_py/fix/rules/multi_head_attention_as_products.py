"""Rule multi-head-attention-as-products: softmax(q k' * scale + masks) v for every head (onnxruntime's MultiHeadAttention)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.heads import HeadDims, attend, merged, split_heads
from atc_py.fix.parts.key_masks import mask_term
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_BIAS, _KEY_MASK, _SCORE_BIAS, _PAST, _SHARED = 3, 4, 5, 6, 8
"""Positions of inputs; the last two share the buffer of past and present."""

_HEADS_APART, _SEQUENCES = 4, 3


@fix_rule(
    "multi-head-attention-as-products",
    ("com.microsoft::MultiHeadAttention",),
    Exactness.REORDERED,
    RuleText(
        before=Words("MultiHeadAttention of onnxruntime", "onnxruntime 的 MultiHeadAttention"),
        after=Words(
            "Add, Reshape, Transpose, Mul, MatMul, Add, Softmax, MatMul",
            "Add、Reshape、Transpose、Mul、MatMul、Add、Softmax、MatMul",
        ),
        condition=Words(
            "dims are known; query, key and value are not packed; past and present share no "
            "buffer; the products are not an output",
            "形状已知；查询、键、值未打包；past 与 present 不共享缓冲区；不输出乘积",
        ),
        float16=Words("the scale is split over query and key", "缩放分摊到查询与键"),
    ),
    example=RuleCase(
        "MultiHeadAttention",
        (Fed((1, 3, 8)), Fed((1, 5, 8)), Fed((1, 5, 8)), data(24)),
        {"num_heads": 2},
        opset=1,
        domain="com.microsoft",
    ),
    near_miss=RuleCase(
        "MultiHeadAttention",
        (Fed((1, 3, 2, 3, 4)),),
        {"num_heads": 2},
        opset=1,
        domain="com.microsoft",
    ),
)
def multi_head_attention_as_products(site: Site) -> Sequence[str]:
    """Write the attention of all heads."""
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    alone = site.tensor(_SHARED) is None and site.tensor(_SHARED + 1) is None
    require(alone, "past and present share no buffer", "past 与 present 不共享缓冲区")
    require(site.output(3) is None, "the products are not an output", "不输出乘积")
    heads = site.integer("num_heads", 1)
    q, k, v = (site.shape(at) for at in range(3))
    require(len(q) == _SEQUENCES, "the query is not packed", "查询未打包")
    apart = len(k) == _HEADS_APART
    require(apart or len(k) == _SEQUENCES, "key and value are not packed", "键、值未打包")
    query, key, value = _projected(site, heads, apart=apart)
    past = 0 if site.tensor(_PAST) is None else site.shape(_PAST)[2]
    if past:
        key, value = (
            site.op("Concat", [site.name(_PAST + at), each], axis=2)
            for at, each in enumerate((key, value))
        )
    keys = past + (k[2] if apart else k[1])
    width = v[3] if apart else v[2] // heads
    dims = HeadDims(q[0], heads, heads, q[1], keys, q[2] // heads, width)
    found = attend(
        site, query, key, value, dims,
        scale=site.number("scale", 0.0) or dims.size**-0.5,
        biases=_terms(site, dims),
    )  # fmt: skip
    return [merged(site, found.y), key, value]


def _projected(site: Site, heads: int, *, apart: bool) -> list[str]:
    """Return query, key and value of every head, each with its bias."""
    widths = [site.shape(0)[-1], site.shape(0)[-1], 0 if apart else site.shape(2)[-1]]
    names = []
    begin = 0
    for at, width in enumerate(widths):
        x = site.name(at)
        if apart and at:
            names.append(x)
            continue
        if site.tensor(_BIAS) is not None:
            part = site.slice(site.name(_BIAS), 0, begin, begin + width)
            x = site.op("Add", [x, part])
        begin += width
        names.append(split_heads(site, x, heads))
    return names


def _terms(site: Site, dims: HeadDims) -> list[str]:
    """Return the terms of the scores."""
    terms = [] if site.tensor(_SCORE_BIAS) is None else [site.name(_SCORE_BIAS)]
    return [*terms, *mask_term(site, _KEY_MASK, dims)]
