"""Rule pool-long-row: rows of more than 4096 elements are pooled piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.parts.pools import pool_axes
from atc_py.fix.parts.windows import LONGEST_ROW, MOST_PIECES
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_IMAGES = 4


@fix_rule(
    "pool-long-row",
    ("AveragePool", "MaxPool"),
    Exactness.EQUAL,
    RuleText(
        before=Words("a pool of images with rows longer than 4096", "行长超过 4096 的图像池化"),
        after=Words(
            "Slice into pieces that overlap, the pool of each, Concat",
            "裁成相互重叠的片段、分别池化、Concat",
        ),
        condition=Words(
            "dims are known; a window has at most 4096 elements in a row; at most 1024 pieces; "
            "Indices are not used",
            "形状已知；窗口一行不超过 4096 个元素；不超过 1024 段；不使用 Indices",
        ),
    ),
    example=RuleCase(
        "MaxPool",
        (Fed((1, 2, 3, 9001)),),
        {"kernel_shape": [2, 5], "strides": [1, 3], "pads": [0, 2, 1, 2], "ceil_mode": 1},
        opset=12,
    ),
    near_miss=RuleCase(
        "MaxPool", (Fed((1, 2, 3, 400)),), {"kernel_shape": [2, 5], "dilations": [1, 2]}, opset=12
    ),
)
def pool_long_row(site: Site) -> Sequence[str]:
    """Write the pools of the pieces."""
    require(len(site.shape(0)) == _IMAGES, "X is images", "X 为图像")
    require(site.output(1) is None, "Indices are not used", "不使用 Indices")
    height, width = pool_axes(site)
    axis = width.axis
    require(axis.size > LONGEST_ROW, "a row of X is longer than 4096", "X 的行长超过 4096")
    require(axis.span <= LONGEST_ROW, "a window fits a row", "一行可容纳一个窗口")
    most = (LONGEST_ROW - axis.span) // axis.stride + 1
    pieces = -(-width.count // most)
    require(pieces <= MOST_PIECES, "there are at most 1024 pieces", "不超过 1024 段")
    each = -(-width.count // pieces)
    parts: list[str] = []
    for first in range(0, width.count, each):
        last = min(first + each, width.count) - 1
        start = first * axis.stride - axis.begin
        end = last * axis.stride - axis.begin + axis.span
        after = min(max(end - axis.size, 0), axis.end)
        pads = [height.axis.begin, max(-start, 0), height.axis.end, after]
        x = site.slice(site.name(0), 3, max(start, 0), min(end, axis.size))
        attributes: dict[str, Any] = {"pads": pads, "auto_pad": None}
        parts += site.again([x], **attributes)
    return [parts[0] if len(parts) == 1 else site.op("Concat", parts, axis=3)]
