"""Rule conv-swap-axes: a convolution with H and W exchanged.

The list `base` refuses results of width 1 and height above 1, and rows of more than 4096 elements.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.windows import LONGEST_ROW, images_of
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "conv-swap-axes",
    ("Conv",),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "a convolution whose result has width 1 and height above 1, or whose rows are longer "
            "than 4096 and whose columns are not",
            "结果宽为 1 而高大于 1，或行长超过 4096 而列不超过的卷积",
        ),
        after=Words(
            "Transpose of X and W, the convolution with the axes exchanged, Transpose",
            "转置 X 与 W，交换两轴后卷积，再转置",
        ),
        condition=Words("dims are known; H of X is at most 4096", "形状已知；X 的 H 不超过 4096"),
    ),
    example=RuleCase("Conv", (Fed((1, 3, 9, 4)), data(5, 3, 3, 4), data(5)), {"strides": [2, 1]}),
    near_miss=RuleCase("Conv", (Fed((1, 3, 4, 9)), data(5, 3, 4, 3)), {"strides": [1, 2]}),
)
def conv_swap_axes(site: Site) -> Sequence[str]:
    """Write the convolution of the transposed images."""
    images = images_of(site)
    height, width = images.axes
    narrow = width.count == 1 and height.count > 1
    long = width.size > LONGEST_ROW
    require(
        narrow or long,
        "the result has width 1 and height above 1, or X has rows longer than 4096",
        "结果宽为 1 且高大于 1，或 X 的行长超过 4096",
    )
    require(height.size <= LONGEST_ROW, "H of X is at most 4096", "X 的 H 不超过 4096")
    require(not (long and height.count == 1), "the result has more than one row", "结果多于一行")
    swapped = replace(images, axes=(width, height))
    order = (0, 1, 3, 2)
    inputs = [site.transpose(site.name(position), order) for position in (0, 1)]
    inputs += [site.name(position) for position in range(2, len(site.node.inputs))]
    return [site.transpose(site.again(inputs, **swapped.attributes)[0], order)]
