"""Rule q-attention-as-products: attention of heads of x W + b, where x and W are codes (QAttention)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.fix.parts.codes import DATA_SHARE, WEIGHT_SHARE, centered_codes, scaled
from atc_py.fix.parts.heads import HeadDims, attend, merged, split_heads
from atc_py.fix.parts.key_masks import mask_term
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_BIAS, _STEP, _WEIGHT_STEP, _KEY_MASK, _ZERO, _WEIGHT_ZERO, _PAST = range(2, 9)
"""Positions of inputs."""


def _case(**attributes: int) -> RuleCase:
    """Return an attention over 3 positions of 8 elements."""
    weights = np.random.default_rng(5).integers(-99, 99, (8, 24)).astype(np.int8)
    steps = [ConstInput(np.array(each, np.float32)) for each in (0.01, 0.002)]
    zeros = [ConstInput(np.array(120, np.uint8)), ConstInput(np.array(0, np.int8))]
    inputs = (Fed((1, 3, 8), DType.UINT8), ConstInput(weights), data(24), *steps, None, *zeros)
    return RuleCase("QAttention", inputs, attributes, opset=1, domain="com.microsoft")


@fix_rule(
    "q-attention-as-products",
    ("com.microsoft::QAttention",),
    Exactness.REORDERED,
    RuleText(
        before=Words("QAttention", "QAttention"),
        after=Words(
            "MatMul of codes, Mul, Add, Slice, Reshape, Transpose, MatMul, Softmax, MatMul",
            "编码做 MatMul，Mul、Add、Slice、Reshape、Transpose、MatMul、Softmax、MatMul",
        ),
        condition=Words(
            "dims are known; no past and no rotary embedding", "形状已知；无 past，无旋转位置编码"
        ),
        float16=Words("codes are exact; no sum overflows", "编码精确；和不溢出"),
    ),
    example=_case(num_heads=2, unidirectional=1),
    near_miss=_case(num_heads=2, do_rotary=1),
)
def q_attention_as_products(site: Site) -> Sequence[str]:
    """Write the projections of codes and the attention of all heads."""
    require(not site.integer("do_rotary", 0), "no rotary embedding", "无旋转位置编码")
    require(site.tensor(_PAST) is None and site.output(1) is None, "there is no past", "无 past")
    require(site.input(_STEP).dtype is DType.FLOAT32, "the scales are float32", "比例为 float32")
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
    x = site.op("Mul", [site.op("MatMul", [x, weights]), site.op("Mul", steps)])
    x = site.op("Add", [x, site.name(_BIAS)])
    q, k, v = (
        split_heads(site, site.slice(x, 2, at * width, (at + 1) * width), heads) for at in range(3)
    )
    size = width // heads
    dims = HeadDims(batch, heads, heads, positions, positions, size, size)
    scale = site.number("scale", 0.0) or size**-0.5
    found = attend(site, q, k, v, dims, scale=scale, biases=mask_term(site, _KEY_MASK, dims))
    return [merged(site, found.y)]
