"""Rule col2im-as-conv-transpose: blocks are summed by a ConvTranspose whose filters have a single 1."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.diag import Words
from atc_py.fix import tables
from atc_py.fix.case import ConstInput, Fed, RuleCase
from atc_py.fix.parts.floats import FLOATS
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_IMAGE = 2
"""Axes of an image."""


@fix_rule(
    "col2im-as-conv-transpose",
    ("Col2Im",),
    Exactness.REORDERED,
    RuleText(
        before=Words("Col2Im", "Col2Im"),
        after=Words(
            "Reshape, ConvTranspose with one filter of a single 1 for each element of a block, Reshape",
            "Reshape、每个块元素一个独热卷积核的 ConvTranspose、Reshape",
        ),
        condition=Words(
            "dims, image_shape and block_shape are known; two axes, or one with one channel",
            "形状、image_shape 与 block_shape 已知；两条轴，或单通道的一条轴",
        ),
    ),
    example=RuleCase(
        "Col2Im",
        (Fed((2, 8, 12)), ConstInput(np.array([4, 5])), ConstInput(np.array([2, 2]))),
        {"pads": [0, 0, 0, 0]},
        opset=18,
    ),
    near_miss=RuleCase(
        "Col2Im",
        (Fed((2, 16, 1)), ConstInput(np.array([2, 2, 2, 2])), ConstInput(np.array([2, 2, 2, 2]))),
        opset=18,
    ),
)
def col2im_as_conv_transpose(site: Site) -> Sequence[str]:
    """Write the transposed convolution."""
    x = site.shape(0)
    image, block = ([int(each) for each in site.constant(at)] for at in (1, 2))
    rank = len(image)
    require(site.element in FLOATS, "X is float16 or float32", "X 为 float16 或 float32")
    strides, dilations = (site.integers(each) or (1,) * rank for each in ("strides", "dilations"))
    pads = site.integers("pads") or (0,) * (2 * rank)
    spans = [(taps - 1) * by + 1 for taps, by in zip(block, dilations, strict=True)]
    rooms = [image[at] + pads[at] + pads[rank + at] - spans[at] for at in range(rank)]
    counts = [room // step + 1 for room, step in zip(rooms, strides, strict=True)]
    require(prod(counts) == x[2], "the blocks fit the image", "块与图像相符")
    taps = prod(block)
    # onnxruntime's sums along other axes are not those of ONNX, so no result could be proved.
    proved = rank == _IMAGE or (rank == 1 and x[1] == taps)
    require(proved, "two axes, or one with one channel", "两条轴，或单通道的一条轴")
    batch = x[0] * (x[1] // taps)
    weight = site.const(tables.eye(taps).reshape(taps, 1, *block), site.element, "weight")
    attributes: dict[str, Any] = {
        "kernel_shape": block,
        "strides": list(strides),
        "dilations": list(dilations),
        "pads": list(pads),
        "output_padding": [room % step for room, step in zip(rooms, strides, strict=True)],
    }
    y = site.reshape(site.name(0), [batch, taps, *counts])
    y = site.op("ConvTranspose", [y, weight], **attributes)
    return [site.reshape(y, [x[0], x[1] // taps, *image])]
