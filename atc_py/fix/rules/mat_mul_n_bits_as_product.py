"""Rule mat-mul-n-bits-as-product: A W' + bias with W = (q - zero) * scale as a constant (onnxruntime's MatMulNBits)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.packed_bits import blocks_as_floats, unpacked
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from atc_py.fix.site import Site

__all__: list[str] = []

_SCALES, _ZEROS, _GROUPS, _BIAS = 2, 3, 4, 5
"""Positions of inputs."""

_INTEGERS = 4
"""The accuracy level at which onnxruntime rounds A to int8."""

_BITS_OF_GROUPS = 4
"""Bits of weights for which onnxruntime reads the group of each row."""

_INPUTS = (
    Fed((2, 32)),
    ConstInput(np.arange(3 * 2 * 8, dtype=np.uint8).reshape(3, 2, 8)),
    ConstInput(np.full((3, 2), 0.1, np.float32)),
)
_SIZES = {"K": 32, "N": 3, "bits": 4, "block_size": 16}


@fix_rule(
    "mat-mul-n-bits-as-product",
    ("com.microsoft::MatMulNBits",),
    Exactness.REORDERED,
    RuleText(
        before=Words("MatMulNBits of onnxruntime", "onnxruntime 的 MatMulNBits"),
        after=Words("MatMul with float weights, Add", "与浮点权重做 MatMul，再 Add"),
        condition=Words(
            "weights, scales and zero points are constant; onnxruntime does not round A to int8",
            "权重、缩放、零点为常量；onnxruntime 不把 A 舍入为 int8",
        ),
        float16=Words("weights are rounded to float16 once", "权重舍入为 float16 一次"),
    ),
    example=RuleCase("MatMulNBits", _INPUTS, _SIZES, opset=1, domain="com.microsoft"),
    near_miss=RuleCase(
        "MatMulNBits", _INPUTS, {**_SIZES, "accuracy_level": 4}, opset=1, domain="com.microsoft"
    ),
)
def mat_mul_n_bits_as_product(site: Site) -> Sequence[str]:
    """Write the product with the constant."""
    rounded = site.integer("accuracy_level", 0) == _INTEGERS
    require(not rounded, "onnxruntime does not round A to int8", "onnxruntime 不把 A 舍入为 int8")
    return [_product(site)]


@fix_rule(
    "mat-mul-n-bits-unrounded",
    ("com.microsoft::MatMulNBits",),
    Exactness.BOUNDED,
    RuleText(
        before=Words(
            "MatMulNBits of onnxruntime with accuracy level 4",
            "onnxruntime 的 MatMulNBits，精度级别 4",
        ),
        after=Words("MatMul with float weights, Add", "与浮点权重做 MatMul，再 Add"),
        condition=Words(
            "weights, scales and zero points are constant; onnxruntime may round A to int8, which "
            "the new form does not",
            "权重、缩放、零点为常量；onnxruntime 可将 A 舍入为 int8，新形式不舍入",
        ),
        float16=Words("weights are rounded to float16 once", "权重舍入为 float16 一次"),
    ),
    example=RuleCase(
        "MatMulNBits", _INPUTS, {**_SIZES, "accuracy_level": 4}, opset=1, domain="com.microsoft"
    ),
    near_miss=RuleCase("MatMulNBits", _INPUTS, _SIZES, opset=1, domain="com.microsoft"),
    bound=0.05,
)
def mat_mul_n_bits_unrounded(site: Site) -> Sequence[str]:
    """Write the product with the constant."""
    rounded = site.integer("accuracy_level", 0) == _INTEGERS
    require(rounded, "onnxruntime rounds A to int8", "onnxruntime 将 A 舍入为 int8")
    return [_product(site)]


def _product(site: Site) -> str:
    """Write the product with the constant, and the bias."""
    require(not site.integer("weight_prepacked", 0), "weights are not prepacked", "权重未预打包")
    rows = site.integer("K", 0)
    bits, size = site.integer("bits", 4), site.integer("block_size", 0)
    quantized = unpacked(site.constant(1), bits)
    count, blocks, _ = quantized.shape
    require(quantized.size, "there are weights", "权重非空")
    scales = site.constant(_SCALES).reshape(count, blocks)
    zeros = _zeros(site, count, blocks, bits)
    groups = site.tensor(_GROUPS)
    if groups is None:
        weights = blocks_as_floats(quantized, scales, zeros).reshape(count, blocks * size)[:, :rows]
    else:
        require(bits == _BITS_OF_GROUPS, "groups have 4 bits", "分组时为 4 位")
        own = site.constant(_GROUPS)[:rows]
        values = quantized.reshape(count, -1)[:, :rows, None]
        points = zeros if isinstance(zeros, float) else zeros[:, own]
        weights = blocks_as_floats(values, scales[:, own], points)[..., 0]
    y = site.op("MatMul", [site.name(0), site.const(weights.T, site.element, "weights")])
    return y if site.tensor(_BIAS) is None else site.op("Add", [y, site.name(_BIAS)])


def _zeros(site: Site, count: int, blocks: int, bits: int) -> NDArray[Any] | float:
    """Return the zero point of every block, or that of all."""
    if site.tensor(_ZEROS) is None:
        return float(1 << (bits - 1))
    zeros = site.constant(_ZEROS)
    if zeros.dtype != np.uint8:
        return zeros.reshape(count, blocks)
    return unpacked(zeros.reshape(count, -1), bits)[:, :blocks]
