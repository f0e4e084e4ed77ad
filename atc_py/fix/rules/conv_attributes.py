"""Rule conv-attributes: window, strides, dilations and pads of a convolution are all stated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.pools import SAME, same_pads
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@fix_rule(
    "conv-attributes",
    ("Conv",),
    Exactness.REORDERED,
    RuleText(
        before=Words(
            "Conv without attributes, or of volumes with SAME pads",
            "未设置属性的 Conv，或使用 SAME 填充的三维 Conv",
        ),
        after=Words(
            "Conv with kernel_shape, strides, dilations and pads",
            "写明 kernel_shape、strides、dilations 与 pads 的 Conv",
        ),
        condition=Words("dims are known", "形状已知"),
    ),
    example=RuleCase("Conv", (Fed((1, 2, 5, 6)), data(3, 2, 3, 2)), {"group": 1}),
    near_miss=RuleCase("Conv", (Fed((1, 2, 5, 6)), data(3, 2, 3, 2)), {"strides": [1, 1]}),
    deviations=("Conv/no-attribute-refused", "Conv/same-padding-of-volumes-refused"),
)
def conv_attributes(site: Site) -> Sequence[str]:
    """Write the convolution with its attributes."""
    size, taps = site.shape(0)[2:], site.shape(1)[2:]
    ones = (1,) * len(taps)
    strides, dilations = (site.integers(each) or ones for each in ("strides", "dilations"))
    pads = site.integers("pads") or (0,) * (2 * len(taps))
    mode = site.text("auto_pad", "NOTSET")
    if mode in SAME:
        spans = [(tap - 1) * each + 1 for tap, each in zip(taps, dilations, strict=True)]
        pairs = [
            same_pads(dim, span, stride, mode)
            for dim, span, stride in zip(size, spans, strides, strict=True)
        ]
        pads = (*(first for first, _ in pairs), *(last for _, last in pairs))
    elif mode == "VALID":
        pads = (0,) * (2 * len(taps))
    attributes: dict[str, Any] = {
        "auto_pad": None,
        "kernel_shape": list(taps),
        "strides": list(strides),
        "dilations": list(dilations),
        "pads": list(pads),
    }
    return site.again([site.name(at) for at in range(len(site.node.inputs))], **attributes)
