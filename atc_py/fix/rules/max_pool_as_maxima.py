"""Rule max-pool-as-maxima: the largest of the slices of X that each tap of the window meets, axis by axis.

A tap outside X counts as the nearest one of its window inside, which leaves the largest value as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.parts.pools import pool_axes, take
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_MOST_TAPS = 512
"""Slices that are written along an axis at most."""


@fix_rule(
    "max-pool-as-maxima",
    ("MaxPool",),
    Exactness.EQUAL,
    RuleText(
        before=Words(
            "MaxPool with dilations, or of another form that is not listed",
            "带膨胀或其他不在清单中的 MaxPool",
        ),
        after=Words(
            "for each axis a Slice or Gather of X for each tap, Max",
            "对每条轴、每个抽头做 Slice 或 Gather，再取 Max",
        ),
        condition=Words(
            "dims are known; each window meets X; at most 512 taps along an axis; Indices are not used",
            "形状已知；每个窗口都与 X 重叠；每轴不超过 512 个抽头；不使用 Indices",
        ),
    ),
    example=RuleCase(
        "MaxPool",
        (Fed((1, 2, 9, 8)),),
        {"kernel_shape": [3, 2], "dilations": [2, 3], "pads": [1, 0, 2, 1], "strides": [1, 2]},
        opset=12,
    ),
    near_miss=RuleCase(
        "MaxPool",
        (Fed((1, 1, 9, 4200)),),
        {"kernel_shape": [1, 600], "dilations": [1, 2]},
        opset=12,
    ),
    last=True,
)
def max_pool_as_maxima(site: Site) -> Sequence[str]:
    """Write the largest of the slices."""
    require(site.output(1) is None, "Indices are not used", "不使用 Indices")
    require(site.element in FLOATS, "X is float16 or float32", "X 为 float16 或 float32")
    axes = pool_axes(site)
    most = max(each.axis.taps for each in axes)
    require(most <= _MOST_TAPS, "an axis has at most 512 taps", "每轴不超过 512 个抽头")
    y = site.name(0)
    for at, each in enumerate(axes, 2):
        taps = each.clamped.T
        parts = [take(site, y, at, tap, each.axis.size) for tap in taps]
        y = parts[0] if len(parts) == 1 else site.op("Max", parts)
    return [site.op("Identity", [y]) if y == site.name(0) else y]
