"""Rule conv-3d-as-slices: a convolution of volumes is the sum, over the taps of the depth, of convolutions of its slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.pools import SAME, same_pads
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_VOLUMES = 5


@fix_rule(
    "conv-3d-as-slices",
    ("Conv",),
    Exactness.REORDERED,
    RuleText(
        before=Words("Conv of volumes", "三维体数据的 Conv"),
        after=Words(
            "for each tap of the depth Slice, Transpose and Reshape of slices to a batch of images, Conv; Add; Reshape, Transpose",
            "对深度方向的每个抽头裁切、变形为图像批、卷积并相加，再变形、转置",
        ),
        condition=Words("dims are known", "形状已知"),
        float16=Words(
            "each tap of the depth rounds its sums once more", "每个深度抽头的和多舍入一次"
        ),
    ),
    example=RuleCase(
        "Conv",
        (Fed((1, 2, 4, 5, 6)), data(3, 2, 2, 3, 3), data(3)),
        {"pads": [1, 0, 1, 0, 1, 1], "strides": [2, 1, 1]},
    ),
    near_miss=RuleCase("Conv", (Fed((1, 3, 16)), data(4, 3, 3))),
)
def conv_3d_as_slices(site: Site) -> Sequence[str]:
    """Write the sum over the taps of the depth."""
    x, w = site.shape(0), site.shape(1)
    require(len(x) == _VOLUMES, "X has rank 5", "X 的秩为 5")
    strides, dilations = (site.integers(each, (1, 1, 1)) for each in ("strides", "dilations"))
    pads = _pads(site, strides, dilations)
    depth = (x[2] + pads[0] + pads[3] - (w[2] - 1) * dilations[0] - 1) // strides[0] + 1
    require(depth > 0, "Y has slices", "Y 非空")
    volume = site.pad(site.name(0), [0, 0, pads[0], 0, 0, 0, 0, pads[3], 0, 0])
    attributes: dict[str, Any] = {
        "kernel_shape": list(w[3:]),
        "strides": list(strides[1:]),
        "dilations": list(dilations[1:]),
        "pads": [pads[1], pads[2], pads[4], pads[5]],
        "group": site.integer("group", 1),
        "auto_pad": None,
    }
    total = ""
    for tap in range(w[2]):
        start = tap * dilations[0]
        part = site.slice(volume, 2, start, start + (depth - 1) * strides[0] + 1, strides[0])
        images = site.reshape(site.transpose(part, [0, 2, 1, 3, 4]), [x[0] * depth, x[1], *x[3:]])
        plane = site.squeeze(site.slice(site.name(1), 2, tap, tap + 1), [2])
        bias = [] if total or site.tensor(2) is None else [site.name(2)]
        (y,) = site.again([images, plane, *bias], **attributes)
        total = y if not total else site.op("Add", [total, y])
    rows, columns = (
        (x[3 + at] + pads[1 + at] + pads[4 + at] - (w[3 + at] - 1) * dilations[1 + at] - 1)
        // strides[1 + at]
        + 1
        for at in range(2)
    )
    stacked = site.reshape(total, [x[0], depth, w[0], rows, columns])
    return [site.transpose(stacked, [0, 2, 1, 3, 4])]


def _pads(site: Site, strides: Sequence[int], dilations: Sequence[int]) -> Sequence[int]:
    """Return the pads before the three axes, then those after them."""
    mode = site.text("auto_pad", "NOTSET")
    if mode == "NOTSET":
        return site.integers("pads", [0] * 6)
    if mode not in SAME:
        return [0] * 6
    spans = [(taps - 1) * by + 1 for taps, by in zip(site.shape(1)[2:], dilations, strict=True)]
    sizes = site.shape(0)[2:]
    pairs = [same_pads(*each, mode) for each in zip(sizes, spans, strides, strict=True)]
    return [*(begin for begin, _ in pairs), *(end for _, end in pairs)]
