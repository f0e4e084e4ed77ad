"""Rule conv-transpose-explicit: output_shape and automatic pads as the pads that they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

_LEAST = 4
"""Rank of images."""


@fix_rule(
    "conv-transpose-explicit",
    ("ConvTranspose",),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "ConvTranspose with output_shape or automatic pads, or without kernel_shape",
            "带 output_shape、自动填充或未给 kernel_shape 的 ConvTranspose",
        ),
        after=Words("ConvTranspose with explicit pads", "显式填充的 ConvTranspose"),
        condition=Words(
            "dims are known; X has rank 4 or 5; windows cover the result",
            "形状已知；X 的秩为 4 或 5；窗口覆盖结果",
        ),
    ),
    example=RuleCase(
        "ConvTranspose",
        (Fed((1, 2, 4, 5)), data(2, 3, 3, 2), data(3)),
        {"strides": [2, 1], "dilations": [1, 2], "output_shape": [8, 5]},
    ),
    near_miss=RuleCase(
        "ConvTranspose",
        (Fed((1, 2, 4, 5)), data(2, 3, 3, 2)),
        {"kernel_shape": [3, 2], "dilations": [2, 1]},
    ),
    deviations=(
        "ConvTranspose/kernel-shape-needed",
        "ConvTranspose/not-marked-after-auto-pad",
        "ConvTranspose/output-shape-beside-notset",
        "ConvTranspose/output-shape-halves",
    ),
    lists=True,
)
def conv_transpose_explicit(site: Site) -> Sequence[str]:
    """Write the operator with explicit pads."""
    x, w = site.shape(0), site.shape(1)
    require(len(x) >= _LEAST, "X has rank 4 or 5", "X 的秩为 4 或 5")
    stated = site.node.attributes
    bare = stated.get("auto_pad", "NOTSET") == "NOTSET" and not stated.get("output_shape")
    require(not bare or not stated.get("kernel_shape"), "attributes are implied", "有属性未写明")
    axes = transposed_axes(site)
    attributes: dict[str, Any] = {
        "auto_pad": None,
        "output_shape": None,
        "kernel_shape": list(w[2:]),
        "pads": [*(each.begin for each in axes), *(each.end for each in axes)],
        "output_padding": [each.extra for each in axes],
    }
    rest = [site.name(position) for position in range(1, len(site.node.inputs))]
    return site.again([site.name(0), *rest], **attributes)
