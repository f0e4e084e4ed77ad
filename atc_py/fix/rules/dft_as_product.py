"""Rule dft-as-product: a discrete Fourier transform as a product with its matrix.

DFT-17 and DFT-20 of ONNX: y[f] = sum over n of x[n] * exp(-2 pi i f n / N); the inverse has +, and 1 / N.

The bound is that of the reference: onnxruntime's own transform of 400 elements is 3e-5 of the range off
what float64 gives, the product 2e-7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


_AXIS_AS_INPUT = 20
_LONGEST = 4096


@fix_rule(
    "dft-as-product",
    ("DFT",),
    Exactness.BOUNDED,
    RuleText(
        before=Words("DFT of real or complex signals", "实或复信号的 DFT"),
        after=Words(
            "Transpose, Pad or Slice, Reshape, MatMul with the matrix of the transform, Reshape, "
            "Transpose",
            "Transpose、Pad 或 Slice、Reshape、与变换矩阵做 MatMul、Reshape、Transpose",
        ),
        condition=Words(
            "dims, axis and length are known; the length is at most 4096",
            "形状、轴与长度已知；长度不超过 4096",
        ),
        float16=Words(
            "inputs are rounded to 11 bits, sums are float32", "输入舍入为 11 位，累加为 float32"
        ),
    ),
    bound=1e-4,
    example=RuleCase("DFT", (Fed((2, 10, 3, 1)), None), {"axis": 1, "onesided": 1}, opset=17),
    near_miss=RuleCase("DFT", (Fed((1, 5000, 1)), None), {"axis": 1}, opset=17),
)
def dft_as_product(site: Site) -> Sequence[str]:
    """Write the transform as a product with cosines and sines."""
    dims = site.shape(0)
    require(site.element in FLOATS, "the signal is float16 or float32", "信号为 float16 或 float32")
    rank, parts = len(dims), dims[-1]
    if site.node.opset < _AXIS_AS_INPUT:
        axis = site.integer("axis", 1)
    else:
        axis = int(site.constant(2)) if site.tensor(2) is not None else -2
    require(-rank <= axis < rank, "axis is one of the axes", "axis 在秩的范围内")
    axis %= rank
    require(axis < rank - 1, "the axis is not that of the parts", "轴不是实虚部所在的轴")
    size = dims[axis]
    length = int(site.constant(1)) if site.tensor(1) is not None else size
    require(0 < length <= _LONGEST, "the length is at most 4096", "长度不超过 4096")
    inverse, onesided = site.integer("inverse", 0), site.integer("onesided", 0)
    require(not (inverse and onesided), "an inverse has both sides", "逆变换为双边")
    count = length // 2 + 1 if onesided else length
    matrix = _matrix(min(size, length), length, count, parts, inverse=bool(inverse))
    order = [*(each for each in range(rank - 1) if each != axis), axis, rank - 1]
    x = site.transpose(site.name(0), order)
    if length < size:
        x = site.slice(x, rank - 2, 0, length)
    outer = [dims[each] for each in order[:-2]]
    rows = site.reshape(x, [int(np.prod(outer, dtype=np.int64)), min(size, length) * parts])
    y = site.op("MatMul", [rows, site.const(matrix, site.element, "matrix")])
    y = site.reshape(y, [*outer, count, 2])
    return [site.transpose(y, [int(each) for each in np.argsort(order)])]


def _matrix(size: int, length: int, count: int, parts: int, *, inverse: bool) -> np.ndarray:
    """Return the matrix from `size` elements of `parts` parts to `count` of two."""
    angles = 2 * np.pi * tables.outer(tables.arange(size), tables.arange(count)) / length
    sign = 1 if inverse else -1
    cosines, sines = np.cos(angles), sign * np.sin(angles)
    if inverse:
        cosines, sines = cosines / length, sines / length
    real = np.stack([cosines, sines], axis=-1)
    imaginary = np.stack([-sines, cosines], axis=-1)
    both = np.stack([real, imaginary], axis=1)[:, :parts]
    return both.reshape(size * parts, count * 2)
