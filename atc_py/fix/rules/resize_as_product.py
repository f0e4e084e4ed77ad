"""Rule resize-as-product: interpolation along an axis is a product with the matrix of its weights.

Weights are those of ONNX's definition: linear or cubic ones, stretched by antialias where an axis shrinks.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.resampling import matrix, resized_axes, with_outside
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site
    from atc_py.tensor.resampling import ResizedAxis

__all__: list[str] = []

_WITH_MODES = 11
"""Opset since which an attribute says how coordinates are transformed."""

_MOST = 2**24
"""Elements of a matrix of weights at most."""


@fix_rule(
    "resize-as-product",
    ("Resize", "Upsample"),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "cubic Resize, linear Resize in a form that is not listed; linear Upsample",
            "三次插值 Resize、清单外形式的线性 Resize；线性 Upsample",
        ),
        after=Words(
            "MatMul with a constant matrix of weights for each axis that changes",
            "对每条变化的轴与常量权重矩阵做 MatMul",
        ),
        condition=Words(
            "mode linear or cubic; dims, scales and sizes are known; X is float16 or float32",
            "线性或三次模式；形状、scales、sizes 已知；X 为 float16 或 float32",
        ),
        float16=Words(
            "weights and the result of each axis are rounded to 11 bits, sums are float32",
            "权重与每条轴的结果舍入到 11 位，求和为 float32",
        ),
    ),
    example=RuleCase(
        "Resize",
        (
            Fed((1, 2, 6, 7)),
            ConstInput(np.array([], np.float32)),
            ConstInput(np.array([1, 1, 2, 0.7], np.float32)),
        ),
        {"mode": "cubic", "coordinate_transformation_mode": "half_pixel"},
        opset=11,
    ),
    near_miss=RuleCase(
        "Upsample",
        (Fed((1, 2, 3, 4)), ConstInput(np.array([1, 1, 2, 3], np.float32))),
        {"mode": "nearest"},
        opset=9,
    ),
    deviations=(
        "Resize/batch-and-channels-kept-linear",
        "Resize/four-dims-only-linear",
        "Resize/linear-as-asymmetric",
        "Resize/linear-at-opset-10",
    ),
    lists=True,
)
def resize_as_product(site: Site) -> Sequence[str]:
    """Write the products, those of axes that shrink first."""
    kind = site.text("mode", "nearest")
    require(kind in {"linear", "cubic"}, "mode is linear or cubic", "模式为 linear 或 cubic")
    require(site.element in FLOATS, "X is float16 or float32", "X 为 float16 或 float32")
    mode = "asymmetric"
    if site.node.op_type == "Resize" and site.node.opset >= _WITH_MODES:
        mode = site.text("coordinate_transformation_mode", "half_pixel")
    axes = resized_axes(site)
    largest = max(each.size * each.count for each in axes)
    require(largest <= _MOST, "a matrix has at most 2^24 weights", "矩阵不超过 2^24 个权重")
    dims, y = [each.size for each in axes], site.name(0)
    for each in sorted(axes, key=lambda axis: axis.count / axis.size):
        if each.is_kept:
            continue
        y = _product(site, y, dims, each, mode)
        dims[each.axis] = each.count
    if site.number("extrapolation_value", 0.0):  # rows of such elements are zeros
        y = with_outside(site, y, axes, mode)
    return [site.op("Identity", [y]) if y == site.name(0) else y]


def _product(site: Site, x: str, dims: Sequence[int], axis: ResizedAxis, mode: str) -> str:
    """Write the product along one axis of `x`, which has `dims`."""
    rows = matrix(axis, site, mode)
    at, rank = axis.axis, len(dims)
    if at == rank - 1:
        return site.op("MatMul", [x, site.const(rows.T, site.element, "weights")])
    weights = site.const(rows, site.element, "weights")
    if at == rank - 2:
        return site.op("MatMul", [weights, x])
    x = site.reshape(x, [prod(dims[:at]), axis.size, prod(dims[at + 1 :])])
    y = site.op("MatMul", [weights, x])
    return site.reshape(y, [*dims[:at], axis.count, *dims[at + 1 :]])
