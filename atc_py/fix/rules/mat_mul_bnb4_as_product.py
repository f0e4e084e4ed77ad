"""Rule mat-mul-bnb4-as-product: A W' with W of 4-bit floats as a constant (onnxruntime's MatMulBnb4; QLoRA, arXiv 2305.14314)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_HALVES = (0.0, 1 / 192, 2 / 3, 1.0, 1 / 3, 1 / 2, 1 / 6, 1 / 4)
_FP4 = (*_HALVES, *(-each for each in _HALVES))
_NF4 = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
    -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
    0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip
_VALUES = (_FP4, _NF4)
"""Values of the 16 codes, by `quant_type`."""

_INPUTS = (
    Fed((2, 24)),
    ConstInput(np.arange(36, dtype=np.uint8)),
    ConstInput(np.arange(1, 6, dtype=np.float32)),
)


@fix_rule(
    "mat-mul-bnb4-as-product",
    ("com.microsoft::MatMulBnb4",),
    Exactness.REORDERED,
    RuleText(
        before=Words("MatMulBnb4 of onnxruntime", "onnxruntime 的 MatMulBnb4"),
        after=Words("MatMul with float weights", "与浮点权重做 MatMul"),
        condition=Words(
            "weights and scales are constant; B is transposed", "权重与缩放为常量；B 转置"
        ),
        float16=Words("weights are rounded to float16 once", "权重舍入为 float16 一次"),
    ),
    example=RuleCase(
        "MatMulBnb4",
        _INPUTS,
        {"K": 24, "N": 3, "block_size": 16, "quant_type": 1},
        opset=1,
        domain="com.microsoft",
    ),
    near_miss=RuleCase(
        "MatMulBnb4",
        (_INPUTS[0], Fed((36,), DType.UINT8, (0, 255)), _INPUTS[2]),
        {"K": 24, "N": 3, "block_size": 16, "quant_type": 1},
        opset=1,
        domain="com.microsoft",
    ),
)
def mat_mul_bnb4_as_product(site: Site) -> Sequence[str]:
    """Write the product with the constant."""
    rows, count = site.integer("K", 0), site.integer("N", 0)
    size, kind = site.integer("block_size", 0), site.integer("quant_type", 0)
    require(kind in (0, 1), "the codes are FP4 or NF4", "编码为 FP4 或 NF4")
    across = site.integer("transB", 1)
    require(across, "B is transposed", "B 转置")
    packed = site.constant(1).reshape(-1)
    # The high bits of a byte come first.
    codes = np.stack([packed >> 4, packed & 15], axis=-1).reshape(-1)[: rows * count]
    values = np.asarray(_VALUES[kind], np.float32)[codes]
    scales = tables.repeat(site.constant(2).reshape(-1).astype(np.float32), size)[: rows * count]
    weights = (values * scales).reshape(count, rows).T
    return [site.op("MatMul", [site.name(0), site.const(weights, site.element, "weights")])]
