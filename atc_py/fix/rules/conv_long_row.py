"""Rule conv-long-row: a row of more than 4096 elements as several rows that overlap by the taps of the filter."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.windows import (
    LONGEST_ROW,
    LONGEST_STRIDE,
    MOST_PIECES,
    MOST_TAPS,
    ImageAxis,
    images_of,
)
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "conv-long-row",
    ("Conv",),
    Exactness.REORDERED,
    RuleText(
        before=Words("a convolution of one row longer than 4096", "行长超过 4096 的单行卷积"),
        after=Words(
            "Pad, Slice into rows that overlap, Concat as batch, Conv, Transpose, Reshape, Slice",
            "Pad、裁成相互重叠的行、按批 Concat、卷积、Transpose、Reshape、Slice",
        ),
        condition=Words(
            "dims are known; X has one row; the filter and the stride are listed; at most 1024 pieces",
            "形状已知；X 只有一行；卷积核与步长在清单范围内；不超过 1024 段",
        ),
    ),
    example=RuleCase(
        "Conv",
        (Fed((1, 2, 1, 9000)), data(3, 2, 1, 5), data(3)),
        {"strides": [1, 2], "pads": [0, 2, 0, 2]},
    ),
    near_miss=RuleCase("Conv", (Fed((1, 2, 5000, 5000)), data(3, 2, 3, 3))),
)
def conv_long_row(site: Site) -> Sequence[str]:
    """Write the convolution of the pieces of the row."""
    images = images_of(site)
    height, axis = images.axes
    require(axis.size > LONGEST_ROW, "a row of X is longer than 4096", "X 的行长超过 4096")
    require(
        height.size == 1 and height.count == 1 and not height.begin, "X has one row", "X 只有一行"
    )
    require(
        axis.stride <= LONGEST_STRIDE and axis.taps <= MOST_TAPS,
        "filter and stride are listed",
        "卷积核与步长在清单范围内",
    )
    most = (LONGEST_ROW - axis.span) // axis.stride + 1
    require(most > 1, "two windows fit a row", "一行可容纳两个窗口")
    pieces = -(-axis.count // most)
    require(pieces <= MOST_PIECES, "there are at most 1024 pieces", "不超过 1024 段")
    each = -(-axis.count // pieces)
    step, size = each * axis.stride, (each - 1) * axis.stride + axis.span
    length = (pieces - 1) * step + size
    there = axis.begin + axis.size
    x = site.pad(site.name(0), [0, 0, 0, axis.begin, 0, 0, 0, max(length - there, 0)])
    rows = [site.slice(x, 3, at * step, at * step + size) for at in range(pieces)]
    batch = site.op("Concat", rows, axis=0)
    part = ImageAxis(size, axis.taps, axis.stride, axis.dilation, 0, 0)
    rest = [site.name(position) for position in range(1, len(site.node.inputs))]
    (y,) = site.again([batch, *rest], **replace(images, axes=(height, part)).attributes)
    y = site.reshape(y, [pieces, images.batch, images.filters, each])
    y = site.reshape(
        site.transpose(y, [1, 2, 0, 3]), [images.batch, images.filters, 1, pieces * each]
    )
    return [y if pieces * each == axis.count else site.slice(y, 3, 0, axis.count)]
