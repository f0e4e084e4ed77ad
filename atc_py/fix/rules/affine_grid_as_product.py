"""Rule affine-grid-as-product: the places of a plain grid, times each matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "affine-grid-as-product",
    ("AffineGrid",),
    Exactness.REORDERED,
    RuleText(
        before=Words("AffineGrid of two or three axes", "二维或三维的 AffineGrid"),
        after=Words(
            "MatMul of a constant grid with the transposed matrices, Reshape",
            "常量网格与转置矩阵做 MatMul，再 Reshape",
        ),
        condition=Words(
            "the size is constant; with align_corners each axis has two pixels",
            "size 为常量；align_corners 时各轴至少两个像素",
        ),
        float16=Words(
            "places of the grid and matrices are rounded to 11 bits", "网格坐标与矩阵舍入到 11 位"
        ),
    ),
    example=RuleCase("AffineGrid", (Fed((2, 2, 3)), ConstInput(np.array([2, 3, 4, 5]))), opset=20),
    near_miss=RuleCase("AffineGrid", (Fed((2, 2, 3)), ConstInput(np.array([2, 3, 4]))), opset=20),
)
def affine_grid_as_product(site: Site) -> Sequence[str]:
    """Write the product."""
    sizes = [int(each) for each in site.constant(1)]
    require(len(sizes) in {4, 5}, "there are two or three axes", "二维或三维")
    require(site.element in FLOATS, "theta is float16 or float32", "theta 为 float16 或 float32")
    corners = site.integer("align_corners", 0)
    # ONNX and onnxruntime put a single pixel between corners at other places.
    apart = not corners or min(sizes[2:]) > 1
    require(apart, "corners are apart", "角点不重合")
    lines = []
    for size in sizes[2:]:
        at = tables.arange(size, dtype=np.float64)
        lines.append(2 * at / max(size - 1, 1) - 1 if corners else (2 * at + 1) / size - 1)
    places = tables.grid_of(lines)[::-1]
    points = np.stack([*(each.reshape(-1) for each in places), tables.ones(places[0].size)], axis=1)
    grid = site.const(points, site.element, "grid")
    moved = site.op("MatMul", [grid, site.transpose(site.name(0), [0, 2, 1])])
    return [site.reshape(moved, [sizes[0], *sizes[2:], len(lines)])]
