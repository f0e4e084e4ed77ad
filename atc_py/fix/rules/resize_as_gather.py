"""Rule resize-as-gather: nearest elements are picked by constant positions, axis by axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from atc_py.diag import Words
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.pools import take
from atc_py.fix.parts.resampling import resized_axes, with_outside
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_WITH_ROUNDING = 11
"""Opset since which nearest_mode says how coordinates are rounded."""


@fix_rule(
    "resize-as-gather",
    ("Resize", "Upsample"),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "Resize to nearest elements in a form that is not listed; Upsample",
            "清单外形式的最近邻 Resize；Upsample",
        ),
        after=Words(
            "Gather along each axis; Where for elements outside of X",
            "沿各轴 Gather；X 之外的元素用 Where",
        ),
        condition=Words(
            "mode nearest; dims, scales and sizes are known; no axis that changes gets more than "
            "2^20 elements",
            "最近邻模式；形状、scales、sizes 已知；变化的轴不超过 2^20 个元素",
        ),
    ),
    example=RuleCase(
        "Upsample",
        (Fed((1, 2, 3, 4)), ConstInput(np.array([1, 1, 2, 3], np.float32))),
        {"mode": "nearest"},
        opset=9,
    ),
    near_miss=RuleCase(
        "Upsample",
        (Fed((1, 2, 3, 4)), ConstInput(np.array([1, 1, 2, 3], np.float32))),
        {"mode": "linear"},
        opset=9,
    ),
    deviations=(
        "Resize/batch-and-channels-kept",
        "Resize/four-dims-only",
        "Resize/nearest-mode-ignored",
        "Resize/nearest-mode-ignored-half-pixel",
        "Resize/nearest-mode-ignored-ties-up",
    ),
    lists=True,
)
def resize_as_gather(site: Site) -> Sequence[str]:
    """Write the picking along each axis."""
    require(site.text("mode", "nearest") == "nearest", "mode is nearest", "模式为 nearest")
    whole = not site.integer("exclude_outside", 0)  # of cubic interpolation
    require(whole, "no weight is excluded", "不排除任何权重")
    mode, rounding = "asymmetric", "simple"
    if site.node.op_type == "Resize" and site.node.opset >= _WITH_ROUNDING:
        mode = site.text("coordinate_transformation_mode", "half_pixel")
        rounding = site.text("nearest_mode", "round_prefer_floor")
    y = site.name(0)
    axes = resized_axes(site)
    for each in axes:
        if each.is_kept:
            continue
        y = take(site, y, each.axis, each.nearest(mode, rounding), each.size)
    y = with_outside(site, y, axes, mode)
    return [site.op("Identity", [y]) if y == site.name(0) else y]
