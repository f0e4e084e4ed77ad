"""Rule conv-transpose-of-volumes: slices by images, taps of the depth as filters, then a sum along the depth."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.transposed import transposed_axes
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.parts.transposed import TransposedAxis
    from atc_py.fix.site import Site

__all__: list[str] = []

_VOLUMES, _BIAS = 5, 2
"""Rank of volumes; position of the bias."""


@fix_rule(
    "conv-transpose-of-volumes",
    ("ConvTranspose",),
    Exactness.REORDERED,
    RuleText(
        before=Words("ConvTranspose of volumes", "三维体数据的 ConvTranspose"),
        after=Words(
            "ConvTranspose of the slices with a filter for each tap of the depth; for each tap Slice, "
            "Pad; Add",
            "对切片做 ConvTranspose，深度方向每个抽头一个卷积核；逐抽头 Slice、Pad，再相加",
        ),
        condition=Words("dims are known", "形状已知"),
        float16=Words(
            "each tap of the depth rounds its sums once more", "每个深度抽头的和多舍入一次"
        ),
    ),
    example=RuleCase(
        "ConvTranspose",
        (Fed((1, 2, 3, 4, 3)), data(2, 2, 2, 3, 2), data(2)),
        {"kernel_shape": [2, 3, 2], "strides": [2, 1, 2], "pads": [1, 0, 1, 0, 1, 0]},
    ),
    near_miss=RuleCase(
        "ConvTranspose",
        (Fed((1, 2, 4, 5)), data(2, 3, 3, 2)),
        {"kernel_shape": [3, 2], "dilations": [2, 1]},
    ),
)
def conv_transpose_of_volumes(site: Site) -> Sequence[str]:
    """Write the sum along the depth."""
    x, w = site.shape(0), site.shape(1)
    require(len(x) == _VOLUMES, "X has rank 5", "X 的秩为 5")
    depth, *plane = transposed_axes(site)
    filters = w[1] * site.integer("group", 1)
    slices = site.transpose(site.name(0), [0, 2, 1, 3, 4])
    slices = site.reshape(slices, [x[0] * x[2], x[1], *x[3:]])
    weight = site.reshape(site.name(1), [w[0], w[1] * w[2], *w[3:]])
    attributes: dict[str, Any] = {
        "kernel_shape": list(w[3:]),
        "strides": [each.stride for each in plane],
        "dilations": [each.dilation for each in plane],
        "pads": [*(each.begin for each in plane), *(each.end for each in plane)],
        "output_padding": [each.extra for each in plane],
        "group": site.integer("group", 1),
    }
    y = site.op("ConvTranspose", [slices, weight], **attributes)
    sizes = [each.count for each in plane]
    y = site.reshape(y, [x[0], x[2], filters, w[2], prod(sizes)])
    y = site.transpose(y, [0, 2, 1, 3, 4])
    y = site.reshape(y, [x[0] * filters, x[2], 1, w[2] * prod(sizes)])
    y = site.pad(y, [0] * 6 + [depth.stride - 1, 0])
    y = site.reshape(y, [x[0] * filters, x[2] * depth.stride, w[2], prod(sizes)])
    y = site.reshape(_sum(site, y, depth), [x[0], filters, depth.count, *sizes])
    if site.tensor(_BIAS) is None:
        return [y]
    return [site.op("Add", [y, site.reshape(site.name(_BIAS), [1, filters, 1, 1, 1])])]


def _sum(site: Site, y: str, depth: TransposedAxis) -> str:
    """Write the sum over the taps, each moved to its place along the depth."""
    length = (depth.size - 1) * depth.stride + 1
    total = ""
    for tap in range(depth.taps):
        offset = tap * depth.dilation - depth.begin
        first, last = max(-offset, 0), min(length, depth.count - offset)
        if first >= last:
            continue
        part = site.slice(y, 2, tap, tap + 1)
        if (first, last) != (0, length) or depth.stride > 1:
            part = site.slice(part, 1, first, last)
        part = site.pad(part, [0, offset + first, 0, 0, 0, depth.count - offset - last, 0, 0])
        total = part if not total else site.op("Add", [total, part])
    require(total, "a tap reaches Y", "有抽头落在 Y 内")
    return total
