"""Rule fused-conv-as-steps: activation(Conv(X, W, B) + Z) (onnxruntime's FusedConv)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atc_py.diag import Words
from atc_py.fix.case import Fed, RuleCase, data
from atc_py.fix.parts.fused_activations import fused_activation
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_OWN = frozenset({"activation", "activation_params"})
"""Attributes that Conv does not have."""

_ADDED = 3


@fix_rule(
    "fused-conv-as-steps",
    ("com.microsoft::FusedConv",),
    Exactness.REORDERED,
    RuleText(
        before=Words("FusedConv of onnxruntime", "onnxruntime 的 FusedConv"),
        after=Words("Conv, Add, the activation", "Conv、Add、激活"),
        condition=Words(
            "the activation is one that onnxruntime fuses", "激活函数为 onnxruntime 可融合者"
        ),
    ),
    example=RuleCase(
        "FusedConv",
        (Fed((1, 3, 6, 6)), data(4, 3, 3, 3), data(4)),
        {"activation": "LeakyRelu", "activation_params": [0.2], "pads": [1, 1, 1, 1]},
        opset=1,
        domain="com.microsoft",
    ),
    near_miss=RuleCase(
        "FusedConv",
        (Fed((1, 3, 6, 6)), data(4, 3, 3, 3), data(4)),
        {"activation": "LeakyRelu"},
        opset=1,
        domain="com.microsoft",
    ),
)
def fused_conv_as_steps(site: Site) -> Sequence[str]:
    """Write the convolution, the sum and the activation."""
    given: dict[str, Any] = {
        name: each for name, each in site.node.attributes.items() if name not in _OWN
    }
    inputs = [site.name(at) for at in range(3)]
    y = site.op("Conv", inputs if inputs[-1] else inputs[:-1], **given)
    if site.tensor(_ADDED) is not None:
        y = site.op("Add", [y, site.name(_ADDED)])
    values = site.node.attributes.get("activation_params", ())
    numbers = tuple(float(each) for each in values) if isinstance(values, tuple) else ()
    return [fused_activation(site, y, site.text("activation", ""), numbers)]
