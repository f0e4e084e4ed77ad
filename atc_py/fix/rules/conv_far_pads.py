"""Rule conv-far-pads: pads of more than 255 zeros are written by Pad."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.windows import MOST_TAPS, images_of
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "conv-far-pads",
    ("Conv",),
    Exactness.REORDERED,
    RuleText(
        before=Words("a convolution with a pad above 255", "填充超过 255 的卷积"),
        after=Words("Pad, the convolution without pads", "Pad、无填充的卷积"),
        condition=Words("X is images of known dims", "X 为形状已知的图像"),
    ),
    example=RuleCase("Conv", (Fed((1, 2, 4, 40)), data(3, 2, 2, 30)), {"pads": [1, 300, 0, 2]}),
    near_miss=RuleCase("Conv", (Fed((1, 3, 16)), data(4, 3, 3))),
)
def conv_far_pads(site: Site) -> Sequence[str]:
    """Write the convolution of padded images."""
    images = images_of(site)
    height, width = images.axes
    pads = [height.begin, width.begin, height.end, width.end]
    require(max(pads) > MOST_TAPS, "a pad is above 255", "有填充超过 255")
    x = site.pad(site.name(0), [0, 0, *pads[:2], 0, 0, *pads[2:]])
    bare = replace(
        images,
        axes=(
            replace(height, size=height.size + height.begin + height.end, begin=0, end=0),
            replace(width, size=width.size + width.begin + width.end, begin=0, end=0),
        ),
    )
    rest = [site.name(position) for position in range(1, len(site.node.inputs))]
    return site.again([x, *rest], **bare.attributes)
