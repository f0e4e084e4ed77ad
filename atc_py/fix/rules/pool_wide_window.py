"""Rule pool-wide-window: a window of more than 4096 elements in a row, as pools of its pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.pools import pool_axes
from atc_py.fix.parts.windows import LONGEST_ROW
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_IMAGES, _PIECE = 4, 2048
"""Rank of images; elements of a piece at most."""


@fix_rule(
    "pool-wide-window",
    ("AveragePool", "MaxPool"),
    Exactness.BOUNDED,
    RuleText(
        before=Words(
            "a pool whose window has more than 4096 elements in a row",
            "窗口一行超过 4096 个元素的池化",
        ),
        after=Words(
            "Slice and the pool of each piece; Max, or Mul by the share of the piece and Add",
            "逐段 Slice 并池化；取 Max，或乘以各段占比后相加",
        ),
        condition=Words(
            "dims are known; no pads along the row and no dilation; the last window is within it; "
            "Indices are not used",
            "形状已知；行方向无填充、无膨胀；最后一个窗口不越界；不使用 Indices",
        ),
        float16=Words("the mean of each piece is rounded", "各段的平均值各舍入一次"),
    ),
    example=RuleCase("AveragePool", (Fed((1, 2, 2, 5003)),), {"kernel_shape": [2, 5000]}, opset=11),
    near_miss=RuleCase(
        "AveragePool",
        (Fed((1, 1, 1, 5003)),),
        {"kernel_shape": [1, 5000], "pads": [0, 1, 0, 1]},
        opset=11,
    ),
    bound=1e-4,
)
def pool_wide_window(site: Site) -> Sequence[str]:
    """Write the pools of the pieces, and what they make together."""
    require(len(site.shape(0)) == _IMAGES, "X is images", "X 为图像")
    require(site.output(1) is None, "Indices are not used", "不使用 Indices")
    height, width = pool_axes(site)
    axis = width.axis
    require(axis.taps > LONGEST_ROW, "the window is wider than a row", "窗口宽于一行")
    bare = axis.dilation == 1 and not axis.begin and not axis.end and not width.reach
    require(bare, "there are no pads along the row and no dilation", "行方向无填充、无膨胀")
    total = ""
    for first in range(0, axis.taps, _PIECE):
        taps = min(_PIECE, axis.taps - first)
        size = (width.count - 1) * axis.stride + taps
        x = site.slice(site.name(0), 3, first, first + size)
        attributes: dict[str, Any] = {
            "kernel_shape": [height.axis.taps, taps],
            "pads": [height.axis.begin, 0, height.axis.end, 0],
            "auto_pad": None,
        }
        (part,) = site.again([x], **attributes)
        if site.node.op_type == "AveragePool":
            part = site.op("Mul", [part, site.scalar(taps / axis.taps)])
        joined = "Max" if site.node.op_type == "MaxPool" else "Add"
        total = part if not total else site.op(joined, [total, part])
    return [total]
