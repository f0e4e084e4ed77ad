"""Rule root-of-squares: the root of a sum or mean of squares, of elements that are divided by the largest.

With s the largest magnitude, sqrt(mean(x^2) + eps) = s * sqrt(mean((x / s)^2) + (sqrt(eps) / s)^2): no
square is above 1, and a constant that keeps the root from 0 is not lost where its own root is not.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import Fed, case_after
from atc_py.fix.parts.patterns import (
    LEAST,
    LEAST_NORMAL,
    beside_number,
    mean_of,
    require_float32,
)
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import UnfitError, require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.case import CaseNode
    from atc_py.fix.parts.patterns import Mean
    from atc_py.fix.site import Site

__all__: list[str] = []

_SQUARES: tuple[CaseNode, ...] = (
    ("Mul", ("x0", "x0"), ("square",), {}),
    ("ReduceMean", ("square",), ("mean",), {"axes": [-1], "keepdims": 1}),
)
_DEVIATIONS: tuple[CaseNode, ...] = (
    ("ReduceMean", ("x0",), ("middle",), {"axes": [-1], "keepdims": 1}),
    ("Sub", ("x0", "middle"), ("d",), {}),
    ("Mul", ("d", "d"), ("square",), {}),
    ("ReduceMean", ("square",), ("mean",), {"axes": [-1], "keepdims": 1}),
    ("Add", ("mean", "x1"), ("sum",), {}),
)


@fix_rule(
    "root-of-squares",
    ("Sqrt",),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "Sqrt of a sum or mean of squares, with or without a small constant",
            "平方和或平方均值（可加小常量）的 Sqrt",
        ),
        after=Words(
            "ReduceMax of magnitudes, Div by it, Mul by itself, ReduceMean, Sqrt, Mul",
            "取幅值的 ReduceMax，除以它后自乘，再 ReduceMean、Sqrt、Mul",
        ),
        condition=Words(
            "dims are known; where the elements are differences, the constant is below 2 to the power "
            "of -24",
            "形状已知；若元素为差，则常量小于 2 的 -24 次方",
        ),
        float16=Words(
            "squares of elements above 255 do not overflow, those below 2e-4 do not vanish",
            "大于 255 的元素平方不溢出，小于 2e-4 的不消失",
        ),
    ),
    example=case_after(
        (*_SQUARES, ("Add", ("mean", "x1"), ("sum",), {})),
        "Sqrt",
        ("sum",),
        {"x0": Fed((3, 64)), "x1": np.array(1e-8, np.float32)},
    ),
    near_miss=case_after(
        _DEVIATIONS, "Sqrt", ("sum",), {"x0": Fed((3, 64)), "x1": np.array(1e-6, np.float32)}
    ),
    precision=True,
)
def root_of_squares(site: Site) -> Sequence[str]:
    """Write the root of scaled squares."""
    require_float32(site)
    found, eps = _squares(site)
    maker = site.maker(found.source)
    centered = maker is not None and maker.op_type == "Sub"
    require(
        not centered or eps < LEAST,
        "the elements are no differences, or the constant is below 2 to the power of -24",
        "元素不是差，或常量小于 2 的 -24 次方",
    )
    x, axes = found.source.name, found.axes
    floor = sqrt(eps / found.factor) if eps else LEAST_NORMAL
    largest = site.reduce("ReduceMax", site.op("Abs", [x]), axes)
    scale = site.op("Max", [largest, site.scalar(floor)])
    ratio = site.op("Div", [x, scale])
    total = site.reduce("ReduceMean", site.op("Mul", [ratio, ratio]), axes, keepdims=found.keepdims)
    if not found.keepdims:
        scale = site.squeeze(scale, axes)
    if eps:
        part = site.op("Div", [site.scalar(floor), scale])
        total = site.op("Add", [total, site.op("Mul", [part, part])])
    root = site.op("Mul", [site.op("Sqrt", [total]), scale])
    if found.factor == 1:
        return [root]
    return [site.op("Mul", [root, site.scalar(sqrt(found.factor))])]


def _squares(site: Site) -> tuple[Mean, float]:
    """Return the mean of squares under the root, and the constant that is added to it."""
    tensor, eps = site.tensor(0), 0.0
    node = site.maker(tensor)
    known = beside_number(node) if node is not None and node.op_type == "Add" else None
    if known is not None:
        tensor, eps = known
    found = mean_of(site, tensor)
    if found is None or not found.squared or found.factor <= 0 or eps < 0:
        raise UnfitError(
            Words("a sum or mean of squares is under the root", "根号下为平方和或平方均值")
        )
    return found, eps
