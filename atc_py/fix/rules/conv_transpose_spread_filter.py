"""Rule conv-transpose-spread-filter: dilations are zeros between the taps of the filter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.transposed import transposed_axes
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_IMAGES = 4


@fix_rule(
    "conv-transpose-spread-filter",
    ("ConvTranspose",),
    Exactness.REORDERED,
    RuleText(
        before=Words("ConvTranspose of images with dilations", "带膨胀的图像 ConvTranspose"),
        after=Words(
            "W with zeros between its taps by Reshape, Pad and Slice; ConvTranspose",
            "以 Reshape、Pad、Slice 在 W 的抽头间插零，再 ConvTranspose",
        ),
        condition=Words(
            "dims are known; no output_shape; pads are explicit",
            "形状已知；无 output_shape；显式填充",
        ),
    ),
    example=RuleCase(
        "ConvTranspose",
        (Fed((1, 2, 4, 5)), data(2, 3, 3, 2), data(3)),
        {"kernel_shape": [3, 2], "strides": [2, 1], "dilations": [2, 3], "pads": [1, 0, 0, 2]},
    ),
    near_miss=RuleCase(
        "ConvTranspose",
        (Fed((1, 2, 4, 5, 3)), data(2, 3, 3, 2, 2)),
        {"kernel_shape": [3, 2, 2], "dilations": [2, 1, 1]},
    ),
)
def conv_transpose_spread_filter(site: Site) -> Sequence[str]:
    """Write the operator with the spread filter."""
    w, stated = list(site.shape(1)), site.node.attributes
    require(len(site.shape(0)) == _IMAGES, "X is images", "X 为图像")
    axes = transposed_axes(site)
    require(any(each.dilation > 1 for each in axes), "the filter is dilated", "卷积核带膨胀")
    bare = stated.get("auto_pad", "NOTSET") in {"NOTSET", "VALID"}
    bare = bare and not stated.get("output_shape")
    require(bare, "pads are explicit", "显式填充")
    name = site.name(1)
    for at, each in enumerate(axes, 2):
        if each.dilation == 1:
            continue
        name = site.reshape(name, [*w[: at + 1], 1, *w[at + 1 :]])
        pads = [0] * (2 * len(w) + 2)
        pads[len(w) + 1 + at + 1] = each.dilation - 1
        w[at] = each.taps * each.dilation
        name = site.reshape(site.pad(name, pads), w)
        w[at] = (each.taps - 1) * each.dilation + 1
        name = site.slice(name, at, 0, w[at])
    rest = [site.name(position) for position in range(2, len(site.node.inputs))]
    return site.again([site.name(0), name, *rest], kernel_shape=w[2:], dilations=None)
