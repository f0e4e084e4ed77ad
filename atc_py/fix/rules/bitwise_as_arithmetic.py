"""Rule bitwise-as-arithmetic: And, Or and Xor bit by bit; masks of ones by a remainder.

a | b = a + b - (a & b) and a ^ b = a + b - 2 (a & b). A negative number of n bits stands for itself
plus 2^n, and so does a result from 2^(n-1) on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.narrow import require_range
from atc_py.fix.ranges import Range
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_FITS = Range(-(2**29), 2**29 - 1)


@fix_rule(
    "bitwise-as-arithmetic",
    ("BitwiseAnd", "BitwiseOr", "BitwiseXor"),
    Exactness.EQUAL,
    RuleText(
        before=Words("BitwiseAnd, BitwiseOr, BitwiseXor", "BitwiseAnd、BitwiseOr、BitwiseXor"),
        after=Words(
            "And with a mask of ones as Mod; else bits by Div and Mod, their products, sums of powers of 2",
            "与全 1 掩码相与用 Mod；否则以 Div、Mod 取位，相乘后按 2 的幂求和",
        ),
        condition=Words(
            "operands are within 2^29 in magnitude, by their dtype or by --range",
            "由类型或 --range 可知操作数的绝对值在 2^29 以内",
        ),
        float16=Words("int32 stays int32", "int32 不受影响"),
    ),
    example=RuleCase(
        "BitwiseXor", (Fed((2, 3), DType.INT8), ConstInput(np.array([5, -3, 77], np.int8))), opset=18
    ),
    near_miss=RuleCase("BitwiseAnd", (Fed((2, 3), DType.INT64), Fed((3,), DType.INT64)), opset=18),
)  # fmt: skip
def bitwise_as_arithmetic(site: Site) -> Sequence[str]:
    """Write the combination of bits in int32."""
    for position in (0, 1):
        require_range(site, position, _FITS)
    a, b = (site.cast(site.name(position), DType.INT32) for position in (0, 1))
    first, second = site.range(0), site.range(1)
    found = first.joined(second) if first is not None and second is not None else _FITS
    mask = site.input(1).const
    if site.node.op_type == "BitwiseAnd" and mask is not None:
        value = mask.numpy().astype(np.int64)
        if (value >= 0).all() and not (value & (value + 1)).any():
            y = site.op("Mod", [a, site.const(value + 1, DType.INT32, "moduli")])
            return [site.cast(y, site.element)]
    bits = max(found.high.bit_length(), (-found.low - 1).bit_length() if found.low < 0 else 0)
    signed = found.low < 0
    size = site.const(2 ** (bits + 1), DType.INT32, "size")
    if signed:
        a, b = (site.op("Mod", [each, size]) for each in (a, b))
    both = _both(site, a, b, bits + signed)
    y = both
    if site.node.op_type != "BitwiseAnd":
        once = site.op("Sub", [site.op("Add", [a, b]), both])
        y = once if site.node.op_type == "BitwiseOr" else site.op("Sub", [once, both])
    if signed:
        half = site.const(2**bits, DType.INT32, "half")
        y = site.op("Where", [site.op("Less", [y, half]), y, site.op("Sub", [y, size])])
    return [y if site.element is DType.INT32 else site.cast(y, site.element)]


def _both(site: Site, a: str, b: str, bits: int) -> str:
    """Write a & b of numbers of `bits` bits: the sum of the powers of 2 that both have."""
    width = 1 << max(bits - 1, 0).bit_length()
    powers = site.const(2 ** tables.arange(width), DType.INT32, "powers")
    two = site.const(2, DType.INT32, "two")
    ranks = [len(site.dims(position)) for position in (0, 1)]
    pair = [
        site.op("Mod", [site.op("Div", [site.unsqueeze(each, [rank]), powers]), two])
        for each, rank in zip((a, b), ranks, strict=True)
    ]
    sums = site.op("Mul", [site.op("Mul", pair), powers])
    axis = max(ranks)
    while width > 1:
        width //= 2
        halves = [site.slice(sums, axis, at, at + width) for at in (0, width)]
        sums = site.op("Add", halves)
    return site.squeeze(sums, [axis])
