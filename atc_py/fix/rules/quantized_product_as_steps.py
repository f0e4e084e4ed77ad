"""Rule quantized-product-as-steps: onnxruntime's products of codes with scales, in floats.

MatMulIntegerToFloat: Y = (A - za)(B - zb) * sa * sb + bias. DynamicQuantizeMatMul: the same with the
codes of A for the range that it has at run time. See integer-sum-as-product for the powers of two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase, data
from atc_py.fix.parts.codes import (
    DATA_SHARE,
    WEIGHT_SHARE,
    centered_codes,
    dynamic_codes,
    scaled,
)
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_WEIGHTS = ConstInput(np.arange(-6, 6, dtype=np.int8).reshape(4, 3))


@fix_rule(
    "quantized-product-as-steps",
    ("com.microsoft::DynamicQuantizeMatMul", "com.microsoft::MatMulIntegerToFloat"),
    Exactness.REORDERED,
    RuleText(
        before=Words("DynamicQuantizeMatMul, MatMulIntegerToFloat", "DynamicQuantizeMatMul、MatMulIntegerToFloat"),
        after=Words(
            "codes less their zero points, MatMul of codes / 2^15, Mul by scales * 2^15, Add",
            "编码减零点，对除以 2^15 的编码做 MatMul，乘以 2^15 倍的比例，再 Add",
        ),
        condition=Words(
            "floats are float32; codes are int8 or uint8", "浮点为 float32；编码为 int8 或 uint8"
        ),
        float16=Words("codes are exact; no sum overflows", "编码精确；和不溢出"),
    ),
    example=RuleCase(
        "DynamicQuantizeMatMul",
        (Fed((2, 4)), _WEIGHTS, data(3), ConstInput(np.array([1, 0, 2], np.int8)), data(3, seed=1)),
        opset=1,
        domain="com.microsoft",
    ),
    near_miss=RuleCase(
        "DynamicQuantizeMatMul",
        (Fed((2, 4), DType.FLOAT16), _WEIGHTS, ConstInput(np.ones((), np.float16))),
        opset=1,
        domain="com.microsoft",
    ),
)  # fmt: skip
def quantized_product_as_steps(site: Site) -> Sequence[str]:
    """Write the product of the shares, its scale and the bias."""
    if site.node.op_type == "DynamicQuantizeMatMul":
        require(site.element is DType.FLOAT32, "A is float32", "A 为 float32")
        found = dynamic_codes(site, site.name(0), len(site.dims(0)))
        a = scaled(site, site.op("Sub", [found.codes, found.zero]), DATA_SHARE)
        step, scale_at, zero_at, bias = found.scale, 2, 3, site.name(4)
    else:
        real = site.input(2).dtype
        require(real is DType.FLOAT32, "the scales are float32", "比例为 float32")
        a = centered_codes(site, 0, 4, DATA_SHARE, -2)
        step, scale_at, zero_at, bias = site.name(2), 3, 5, site.name(6)
    b = centered_codes(site, 1, zero_at, WEIGHT_SHARE, -1)
    factor = site.op(
        "Mul",
        [scaled(site, step, 1 / DATA_SHARE), scaled(site, site.name(scale_at), 1 / WEIGHT_SHARE)],
    )
    y = site.op("Mul", [site.op("MatMul", [a, b]), factor])
    return [site.op("Add", [y, bias]) if bias else y]
