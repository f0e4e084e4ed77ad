"""Rule fused-attention-as-products: attention of the heads of x W + b (onnxruntime's Attention)."""

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

_BIAS, _KEY_MASK, _PAST, _SCORE_BIAS = 2, 3, 4, 5
"""Positions of inputs."""


@fix_rule(
    "fused-attention-as-products",
    ("com.microsoft::Attention",),
    Exactness.REORDERED,
    RuleText(
        before=Words("Attention of onnxruntime", "onnxruntime 的 Attention"),
        after=Words(
            "MatMul, Add, Slice, Reshape, Transpose, Mul, MatMul, Add, Softmax, MatMul",
            "MatMul、Add、Slice、Reshape、Transpose、Mul、MatMul、Add、Softmax、MatMul",
        ),
        condition=Words(
            "dims are known; no rotary embedding; the mask has at most three axes; past and "
            "present share no buffer",
            "形状已知；无旋转位置编码；掩码至多三个轴；past 与 present 不共享缓冲区",
        ),
        float16=Words("the scale is split over query and key", "缩放分摊到查询与键"),
    ),
    example=RuleCase(
        "Attention",
        (Fed((1, 3, 8)), data(8, 24), data(24)),
        {"num_heads": 2, "unidirectional": 1},
        opset=1,
        domain="com.microsoft",
    ),
    near_miss=RuleCase(
        "Attention",
        (Fed((1, 3, 32)), data(32, 96), data(96)),
        {"num_heads": 1, "do_rotary": 1},
        opset=1,
        domain="com.microsoft",
    ),
)
def fused_attention_as_products(site: Site) -> Sequence[str]:
    """Write the projections and the attention of all heads."""
    require(site.element in FLOATS, "the dtype is float16 or float32", "类型为 float16 或 float32")
    require(not site.integer("do_rotary", 0), "no rotary embedding", "无旋转位置编码")
    shared = site.integer("past_present_share_buffer", 0)
    require(not shared, "past and present share no buffer", "past 与 present 不共享缓冲区")
    heads = site.integer("num_heads", 1)
    batch, positions, _ = site.shape(0)
    widths = site.integers("qkv_hidden_sizes") or (site.shape(1)[1] // 3,) * 3
    x = site.op("MatMul", [site.name(0), site.name(1)])
    if site.tensor(_BIAS) is not None:
        x = site.op("Add", [x, site.name(_BIAS)])
    starts = (0, widths[0], widths[0] + widths[1])
    q, k, v = (
        split_heads(site, site.slice(x, 2, start, start + width), heads)
        for start, width in zip(starts, widths, strict=True)
    )
    past = 0
    if site.tensor(_PAST) is not None:
        past = site.shape(_PAST)[3]
        k, v = (
            site.op("Concat", [_state(site, at), each], axis=2) for at, each in enumerate((k, v))
        )
    keys = past + positions
    dims = HeadDims(batch, heads, heads, positions, keys, widths[0] // heads, widths[2] // heads)
    terms = [] if site.tensor(_SCORE_BIAS) is None else [site.name(_SCORE_BIAS)]
    found = attend(
        site, q, k, v, dims,
        scale=site.number("scale", 0.0) or dims.size**-0.5,
        biases=[*terms, *mask_term(site, _KEY_MASK, dims)],
    )  # fmt: skip
    present = ""
    if site.output(1) is not None:
        present = site.op("Concat", [site.unsqueeze(each, [0]) for each in (k, v)], axis=0)
    return [merged(site, found.y), present]


def _state(site: Site, at: int) -> str:
    """Return the past of the key or of the value."""
    return site.squeeze(site.slice(site.name(_PAST), 0, at, at + 1), [0])
