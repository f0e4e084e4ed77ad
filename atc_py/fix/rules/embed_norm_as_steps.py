"""Rule embed-norm-as-steps: the sum of the rows of words, positions and segments, and its layer normalization (onnxruntime's EmbedLayerNormalization)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.normal import centered
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_WORDS, _SEGMENTS = 0, 1
_WORD_ROWS, _POSITION_ROWS, _SEGMENT_ROWS, _SCALE, _BIAS, _MASK, _POSITIONS = range(2, 9)
"""Positions of inputs."""

_INPUTS = (
    Fed((2, 3), DType.INT32, (0, 8)), None, data(9, 4), data(5, 4, seed=1), None,
    data(4, seed=2), data(4, seed=3),
)  # fmt: skip


@fix_rule(
    "embed-norm-as-steps",
    ("com.microsoft::EmbedLayerNormalization",),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "EmbedLayerNormalization of onnxruntime", "onnxruntime 的 EmbedLayerNormalization"
        ),
        after=Words(
            "Gather, Add, then the steps of the normalization", "Gather、Add，再逐步做归一化"
        ),
        condition=Words(
            "dims are known; the tables are float16 or float32", "形状已知；表为 float16 或 float32"
        ),
    ),
    example=RuleCase(
        "EmbedLayerNormalization", _INPUTS, opset=1, outputs=2, domain="com.microsoft"
    ),
    near_miss=None,
)
def embed_norm_as_steps(site: Site) -> Sequence[str]:
    """Write the rows, their sum, its normalization, and the number of words."""
    batch, positions = site.shape(0)
    element = site.input(_WORD_ROWS).dtype
    require(element is not None, "the dtype is known", "数据类型已知")
    if site.tensor(_POSITIONS) is not None:
        rows = site.op("Gather", [site.name(_POSITION_ROWS), site.name(_POSITIONS)], axis=0)
    else:
        rows = site.slice(site.name(_POSITION_ROWS), 0, 0, positions)
    words = site.op("Gather", [site.name(_WORD_ROWS), site.name(_WORDS)], axis=0)
    total = site.op("Add", [words, rows])
    if site.tensor(_SEGMENTS) is not None and site.tensor(_SEGMENT_ROWS) is not None:
        table = site.name(_SEGMENT_ROWS)
        total = site.op("Add", [total, site.op("Gather", [table, site.name(_SEGMENTS)], axis=0)])
    x, _, deviation = centered(site, total, (2,), site.number("epsilon", 1e-12), element)
    y = site.op("Mul", [site.op("Div", [x, deviation]), site.name(_SCALE)])
    y = site.op("Add", [y, site.name(_BIAS)])
    return [y, _word_count(site, batch) if site.output(1) is not None else "", total]


def _word_count(site: Site, batch: int) -> str:
    """Return the number of ones in the mask of each sequence; zeros without a mask."""
    if site.tensor(_MASK) is None:
        return site.const([0] * batch, DType.INT32, "none")
    ones = site.op("Equal", [site.name(_MASK), site.const(1, DType.INT32, "word")])
    marks = site.cast(ones, DType.FLOAT32)
    return site.cast(site.reduce("ReduceSum", marks, [1], keepdims=False), DType.INT32)
